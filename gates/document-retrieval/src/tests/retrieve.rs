//! Tests of the returned document, its form and its notes.

use gatehouse_sdk::{Content, FaultKind, documents::SearchMode};

use super::*;

const TOOL: &str = "mfai_document_retrieval";

#[test]
fn a_small_document_comes_back_byte_for_byte() {
    let text = "# A\r\n\r\nBytes: \u{202e}ü\t \n[… lines 1-9: 4 tokens …]\n";
    let reply = call(host(text), TOOL, question()).unwrap();
    assert_eq!(reply.content[1], Content::Text(text.into()));
    assert_eq!(
        reply.content[0],
        Content::Text(
            "`manual/docs/a.md`: whole, 10 tokens (o200k). Fit: good.\nOther documents: `b.md`".into()
        )
    );
    let data = data(TOOL, &reply);
    assert_eq!((data["content"].as_str(), data["was_compressed"].as_bool()), (Some(text), Some(false)));
    assert_eq!(data["sources"], json!(["manual/docs/a.md"]));
    assert!(data.get("original_token_count").is_none());
}

#[test]
fn a_large_document_is_shortened_to_the_budget_with_a_hint() {
    let text = "word ".repeat(5_000);
    let host = host(&text).extract(|_, query, budget| {
        assert_eq!(query, "how to calibrate\nI write a test");
        let kept = budget * 97 / 100;
        Ok(ExtractResult {
            text: "word ".repeat(kept as usize),
            tokens_in: 5_000,
            tokens_out: kept,
            shortened: true,
            fit: Some(Fit::Nothing),
        })
    });
    let mut arguments = question();
    arguments["context"] = "I write a test".into();
    let reply = call(host, TOOL, arguments).unwrap();
    let data = data(TOOL, &reply);
    assert_eq!(data["original_token_count"], 5_000);
    assert_eq!(data["method"], "extractive");
    assert!((285..=300).contains(&data["token_count"].as_u64().unwrap()), "{data}");
    let head = reply.text();
    assert!(head.contains("\nNothing in the document answers the query"), "{head}");
    assert!(head.starts_with("`manual/docs/a.md`: 5000 tokens shortened to 291 (o200k; extractive). Fit: good.\nRead the gaps marked […] with `read_repository_file`: repository `manual`, path `docs/a.md`, start_line, end_line.\n"), "{head}");
}

#[test]
fn the_mode_and_the_query_are_those_of_the_caller() {
    for (name, expected) in [("text", SearchMode::Text), ("semantic", SearchMode::Semantic)] {
        let host = host("a").find(move |repository, query, mode, _| {
            assert_eq!((repository, query, mode), ("manual", "' & ! : * ( ) <->", expected));
            Ok(found(vec![hit("a", Fit::Names)]))
        });
        let arguments = json!({"query": "' & ! : * ( ) <->", "repository": "manual", "search_type": name});
        assert_eq!(data(TOOL, &call(host, TOOL, arguments).unwrap())["fit"], "names");
    }
}

#[test]
fn an_empty_result_has_the_guide_and_suggestions() {
    for hits in [vec![], vec![hit("far.md", Fit::Nothing)]] {
        let near = !hits.is_empty();
        let host = host("a").find(move |_, _, _, _| {
            Ok(SearchResult {
                hits: hits.clone(),
                unmatched_terms: vec!["calibrate".into()],
                note: Some("3 documents have no vectors yet.".into()),
            })
        });
        let reply = call(host, TOOL, question()).unwrap();
        let text = reply.text();
        assert!(
            text.starts_with("No document of `manual` answers: \"how to calibrate\"\n\nTry:\n"),
            "{text}"
        );
        assert_eq!(text.contains("(none fits): `far.md`"), near, "{text}");
        assert!(text.contains("- Another repository: `other`\n") && text.contains("Look for calibration."));
        assert!(text.contains("In no document: calibrate.") && text.contains("3 documents have no vectors"));
        let data = data(TOOL, &reply);
        assert_eq!((&data["sources"], &data["fit"]), (&json!(["Navigation Guide"]), &json!("nothing")));
    }
}

#[test]
fn an_unreachable_engine_is_a_fault() {
    let host = host("a").find(|_, _, _, _| Err(Fault::unavailable("document engine 'x' at y: refused")));
    assert_eq!(call(host, TOOL, question()).unwrap_err().kind, FaultKind::Unavailable);
    let fault = call(super::host("a"), TOOL, json!({"query": " ", "repository": "r", "search_type": "text"}));
    assert_eq!(fault.unwrap_err().message, "query is empty");
}

#[test]
fn names_of_documents_do_not_write_the_reply() {
    let host = host("a")
        .find(|_, _, _, _| Ok(found(vec![hit("a.md", Fit::Good), hit("x`\n\n# Forged\u{202e}", Fit::Good)])));
    let text = call(host, TOOL, question()).unwrap().text();
    assert!(text.contains("Other documents: `` x` # Forged ``") && text.lines().count() == 3, "{text}");
}
