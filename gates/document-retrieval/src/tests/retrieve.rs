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
    assert_eq!(data["token_count"], 253);
    let head = reply.text();
    assert!(head.contains("\nNothing in the document answers the query"), "{head}");
    assert!(head.starts_with("`manual/docs/a.md`: 5000 tokens shortened to 253 (o200k; extractive). Fit: good.\nRead the gaps marked […] with `read_repository_file`: repository `manual`, path `docs/a.md`, start_line, end_line.\n"), "{head}");
}

#[test]
fn replies_never_exceed_the_budget() {
    let long = "a b ".repeat(80) + ".md";
    for (budget, name) in
        [256, 300, 1_000, 8_000].into_iter().flat_map(|budget| [(budget, "a.md"), (budget, &long)])
    {
        for length in [10, budget - 30, budget - 10, budget, budget + 1, 5 * budget] {
            let text = "word ".repeat(length as usize);
            let hits = vec![hit(name, Fit::Good), hit(&long, Fit::Good), hit(&long, Fit::Weak)];
            let host = host(&text).find(move |_, _, _, _| {
                let unmatched_terms = vec!["calibrate".into(); 12];
                Ok(SearchResult {
                    hits: hits.clone(),
                    unmatched_terms,
                    note: Some("3 have no vectors.".into()),
                })
            });
            let params = format!("{{\"budget_tokens\":{budget},\"use_llm\":false}}");
            let reply = call_with(host, TOOL, question(), &params).unwrap();
            let content = |content: &Content| matches!(content, Content::Text(_)).then(|| content.clone());
            let all: Vec<Content> = reply.content.iter().filter_map(content).collect();
            let tokens: usize =
                all.iter().map(|part| if let Content::Text(text) = part { words(text) } else { 0 }).sum();
            assert!(tokens <= budget as usize, "{tokens} of {budget}, {length} words");
            let whole = data(TOOL, &reply)["was_compressed"] == false;
            assert!(if length <= 10 { whole } else { !whole || length < budget }, "{budget}, {length}");
        }
    }
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
