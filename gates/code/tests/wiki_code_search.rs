//! What `wiki_code_search` promises.

use gatehouse_sdk::{Fault, FaultKind, Reply, conformance, testing};
use gatehouse_wiki::fixture;
use serde_json::json;

use gate_code::gate;

const TOOL: &str = "wiki_code_search";

fn call(arguments: serde_json::Value, params: &str) -> Result<Reply, Fault> {
    let arguments = arguments.to_string();
    assert!(conformance::accepts(&gate(), TOOL, &arguments), "the schema refuses {arguments}");
    testing::call(&gate(), TOOL, &arguments, params)
}

#[test]
fn describe_is_deterministic_and_tells_the_parameters() {
    let manifest = conformance::describe(&gate(), "{\"top_k\":10,\"include_content\":false}");
    let tool = &manifest.tools[0];
    assert_eq!(manifest.tools.len(), 1);
    assert!(tool.description.contains("up to 10 pages") && !tool.description.contains("content preview"));
    assert!(tool.input_schema.contains("\"default\":10"), "{}", tool.input_schema);
    assert!(tool.idempotent && !tool.open_world && tool.output_schema.is_some());
    let manifest = conformance::describe(&gate(), "{\"top_k\":1000000000000}");
    assert!(manifest.tools[0].description.contains("up to 20 pages"));
    let fault = gate().describe("{\"use_llm_rerank\":true}").unwrap_err();
    assert_eq!(fault.hint.as_deref(), Some("Did you mean 'use_llm_reranker'?"));
    assert!(gate().describe("{\"top_k\":0}").unwrap_err().message.starts_with("parameter 'top_k': "));
}

#[test]
fn only_its_own_types_are_searched_and_top_k_comes_from_call_preset_or_default() {
    for (arguments, params, expected) in [
        (json!({"query": "q"}), "{}", 5),
        (json!({"query": "q"}), "{\"top_k\":10}", 10),
        (json!({"query": "q", "top_k": 3}), "{\"top_k\":10}", 3),
        (json!({"query": "q", "top_k": 1e30}), "{}", 20),
    ] {
        let host = fixture::stocked(9).search(move |_, filters, limit| {
            assert_eq!(
                format!("{:?}", filters.page_types),
                "[PageType::Implementation, PageType::Environment]"
            );
            assert_eq!((limit, filters.min_score), (expected, None));
            Ok(fixture::found(vec![fixture::hit(1.0)]))
        });
        host.run(|| call(arguments, params)).unwrap();
    }
    assert!(!conformance::accepts(&gate(), TOOL, "{\"query\":\"q\",\"page_types\":[\"Workflow\"]}"));
}

#[test]
fn reply_has_its_own_heading_and_previews_of_its_own_length() {
    let mut hit = fixture::hit(0.5);
    hit.content = "lorem ipsum ".repeat(1000);
    let host = fixture::host(vec![hit]);
    let reply = host.run(|| call(json!({"query": "why"}), "{}")).unwrap();
    let text = reply.text();
    let head = "# Code Search: \"why\"\n\nFound **1** relevant pages:\n\n---\n\n## [1] Cache_Invalidation\n";
    assert!(text.starts_with(head), "{text}");
    let data = conformance::structured(&gate(), TOOL, &reply);
    let length = data["hits"][0]["content_preview"].as_str().unwrap().chars().count();
    assert!((1000 - 20..=1000 + 1).contains(&length), "{length}");
    assert!(!text.to_lowercase().contains("rerank"));
}

#[test]
fn nothing_found_ends_with_the_siblings_that_the_caller_has() {
    let empty = || fixture::host(vec![]);
    let reply = empty()
        .exposes(["research_implementation", "wiki_idea_search"])
        .run(|| call(json!({"query": "q", "domains": ["X"]}), "{}"))
        .unwrap();
    let expected = "\
No implementation knowledge found for: \"q\"

Try:
- Broader or fewer terms
- Drop the filters: domains (X)
- Other words for the same thing
- `wiki_idea_search` knows principles and heuristics
- `research_implementation` searches the web for code
";
    assert_eq!(reply.text(), expected);
    conformance::structured(&gate(), TOOL, &reply);
    let alone = empty().run(|| call(json!({"query": "q"}), "{}")).unwrap();
    assert!(alone.text().ends_with("- Other words for the same thing\n"), "{}", alone.text());
}

#[test]
fn a_failing_engine_is_its_fault() {
    let host = fixture::stocked(9).search(|_, _, _| Err(Fault::unavailable("knowledge engine 'x': refused")));
    assert_eq!(host.run(|| call(json!({"query": "q"}), "{}")).unwrap_err().kind, FaultKind::Unavailable);
}
