//! Digests of up to 20 MB: every part of a result is read, memory is bounded, and the digest says what it counts.

#![allow(clippy::unwrap_used)]

use std::fmt::Write as _;

use super::super::{document::ParsedDocument, row_sampler::MAX_NODES, scan};
use crate::digest::digest;

const BYTES: usize = 20 << 20;

/// Enough for more nodes than are read.
const DENSE_BYTES: usize = 10 << 20;

/// Repeats a row with its number until the text is long enough. Returns the number of rows.
fn fill(text: &mut String, bytes: usize, row: impl Fn(usize) -> String) -> usize {
    let mut rows = 0;
    while text.len() < bytes {
        text.push_str(&row(rows));
        rows += 1;
    }
    rows
}

fn order(n: usize) -> String {
    let state = if n == 600_001 { "quarantined" } else { ["open", "paid"][n % 2] };
    format!("{{\"id\":{n},\"s\":\"{state}\",\"n\":{}}}", n * 7 % 101)
}

#[test]
fn a_large_list_is_read_by_an_even_sample_and_its_unusual_rows() {
    let mut text = String::from("{\"ok\":true,\"rows\":[");
    let rows = fill(&mut text, BYTES, |n| order(n) + ",") + 1;
    text += "{\"id\":-5,\"s\":\"open\",\"n\":1}],\"end\":\"reached\"}";
    let read = scan::rows(&text, "").unwrap();
    assert!(read.sampled && read.children(ParsedDocument::ROOT).count() == 3);
    let result = digest(&text, "", 1_000).unwrap();
    for part in [
        "quarantined",
        "at $.rows[600001]",
        &format!("$.rows[]: {rows} rows, of which "),
        "end: \"reached\"",
        "-5",
    ] {
        assert!(result.text.contains(part), "no '{part}' in\n{}", result.text);
    }
    assert!(
        result.findings.iter().any(|finding| finding.contains("rows were not read")),
        "{:?}",
        result.findings
    );
    assert!(!result.text.contains(", sum "), "{}", result.text);
    let query_result = digest(&text, "order 512345", 1_000).unwrap();
    assert!(query_result.text.contains("$.rows[512345]: {id: 512345"), "{}", query_result.text);
}

#[test]
fn large_lines_and_tables_are_sampled_too() {
    let state = |n: usize| if n == 300_001 { "quarantined" } else { ["a", "b"][n % 2] };
    let mut lines = String::new();
    fill(&mut lines, DENSE_BYTES, |n| format!("[{},\"{}\",1,2,3]\n", n % 7, state(n)));
    let mut table = String::from("id,s,n\n");
    fill(&mut table, DENSE_BYTES, |n| format!("{n},{},{}\n", state(n), n * 7 % 101));
    for (text, kind) in [(lines, "JSON Lines"), (table, "table")] {
        let result = digest(&text, "", 1_000).unwrap();
        assert_eq!(result.kind, kind);
        for part in ["quarantined", "$[300001]", "rows, of which ", "rows were not read"] {
            assert!(result.text.contains(part), "no '{part}' in\n{}", result.text);
        }
    }
}

#[test]
fn the_outcome_and_the_errors_of_a_large_log_are_found() {
    let mut text = String::new();
    let lines = fill(&mut text, BYTES, |n| {
        let what = if n == 200_000 { "ERROR disk 7 failed: no space" } else { "INFO job done" };
        format!("2026-03-04 10:{:02}:{:02} {what} in {}ms\n", n / 60 % 60, n % 60, n * 7 % 401)
    });
    let _ = writeln!(text, "1 failed, 204 passed in 48.31s");
    let result = digest(&text, "", 1_000).unwrap();
    assert!(
        result.text.starts_with(&format!("- line {}: 1 failed, 204 passed in 48.31s\n", lines + 1)),
        "{}",
        result.text
    );
    assert!(
        result.text.contains("line 200001: ") && result.text.contains("disk 7 failed: no space"),
        "{}",
        result.text
    );
    assert!(result.text.contains(&format!("{} lines, from ", lines + 1)), "{}", result.text);
}

#[test]
fn hostile_large_texts_are_bounded() {
    let texts = [
        format!("[{}1]", "[1,[2]],".repeat(DENSE_BYTES / 8)),
        format!("[{}", "{\"a\":[1,".repeat(DENSE_BYTES / 8)),
    ];
    for text in &texts {
        let result = digest(text, "12345 error", 300).unwrap();
        assert!(result.tokens_out <= 300 && !result.text.is_empty(), "{}", &text[..20]);
        if let Ok(read) = scan::rows(text, "") {
            assert!(read.node_count() <= MAX_NODES, "{}", &text[..20]);
        }
    }
}
