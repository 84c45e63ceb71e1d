//! Converters: the shipped one, one of a stranger, and the limits that hold each.

use std::fs;

use serde_json::{Value, json};

use super::{add, place};
use crate::support::{Client, Place, repository};

/// A PDF with one line of text on each page.
fn pdf(pages: &[&str]) -> Vec<u8> {
    let kids: String = (0..pages.len()).map(|page| format!("{} 0 R ", 4 + 2 * page)).collect();
    let mut objects = vec![
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        format!("<< /Type /Pages /Kids [{kids}] /Count {} >>", pages.len()),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>".to_owned(),
    ];
    for (page, text) in pages.iter().enumerate() {
        let stream = format!("BT /F1 12 Tf 72 700 Td ({text}) Tj ET");
        objects.push(format!(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> >> \
             /Contents {} 0 R >>",
            5 + 2 * page
        ));
        objects.push(format!("<< /Length {} >>\nstream\n{stream}\nendstream", stream.len()));
    }
    let (mut file, mut offsets) = ("%PDF-1.4\n".to_owned(), String::new());
    for (index, object) in objects.iter().enumerate() {
        offsets.push_str(&format!("{:010} 00000 n \n", file.len()));
        file.push_str(&format!("{} 0 obj\n{object}\nendobj\n", index + 1));
    }
    let (start, count) = (file.len(), objects.len() + 1);
    file.push_str(&format!("xref\n0 {count}\n0000000000 65535 f \n{offsets}"));
    file.push_str(&format!("trailer << /Size {count} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n"));
    file.into_bytes()
}

fn reasons(report: &Value, of: &str) -> Vec<(String, String)> {
    let files = report["report"][of]["files"].as_array().expect("files");
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    files.iter().map(|file| (text(&file[0]), text(&file[1]))).collect()
}

#[test]
fn the_shipped_converter_reads_documents_and_names_their_pages() {
    let place = place();
    place.write(
        "docs/herbs.pdf",
        pdf(&["Basil needs the sun of a window.", "Thyme grows between stones.", "Mint spreads."]),
    );
    place.write("docs/page.html", "<h1>Sage</h1><p>Sage likes chalk.</p>");
    place.write("docs/scan.pdf", pdf(&[""]));
    place.write("docs/cut.docx", b"PK\x03\x04cut".as_slice());
    place.write("docs/plan.pages", "x");
    let report = add(&place);
    assert_eq!(report["report"]["added"], 2, "{report:#}");
    let skipped = reasons(&report, "skipped");
    for (path, reason) in [
        ("scan.pdf", "has no text: its pages are pictures"),
        ("cut.docx", "is damaged"),
        ("plan.pages", "needs a converter"),
    ] {
        assert!(skipped.iter().any(|(of, message)| of == path && message.starts_with(reason)), "{skipped:?}");
    }
    let shown = place.run(&["docs", "get", "docs", "herbs.pdf", "--lines", "6-7"]);
    assert!(
        shown.stdout().contains("Thyme") && shown.stderr().contains("continues Page 2"),
        "{}{}",
        shown.stdout(),
        shown.stderr()
    );
    let mut client = Client::start(&place, "documents");
    let text = client.text(
        "read_repository_file",
        json!({"repository": "docs", "path": "herbs.pdf", "start_line": 7, "end_line": 7}),
    );
    assert!(text.starts_with("`docs/herbs.pdf` (text of PDF, Page 2), lines 7-7 of "), "{text}");
    let reply = client.call("mfai_document_retrieval", super::question("thyme between stones", "text"));
    let content = reply["structuredContent"]["content"].as_str().expect("text");
    assert!(content.contains("## Page 2") && content.contains("Thyme grows between stones."), "{reply}");
}

#[test]
fn the_converter_is_compiled_for_its_formats_alone() {
    let place = place().with_own_cache();
    place.write("docs/plain.md", "# Plain\n");
    add(&place);
    assert!(!place.path(".cache/gatehouse/machine-code").exists(), "text needs no converter");
    let report = place.run(&["gates", "inspect", "converter", "--json"]).json();
    let formats = report["converts"].as_array().expect("formats").iter().filter_map(Value::as_str);
    let endings: Vec<&str> = formats.flat_map(|format| format.split(['(', ',', ' ', ')'])).collect();
    let endings: Vec<&str> = endings.into_iter().filter_map(|word| word.strip_prefix('.')).collect();
    assert!(endings.len() > 15, "{endings:?}");
    // A directory with any of them is one that the converter is loaded for.
    place.write("presets.toml", "[documents]\nconverters = []\n");
    for ending in &endings {
        place.write(&format!("docs/a.{ending}"), "x");
    }
    let skipped = reasons(&add(&place), "skipped");
    assert_eq!(skipped.len(), endings.len(), "{skipped:?}");
    assert!(skipped.iter().all(|(_, reason)| reason.starts_with("needs a converter")), "{skipped:?}");
}

