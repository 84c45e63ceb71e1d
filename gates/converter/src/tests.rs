//! The gate as the host uses it.

use std::io::{Cursor, Write as _};

use gatehouse_sdk::FaultKind;
use zip::{ZipWriter, write::SimpleFileOptions};

use super::*;

/// Builds an archive of parts.
pub(crate) fn package(parts: &[(&str, &str)]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, text) in parts {
        writer.start_file(*name, SimpleFileOptions::default()).expect("begun");
        writer.write_all(text.as_bytes()).expect("written");
    }
    writer.finish().expect("whole").into_inner()
}

fn text(name: &str, bytes: &[u8]) -> String {
    convert(bytes, name, "").expect("converted").text
}

const RELATIONSHIPS: &str = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";

fn relationships(of: &[(&str, &str, &str)]) -> String {
    let one = |(id, kind, target): &(&str, &str, &str)| {
        format!(r#"<Relationship Id="{id}" Type="{RELATIONSHIPS}/{kind}" Target="{target}"/>"#)
    };
    format!("<Relationships>{}</Relationships>", of.iter().map(one).collect::<String>())
}

fn shape(kind: &str, paragraphs: &[&str]) -> String {
    let text = |text: &&str| format!("<a:p><a:r><a:t>{text}</a:t></a:r></a:p>");
    let paragraphs: String = paragraphs.iter().map(text).collect();
    format!(
        r#"<p:sp><p:nvSpPr><p:nvPr><p:ph type="{kind}"/></p:nvPr></p:nvSpPr><p:txBody>{paragraphs}</p:txBody></p:sp>"#
    )
}

#[test]
fn slides_have_titles_text_tables_and_notes_in_their_order() {
    let cell =
        |text: &str| format!("<a:tc><a:txBody><a:p><a:r><a:t>{text}</a:t></a:r></a:p></a:txBody></a:tc>");
    let table = format!(
        "<a:tbl><a:tr>{}{}</a:tr><a:tr>{}{}</a:tr></a:tbl>",
        cell("k"),
        cell("v"),
        cell("a|b"),
        cell("2")
    );
    let first = format!(
        r#"<p:sld>{}{}<a:p><a:pPr lvl="1"/><a:r><a:rPr><a:hlinkClick r:id="l"/></a:rPr><a:t>deeper</a:t></a:r></a:p>{table}</p:sld>"#,
        shape("title", &["Q1 &amp; Q2"]),
        shape("body", &["one"]) + &shape("sldNum", &["7"]),
    );
    let bytes = package(&[
        ("_rels/.rels", &relationships(&[("r", "officeDocument", "ppt/presentation.xml")])),
        ("ppt/presentation.xml", r#"<p:presentation><p:sldId id="256" r:id="b"/><p:sldId id="257" r:id="a"/><p:sldId id="258" r:id="c"/></p:presentation>"#),
        ("ppt/_rels/presentation.xml.rels", &relationships(&[("a", "slide", "slides/slide1.xml"), ("b", "slide", "/ppt/slides/slide2.xml"), ("c", "slide", "slides/slide3.xml")])),
        ("ppt/slides/slide1.xml", &first),
        ("ppt/slides/_rels/slide1.xml.rels", &relationships(&[("n", "notesSlide", "../notesSlides/notesSlide1.xml")]).replace(
            "</Relationships>", r#"<Relationship Id="l" Type="x/hyperlink" Target="https://x.example/" TargetMode="External"/></Relationships>"#)),
        ("ppt/notesSlides/notesSlide1.xml", &format!("<p:notes>{}{}</p:notes>", shape("sldImg", &[]), shape("body", &["Say hello."]))),
        ("ppt/slides/slide2.xml", &format!("<p:sld>{}</p:sld>", shape("ctrTitle", &["Start"]))),
        ("ppt/slides/slide3.xml", r#"<p:sld show="0"></p:sld>"#),
    ]);
    let converted = convert(&bytes, "a.PPTX", "").expect("converted");
    let expected = "## Slide 1: Start\n\n\n## Slide 2: Q1 & Q2\n\n- one\n\n  - [deeper](https://x.example/)\n\n| k | v |\n| --- | --- |\n| a\\|b | 2 |\n\nNotes: Say hello.\n\n";
    assert_eq!(converted.text, expected);
    assert_eq!(converted.losses, ["has 1 hidden slide, which is left out"]);
}

#[test]
fn open_document_texts_keep_structure_links_and_notes() {
    let content = r#"<office:text><text:tracked-changes><text:p>gone</text:p></text:tracked-changes>
        <text:h text:outline-level="2">Part <text:span>one</text:span></text:h>
        <text:p>See<text:s/><text:a xlink:href="https://x.example/">this</text:a><text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>A note.</text:p></text:note-body></text:note> &amp; that.</text:p>
        <text:list><text:list-item><text:p>a</text:p><text:list><text:list-item><text:p>b</text:p></text:list-item></text:list></text:list-item></text:list>
        <table:table><table:table-row><table:table-cell><text:p>k</text:p></table:table-cell><table:table-cell><text:p>v</text:p></table:table-cell></table:table-row>
        <table:table-row><table:table-cell table:number-columns-repeated="2"><text:p>1</text:p></table:table-cell></table:table-row></table:table></office:text>"#;
    let expected = "## Part one\n\nSee [this](https://x.example/)[^1] & that.\n\n[^1]: A note.\n\n- a\n  - b\n\n| k | v |\n| --- | --- |\n| 1 | 1 |\n\n";
    assert_eq!(text("a.odt", &package(&[("content.xml", content)])), expected);
    let slides = r#"<draw:page draw:name="page1"><text:p>Hello</text:p><presentation:notes><text:p>Smile.</text:p></presentation:notes></draw:page>"#;
    assert_eq!(
        text("a.odp", &package(&[("content.xml", slides)])),
        "## Slide 1\n\nHello\n\nNotes: Smile.\n\n"
    );
    let locked = package(&[("META-INF/manifest.xml", "<manifest:encryption-data/>"), ("content.xml", "x")]);
    assert_eq!(convert(&locked, "a.odt", ""), Err("is protected by a password"));
}

#[test]
fn sheets_of_open_document_keep_rows_columns_and_what_stands_beside() {
    let content = r#"<office:automatic-styles><style:style style:name="h"><style:table-properties table:display="false"/></style:style></office:automatic-styles>
        <office:spreadsheet><table:table table:name="A"><table:shapes><text:p>beside</text:p></table:shapes>
        <table:table-row table:number-rows-repeated="2"><table:table-cell><text:p>a</text:p></table:table-cell><table:table-cell table:number-columns-repeated="2"/><table:table-cell office:value="7"/><table:table-cell table:number-columns-repeated="16000"/></table:table-row>
        <table:table-row table:number-rows-repeated="1048576"><table:table-cell table:number-columns-repeated="16384"/></table:table-row></table:table>
        <table:table table:name="B" table:style-name="h"><table:table-row><table:table-cell><text:p>x</text:p></table:table-cell></table:table-row></table:table></office:spreadsheet>"#;
    let converted = convert(&package(&[("content.xml", content)]), "a.ods", "").expect("converted");
    let table = "| a |  |  | 7 |\n| --- | --- | --- | --- |\n| a |  |  | 7 |\n";
    assert_eq!(converted.text, format!("## Sheet: A\n\n{table}\nbeside\n\n"));
    assert_eq!(converted.losses, ["has 1 hidden sheet, which is left out"]);
}

#[test]
fn text_that_looks_like_markdown_stays_text() {
    let content = "<text:p># no heading</text:p><text:p>```</text:p><text:list><text:list-item><text:p>last<text:note><text:note-body><text:p>kept</text:p></text:note-body></text:note></text:p></text:list-item></text:list><office:annotation><text:p>why?</text:p></office:annotation>";
    let converted = convert(&package(&[("content.xml", content)]), "a.odt", "").expect("converted");
    assert_eq!(converted.text, "\\# no heading\n\n\\```\n\n- last[^1]\n\n[^1]: kept\n\n");
    assert_eq!(converted.losses, ["has 1 comment, which is left out"]);
}

#[test]
fn empty_elements_of_xhtml_hide_nothing() {
    let page = r#"<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><head><script src="a>b"/><title/></head>
        <body><p>One <b/>two<br/><![CDATA[a < b]]></p><div hidden="hidden"/><p>three</p><!-- <x/> --></body></html>"#;
    assert_eq!(text("a.xhtml", page.as_bytes()), "One two\na < b\n\nthree\n");
}

#[test]
fn books_are_read_in_the_order_of_their_spine() {
    let contents = r#"<package><metadata><dc:title>Herbs &amp; more</dc:title></metadata><manifest>
        <item id="one" href="text/a%20b.xhtml#top" media-type="application/xhtml+xml"/><item id="two" href="../c.html" media-type="text/html"/>
        <item id="css" href="s.css" media-type="text/css"/></manifest>
        <spine><itemref idref="two"/><itemref idref="two"/><itemref idref="one"/><itemref idref="lost"/></spine></package>"#;
    let parts = [
        ("META-INF/container.xml", r#"<rootfile full-path="OEBPS/content.opf"/>"#),
        ("OEBPS/content.opf", contents),
        ("OEBPS/text/a b.xhtml", "<h2>Basil</h2><p>Sun.</p>"),
        ("c.html", "<p>Preface</p>"),
    ];
    assert_eq!(text("a.epub", &package(&parts)), "# Herbs & more\n\nPreface\n\n## Basil\n\nSun.\n\n");
    let locked = [(
        "META-INF/encryption.xml",
        r#"<EncryptionMethod Algorithm="http://www.w3.org/2001/04/xmlenc#aes128-cbc"/>"#,
    )];
    assert_eq!(
        convert(&package(&[&locked[..], &parts[..]].concat()), "a.epub", ""),
        Err("is protected against copying")
    );
}

/// A workbook with a visible and a hidden sheet.
fn workbook() -> Vec<u8> {
    let sheet = r#"<worksheet><sheetData><row r="2"><c r="B2" t="inlineStr"><is><t>Date</t></is></c><c r="C2" t="inlineStr"><is><t>Sum</t></is></c></row>
        <row r="3"><c r="B3" s="1"><v>45322</v></c><c r="C3"><v>0.30000000000000004</v></c></row>
        <row r="4"><c r="B4" t="b"><v>1</v></c><c r="C4" t="e"><v>#DIV/0!</v></c></row></sheetData></worksheet>"#;
    package(&[
        ("_rels/.rels", &relationships(&[("r", "officeDocument", "xl/workbook.xml")])),
        (
            "xl/workbook.xml",
            r#"<workbook xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets><sheet name="Budget" sheetId="1" r:id="a"/><sheet name="Old" sheetId="2" state="hidden" r:id="a"/></sheets></workbook>"#,
        ),
        ("xl/_rels/workbook.xml.rels", &relationships(&[("a", "worksheet", "worksheets/sheet1.xml")])),
        ("xl/worksheets/sheet1.xml", sheet),
        ("xl/comments1.xml", "<comments/>"),
        ("xl/comments2.xml", "<comments/>"),
        (
            "xl/styles.xml",
            r#"<styleSheet><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/></cellXfs></styleSheet>"#,
        ),
    ])
}

#[test]
fn sheets_are_tables_with_dates_as_dates() {
    let converted = convert(&workbook(), "a.xlsx", "").expect("converted");
    let expected =
        "## Sheet: Budget\n\n| Date | Sum |\n| --- | --- |\n| 2024-01-31 | 0.3 |\n| TRUE | #DIV/0! |\n";
    assert_eq!(converted.text, expected);
    let losses = ["has 1 hidden sheet, which is left out", "has comments, which are left out"];
    assert_eq!(converted.losses, losses);
}

/// A PDF of one page per text, with a heading in large letters.
fn pdf(pages: &[&str]) -> Vec<u8> {
    let mut objects = vec!["<< /Type /Catalog /Pages 2 0 R >>".to_owned()];
    let kids: String = (0..pages.len()).map(|page| format!("{} 0 R ", 4 + 2 * page)).collect();
    objects.push(format!("<< /Type /Pages /Kids [{kids}] /Count {} >>", pages.len()));
    objects.push("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>".to_owned());
    for (page, content) in pages.iter().enumerate() {
        let stream = 5 + 2 * page;
        objects.push(format!("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> >> /Contents {stream} 0 R >>"));
        objects.push(format!("<< /Length {} >>\nstream\n{content}\nendstream", content.len()));
    }
    let mut file = "%PDF-1.4\n".to_owned();
    let mut offsets = Vec::new();
    for (index, object) in objects.iter().enumerate() {
        offsets.push(file.len());
        file.push_str(&format!("{} 0 obj\n{object}\nendobj\n", index + 1));
    }
    let start = file.len();
    file.push_str(&format!("xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1));
    offsets.iter().for_each(|offset| file.push_str(&format!("{offset:010} 00000 n \n")));
    file.push_str(&format!(
        "trailer << /Size {} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n",
        objects.len() + 1
    ));
    file.into_bytes()
}

#[test]
fn pages_of_a_pdf_are_headings_above_those_of_the_text() {
    let lines = |lines: &[&str]| -> String {
        lines
            .iter()
            .enumerate()
            .map(|(line, text)| format!("BT /F1 11 Tf 72 {} Td ({text}) Tj ET ", 700 - 14 * line))
            .collect()
    };
    let body = lines(&[
        "Water the herbs each morning, and in summer",
        "again in the evening when the sun has set.",
        "Basil needs more water than thyme does.",
    ]);
    let first = format!("BT /F1 24 Tf 72 740 Td (Watering) Tj ET {body}");
    let file = pdf(&[&first, &body, ""]);
    let converted = convert(&file, "a.pdf", "").expect("converted");
    let text = &converted.text;
    assert!(text.starts_with("## Page 1\n\n### Watering\n"), "{text}");
    assert!(text.contains("\n## Page 2: Watering\n\n") && text.contains("Basil needs more water"), "{text}");
    assert_eq!(converted.losses, ["has 1 page without text"]);
    assert!(
        convert(&pdf(&[""]), "a.pdf", "")
            .is_err_and(|reason| reason.starts_with("has no text: its pages are pictures"))
    );
}

#[test]
fn damaged_and_wrong_files_have_a_reason() {
    for (name, bytes, reason) in [
        ("a.pdf", &b"%PDF-1.7 cut"[..], "is damaged"),
        ("a.docx", b"PK\x03\x04", "is damaged"),
        ("a.xlsx", b"no archive", "is damaged"),
        (
            "a.xlsx",
            &[0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1, 0, 0, 0, 0],
            "is protected by a password, or",
        ),
        ("a.epub", &package(&[("x", "y")]), "is damaged"),
        ("a.html", b" ", "has no text"),
        ("a.gif", b"GIF89a", "is of a format that this gate does not convert"),
    ] {
        let failed = convert(bytes, name, "").expect_err(name);
        assert!(failed.starts_with(reason), "{name}: {failed}");
    }
    let fault = gate().convert(b"", "a.pdf", "application/pdf").expect_err("refused");
    assert_eq!(fault.kind, FaultKind::InvalidArguments);
}

#[test]
fn the_gate_declares_its_formats_and_no_tools() {
    assert!(gate().describe("{}").expect("described").tools.is_empty());
    let formats = gate().formats().expect("declared");
    assert!(formats.iter().any(|format| format.name == "PDF" && format.endings == ["pdf"]));
}
