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
    let host = host(&text)
        .repositories(|_| Ok(vec![Repository { file_count: 1, ..repository("manual") }]))
        .extract(|_, query, budget| {
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
fn a_document_without_an_answer_is_only_named_among_others() {
    let text = "word ".repeat(5_000);
    let host = host(&text).extract(|_, _, budget| {
        let text = "word ".repeat(budget as usize / 2);
        Ok(ExtractResult {
            text,
            tokens_in: 5_000,
            tokens_out: budget / 2,
            shortened: true,
            fit: Some(Fit::Nothing),
        })
    });
    let reply = call(host, TOOL, question()).unwrap();
    let data = data(TOOL, &reply);
    assert_eq!((&data["method"], &data["fit"]), (&json!("navigation"), &json!("nothing")));
    let text = reply.text();
    assert!(text.contains("The nearest documents (none fits): `docs/a.md`"), "{text}");
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

/// Counts each byte of a character that is not ASCII as a token, as vocabularies do for rare ones.
fn tokens(text: &str) -> usize {
    words(text) + text.bytes().filter(|byte| !byte.is_ascii()).count()
}

/// Returns a host whose extractor refuses budgets that are too small, as the real one does.
fn strict_host(path: &str) -> Fake {
    let path = path.to_owned();
    host(&"word ".repeat(5_000))
        .find(move |_, _, _, _| Ok(found(vec![hit(&path, Fit::Good)])))
        .extract(|_, _, budget| {
            if budget < 64 {
                return Err(Fault::invalid("too small"));
            }
            let text = "word ".repeat(budget as usize);
            Ok(ExtractResult { text, tokens_in: 5_000, tokens_out: budget, shortened: true, fit: None })
        })
        .count(|text| Ok(tokens(text) as u32))
}

#[test]
fn a_long_path_leaves_room_for_the_document_in_a_small_budget() {
    let path = "𠮷".repeat(40);
    let params = "{\"budget_tokens\":256}";
    for model in [None, Some("提供商/一个名字很长的语言模型")] {
        let host =
            strict_host(&path).serving(model, None, "local/test").complete(|_, _| Err(Fault::denied("no")));
        let reply = call_with(host, TOOL, question(), params).unwrap();
        let all = tokens(&reply.text());
        assert!((150..=256).contains(&all), "{all}: {}", reply.text());
        let data = data(TOOL, &reply);
        assert_eq!(
            (&data["method"], data["sources"][0].as_str()),
            (&json!("extractive"), Some(&*format!("manual/{path}")))
        );
    }
    // The method of the final line is longer than that of a whole document.
    let host = strict_host(&path).serving(Some("提供商/语言模型"), None, "local/test").complete(|_, _| {
        Ok(gatehouse_sdk::models::Completion::new("提供商/一个名字很长的语言模型", "word ".repeat(60)))
    });
    let reply = call_with(host, TOOL, question(), params).unwrap();
    assert!(tokens(&reply.text()) <= 256, "{}", reply.text());
    assert_eq!(data(TOOL, &reply)["method"], "提供商/一个名字很长的语言模型");
}

#[test]
fn a_budget_without_room_for_the_document_is_a_fault_that_names_the_minimum() {
    let host = strict_host(&"𠮷".repeat(40)).count(|text| Ok(tokens(text) as u32 * 10));
    let fault = call_with(host, TOOL, question(), "{\"budget_tokens\":256}").unwrap_err();
    assert_eq!(fault.kind, FaultKind::Denied);
    let (_, least) =
        fault.message.split_once("budget_tokens is 256, but this document needs at least ").unwrap();
    assert!(least.parse::<u32>().unwrap() > 256, "{least}");
}

#[test]
fn an_empty_result_stays_within_the_budget() {
    let mut query = question();
    for (text, guide) in [("calibrate", "Short."), ("字 ", "字 "), ("a b ", "a b ")] {
        for times in [1, 20, 100] {
            query["query"] = text.repeat(times).into();
            let (long, guide) = (text.repeat(times), guide.repeat(times));
            let shown = guide.clone();
            let host = host("a")
                .repositories(move |_| {
                    let mut all: Vec<_> = (0..20).map(|at| repository(&format!("{at} {long}"))).collect();
                    all.push(Repository { navigation_guide: Some(guide.clone()), ..repository("manual") });
                    Ok(all)
                })
                .find(move |_, query, _, _| {
                    Ok(SearchResult {
                        hits: vec![hit(query, Fit::Nothing); 4],
                        unmatched_terms: vec![query.to_owned(); 20],
                        note: Some(query.repeat(9)),
                    })
                })
                .count(|text| Ok(tokens(text) as u32));
            let reply = call_with(host, TOOL, query.clone(), "{\"budget_tokens\":256}").unwrap();
            let text = reply.text();
            assert!(tokens(&text) <= 256, "{}: {text}", tokens(&text));
            assert!(
                text.starts_with("No document of `manual` answers: \"")
                    && text.contains("\n- The other search_type\n")
            );
            assert_eq!(data(TOOL, &reply)["token_count"], tokens(&text));
            assert!(text.contains("The guide exceeds the budget") || text.contains(shown.trim()), "{text}");
        }
    }
}
