//! DOCX conversion.

use std::io::{Cursor, Write as _};

use zip::{ZipWriter, write::SimpleFileOptions};

use super::*;

fn docx(parts: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in parts {
        writer.start_file(*name, SimpleFileOptions::default()).expect("begun");
        writer.write_all(bytes).expect("written");
    }
    writer.finish().expect("whole").into_inner()
}

fn with_body(body: &str) -> Vec<u8> {
    let styles =
        r#"<w:styles><w:style w:styleId="berschrift1"><w:name w:val="heading 1"/></w:style></w:styles>"#;
    let document = format!("<w:document><w:body>{body}</w:body></w:document>");
    docx(&[("word/styles.xml", styles.as_bytes()), ("word/document.xml", document.as_bytes())])
}

fn paragraph(properties: &str, text: &str) -> String {
    format!("<w:p><w:pPr>{properties}</w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>")
}

#[test]
fn structure_becomes_markdown() {
    let item = r#"<w:numPr><w:ilvl w:val="1"/></w:numPr>"#;
    let cell = |text: &str| format!("<w:tc>{}</w:tc>", paragraph("", text));
    let body = paragraph(r#"<w:pStyle w:val="berschrift1"/>"#, "A &amp; B")
        + &paragraph("", "Text&#33;")
        + &paragraph("<w:numPr/>", "one")
        + &paragraph(item, "two")
        + &format!(
            "<w:tbl><w:tr>{}{}</w:tr><w:tr>{}{}</w:tr></w:tbl>",
            cell("k"),
            cell("v"),
            cell("1"),
            cell("2")
        )
        + "<mc:Fallback><w:p><w:r><w:t>twice</w:t></w:r></w:p></mc:Fallback>";
    let text = markdown(&with_body(&body)).expect("read");
    assert_eq!(text, "# A & B\n\nText!\n\n- one\n  - two\n| k | v |\n| --- | --- |\n| 1 | 2 |\n\n");
}

#[test]
fn bombs_are_not_unpacked() {
    let zeros = vec![b' '; 40 << 20];
    let bomb = docx(&[("word/document.xml", &zeros)]);
    assert!(bomb.len() < 200_000);
    assert_eq!(markdown(&bomb), Err("unpacks to more than 32 MB"));
}

#[test]
fn entities_do_not_expand() {
    let laughs = r#"<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]>"#.to_owned()
        + "<w:document><w:p><w:r><w:t>x&b;y</w:t></w:r></w:p></w:document>";
    let text = markdown(&docx(&[("word/document.xml", laughs.as_bytes())]));
    assert!(matches!(text.as_deref(), Ok("xy\n\n") | Err(_)), "{text:?}");
}

#[test]
fn invalid_files_are_rejected() {
    for bytes in [&b""[..], b"PK\x03\x04", b"not a zip", &docx(&[("other.xml", b"<x/>")])] {
        assert_eq!(markdown(bytes), Err(BROKEN));
    }
    let deep = with_body(&"<w:tbl>".repeat(100_000));
    assert!(markdown(&deep).is_err(), "tags that nothing closes");
}
