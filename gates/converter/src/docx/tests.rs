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

const RELATIONSHIPS: &str = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";

fn run(properties: &str, text: &str) -> String {
    format!("<w:r><w:rPr>{properties}</w:rPr><w:t>{text}</w:t></w:r>")
}

fn vertical(place: &str, text: &str) -> String {
    run(&format!("<w:vertAlign w:val=\"{place}\"/>"), text)
}

#[test]
fn characters_keep_their_meaning() {
    for (runs, expected) in [
        (
            "<w:r><w:t>1</w:t><w:noBreakHyphen/><w:t>3</w:t><w:softHyphen/><w:t>a</w:t></w:r>".to_owned(),
            "1-3a",
        ),
        (run("", "10") + &vertical("superscript", "-9") + &run("", " m"), "10^-9 m"),
        (run("", "H") + &vertical("subscript", "2") + &run("", "O"), "H_2O"),
        (r#"<w:r><w:sym w:font="Symbol" w:char="F061"/><w:t>-ray</w:t></w:r>"#.to_owned(), "α-ray"),
        (run("", "shown") + &run("<w:vanish/>", "secret") + &run("<w:vanish w:val=\"0\"/>", "!"), "shown!"),
        (
            "<m:f><m:num><m:r><m:t>a</m:t></m:r></m:num><m:den><m:r><m:t>b</m:t></m:r></m:den></m:f>"
                .to_owned(),
            "a/b",
        ),
    ] {
        assert_eq!(markdown(&with_body(&format!("<w:p>{runs}</w:p>"))).unwrap().trim(), expected);
    }
}

#[test]
fn tracked_changes_are_read_as_accepted() {
    let text = |text: &str| run("", text);
    let body = format!(
        "<w:p>{}<w:del><w:r><w:delText>9</w:delText></w:r></w:del><w:ins>{}</w:ins></w:p>",
        text("It costs "),
        text("7.")
    ) + &format!(
        "<w:p><w:moveFrom>{}</w:moveFrom></w:p><w:p><w:moveTo>{}</w:moveTo></w:p>",
        text("Moved."),
        text("Moved.")
    ) + &format!(
        "<w:p><w:pPr><w:rPr><w:del/></w:rPr></w:pPr>{}</w:p><w:p>{}</w:p>",
        text("One "),
        text("sentence.")
    ) + r#"<w:p><w:pPr><w:pPrChange><w:pPr><w:pStyle w:val="berschrift1"/></w:pPr></w:pPrChange></w:pPr><w:r><w:t>Text</w:t></w:r></w:p>"#
        + &format!("<w:tbl><w:tr><w:tc>{}</w:tc></w:tr>", paragraph("", "kept"))
        + &format!("<w:tr><w:trPr><w:del/></w:trPr><w:tc>{}</w:tc></w:tr></w:tbl>", paragraph("", "gone"));
    assert_eq!(
        markdown(&with_body(&body)).unwrap(),
        "It costs 7.\n\nMoved.\n\nOne sentence.\n\nText\n\n| kept |\n| --- |\n\n"
    );
}

#[test]
fn deleted_words_leave_their_paragraph_and_deleted_paragraphs_leave_nothing() {
    let deleted = "<w:del><w:r><w:delText>5</w:delText></w:r></w:del>";
    let cell = |text: &str| format!("<w:tc><w:p>{}{deleted}</w:p></w:tc>", run("", text));
    let mark = r#"<w:pPr><w:pStyle w:val="berschrift1"/><w:rPr><w:del/></w:rPr></w:pPr>"#;
    let body = format!("<w:p>{}{deleted}</w:p>", run("", "One."))
        + &format!("<w:p>{mark}{deleted}</w:p><w:p>{}</w:p>", run("", "Two."))
        + &format!("<w:tbl><w:tr>{}{}</w:tr></w:tbl>", cell("10"), cell("20"));
    assert_eq!(markdown(&with_body(&body)).unwrap(), "One.\n\nTwo.\n\n| 10 | 20 |\n| --- | --- |\n\n");
}

#[test]
fn numbers_and_notes_of_hostile_documents_are_bounded() {
    let numbering = r#"<w:numbering><w:abstractNum w:abstractNumId="0"><w:lvl w:ilvl="0"><w:numFmt w:val="decimal"/><w:lvlText w:val="%1."/></w:lvl><w:lvl w:ilvl="1"><w:start w:val="18446744073709551615"/><w:numFmt w:val="upperRoman"/></w:lvl></w:abstractNum><w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num></w:numbering>"#;
    let body = paragraph(r#"<w:numPr><w:numId w:val="1"/></w:numPr>"#, "item");
    let document = format!("<w:document>{body}</w:document>");
    let file =
        docx(&[("word/numbering.xml", numbering.as_bytes()), ("word/document.xml", document.as_bytes())]);
    assert_eq!(markdown(&file).unwrap(), "1. item\n");

    let links = format!(
        r#"<Relationships><Relationship Id="a" Type="{RELATIONSHIPS}/hyperlink" Target="https://{}" TargetMode="External"/></Relationships>"#,
        "x".repeat(2_000)
    );
    let link = r#"<w:hyperlink r:id="a"><w:r><w:t>y</w:t></w:r></w:hyperlink>"#.repeat(100);
    let note = |id: u32| format!(r#"<w:footnote w:id="{id}"><w:p>{link}</w:p></w:footnote>"#);
    let notes: String = (0..100).map(note).collect();
    let notes = format!("<w:footnotes>{notes}</w:footnotes>");
    let boxes = format!("<w:p>{link}<w:txbxContent>").repeat(60);
    let boxes = format!("<w:document>{boxes}</w:document>");
    for (notes, document) in [(notes.as_str(), "<w:document/>"), ("<w:x/>", &*boxes)] {
        let file = docx(&[
            ("word/_rels/document.xml.rels", links.as_bytes()),
            ("word/footnotes.xml", notes.as_bytes()),
            ("word/document.xml", document.as_bytes()),
        ]);
        assert!(markdown(&file).is_err());
    }
}

#[test]
fn parts_are_found_by_relationship_and_notes_follow_their_paragraph() {
    let root = format!(
        r#"<Relationships><Relationship Type="{RELATIONSHIPS}/officeDocument" Target="/d/main.xml"/></Relationships>"#
    );
    let links = format!(
        r#"<Relationships><Relationship Id="a" Type="{RELATIONSHIPS}/hyperlink" Target="https://x.example/(a)?b&amp;c" TargetMode="External"/><Relationship Id="n" Type="{RELATIONSHIPS}/footnotes" Target="notes.xml"/></Relationships>"#
    );
    let notes = format!(
        r#"<w:footnotes><w:footnote w:type="separator" w:id="0">{0}</w:footnote><w:footnote w:id="1">{1}</w:footnote></w:footnotes>"#,
        paragraph("", "line"),
        paragraph("", "See page 3.")
    );
    let document = format!(
        r#"<w:document><w:p>{}<w:r><w:footnoteReference w:id="1"/></w:r>{}<w:hyperlink r:id="a">{}</w:hyperlink>{}</w:p></w:document>"#,
        run("", "All"),
        run("", ", but "),
        run("", "not "),
        run("", "us.")
    );
    let wide: Vec<u8> = format!("\u{feff}{document}").encode_utf16().flat_map(u16::to_le_bytes).collect();
    let file = docx(&[
        ("_rels/.rels", root.as_bytes()),
        ("d/main.xml", &wide),
        ("d/_rels/main.xml.rels", links.as_bytes()),
        ("d/notes.xml", notes.as_bytes()),
    ]);
    assert_eq!(
        markdown(&file).unwrap(),
        "All[^1], but [not](<https://x.example/(a)?b&c>) us.\n\n[^1]: See page 3.\n\n"
    );
}

#[test]
fn headings_and_numbers_come_from_styles() {
    let styles = r#"<w:styles><w:style w:styleId="H"><w:name w:val="heading 2"/></w:style>
        <w:style w:styleId="Own"><w:name w:val="Own"/><w:basedOn w:val="H"/></w:style>
        <w:style w:styleId="O"><w:name w:val="Legal"/><w:pPr><w:outlineLvl w:val="0"/><w:numPr><w:numId w:val="1"/></w:numPr></w:pPr></w:style>
        <w:style w:styleId="C1"><w:basedOn w:val="C2"/></w:style><w:style w:styleId="C2"><w:basedOn w:val="C1"/></w:style></w:styles>"#;
    let level = |level, format, text| {
        format!(
            r#"<w:lvl w:ilvl="{level}"><w:start w:val="1"/><w:numFmt w:val="{format}"/><w:lvlText w:val="{text}"/></w:lvl>"#
        )
    };
    let numbering = format!(
        r#"<w:numbering><w:abstractNum w:abstractNumId="0">{}{}{}</w:abstractNum><w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num><w:num w:numId="2"><w:abstractNumId w:val="0"/><w:lvlOverride w:ilvl="0"><w:startOverride w:val="1"/></w:lvlOverride></w:num></w:numbering>"#,
        level(0, "decimal", "§ %1"),
        level(1, "lowerLetter", "%1.%2)"),
        level(2, "bullet", "·")
    );
    let style = |style: &str, text: &str| paragraph(&format!(r#"<w:pStyle w:val="{style}"/>"#), text);
    let item = |numbering, level, text: &str| {
        paragraph(
            &format!(r#"<w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="{numbering}"/></w:numPr>"#),
            text,
        )
    };
    let body = style("Own", "Own")
        + &style("C1", "circle")
        + &style("O", "Scope")
        + &item(1, 1, "first")
        + &item(1, 1, "second")
        + &item(1, 2, "dot")
        + &style("O", "Terms")
        + &item(1, 1, "again")
        + &item(2, 0, "restarted");
    let document = format!("<w:document>{body}</w:document>");
    let file = docx(&[
        ("word/styles.xml", styles.as_bytes()),
        ("word/numbering.xml", numbering.as_bytes()),
        ("word/document.xml", document.as_bytes()),
    ]);
    assert_eq!(
        markdown(&file).unwrap(),
        "## Own\n\ncircle\n\n# § 1 Scope\n\n  1.a) first\n  1.b) second\n    - dot\n\n# § 2 Terms\n\n  2.a) again\n§ 1 restarted\n"
    );
}

#[test]
fn bombs_are_not_unpacked() {
    let zeros = vec![b' '; 40 << 20];
    let bomb = docx(&[("word/document.xml", &zeros)]);
    assert!(bomb.len() < 200_000);
    assert_eq!(markdown(&bomb), Err("unpacks to more than 32 MB"));

    let links = format!(
        r#"<Relationships><Relationship Id="a" Type="{RELATIONSHIPS}/hyperlink" Target="https://{}" TargetMode="External"/></Relationships>"#,
        "x".repeat(2_000)
    );
    let body = r#"<w:p><w:hyperlink r:id="a"><w:r><w:t>y</w:t></w:r></w:hyperlink></w:p>"#.repeat(20_000);
    let document = format!("<w:document>{body}</w:document>");
    let file = docx(&[
        ("word/_rels/document.xml.rels", links.as_bytes()),
        ("word/document.xml", document.as_bytes()),
    ]);
    assert_eq!(markdown(&file), Err("has more than 4 MB of text"));
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