/// A place with the gate `contract`, which makes "A note." of every `.note` file.
fn with_a_strangers_gate(converters: &str) -> Place {
    let place = Place::with(&format!("[host]\ngates = [\"gates\", \"built-in\"]\n{converters}"), &["echo"]);
    let component = repository().join("tests/fixtures/contract-0.1.0/contract.wasm");
    fs::copy(component, place.path("gates/contract.wasm")).expect("the component");
    place.write("docs/a.note", "the words of a diary");
    place
}

#[test]
fn a_dropped_in_converter_reads_nothing_before_it_is_named() {
    let place = with_a_strangers_gate("");
    let folder = place.path("docs").display().to_string();
    let ran = place.run(&["docs", "add", &folder, "--name", "docs"]);
    let stderr = ran.stderr();
    assert!(stderr.contains("gate 'contract' (note) can convert documents, but does not"), "{stderr}");
    assert!(stderr.contains("add \"contract\" to converters under [documents]"), "{stderr}");
    assert_eq!(place.run(&["docs", "get", "docs", "a.note"]).stdout().trim(), "the words of a diary");

    let place = with_a_strangers_gate("[documents]\nconverters = [\"contract\", \"converter\"]\n");
    let report = add(&place);
    assert_eq!(reasons(&report, "noted"), [("a.note".to_owned(), "has no words of its own".to_owned())]);
    assert_eq!(place.run(&["docs", "get", "docs", "a.note"]).stdout().trim(), "A note.");
}

#[test]
fn a_file_with_the_name_of_the_shipped_converter_is_not_run_either() {
    for converters in ["", "[documents]\nconverters = [\"converter\"]\n"] {
        let place = with_a_strangers_gate(converters);
        fs::rename(place.path("gates/contract.wasm"), place.path("gates/converter.wasm")).expect("renamed");
        place.write("docs/page.html", "<p>Sage likes chalk.</p>");
        let folder = place.path("docs").display().to_string();
        let stderr = place.run(&["docs", "add", &folder, "--name", "docs"]).stderr();
        assert!(
            stderr.contains("has the name of the shipped gate 'converter', which converts instead"),
            "{stderr}"
        );
        assert_eq!(place.run(&["docs", "get", "docs", "a.note"]).stdout().trim(), "the words of a diary");
        assert_eq!(place.run(&["docs", "get", "docs", "page.html"]).stdout().trim(), "Sage likes chalk.");
    }
}

#[test]
fn a_wrong_name_of_a_converter_is_an_error() {
    for (name, expected) in [
        ("convreter", "Did you mean 'converter'?"),
        ("echo", "gate 'echo' converts no documents: it does not export `convert`"),
    ] {
        let place = with_a_strangers_gate(&format!("[documents]\nconverters = [\"{name}\"]\n"));
        let ran = place.run(&["docs", "add", &place.path("docs").display().to_string()]);
        assert!(
            ran.code() == 1
                && ran.stderr().contains("documents.converters: ")
                && ran.stderr().contains(expected),
            "{}",
            ran.stderr()
        );
    }
}

#[test]
fn a_limit_costs_one_file_and_keeps_its_document() {
    let place = Place::with("", &[]);
    place.write("docs/page.html", "<p>The sun.</p>");
    place.write("docs/plain.md", "# Plain\n");
    assert_eq!(add(&place)["report"]["added"], 2);
    place.write("docs/page.html", format!("<p>{}</p>", "The moon. ".repeat(300_000)));
    place.write("docs/plain.md", "# Changed\n");
    for (limit, expected) in [
        ("memory = \"4 MiB\"", "gate 'converter' ran out of memory: its limit is 4 MiB"),
        ("time = \"1 ms\"", "took gate 'converter' longer than 0.001 s"),
    ] {
        place.write("presets.toml", format!("[gates.converter]\nlimits = {{ {limit} }}\n"));
        let report = add(&place);
        let skipped = reasons(&report, "skipped");
        assert!(skipped[0].0 == "page.html" && skipped[0].1.starts_with(expected), "{skipped:?}");
        assert!(skipped[0].1.contains("[gates.converter]"), "{skipped:?}");
        assert_eq!(place.run(&["docs", "get", "docs", "page.html"]).stdout().trim(), "The sun.");
    }
    assert_eq!(place.run(&["docs", "get", "docs", "plain.md"]).stdout().trim(), "# Changed");
}
