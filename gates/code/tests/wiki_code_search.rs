//! What `wiki_code_search` promises.

use gatehouse_sdk::{
    Fault, FaultKind, Reply, conformance,
    knowledge::{Hit, Lookup, Page},
    testing,
};
use gatehouse_wiki::fixture;
use serde_json::{Value, json};

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
    assert!(tool.description.contains("up to 10 pages") && !tool.description.contains(" content,"));
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

/// Pages of 300 words each.
fn long() -> Vec<Hit> {
    let page =
        |n: usize| Hit { content: format!("{n}: {}", "lorem ipsum\n".repeat(150)), ..fixture::hit(0.5) };
    (0..5).map(page).collect()
}

#[test]
fn the_best_pages_come_whole_as_far_as_the_budget_goes() {
    for (params, expected) in [
        ("{}", [true, true, true, true, true]),
        ("{\"content_tokens\":1000}", [true, true, false, false, false]),
        ("{\"content_tokens\":1}", [false; 5]),
    ] {
        let host = fixture::host(long()).exposes([TOOL]);
        let reply = host.run(|| call(json!({"query": "why"}), params)).unwrap();
        let text = reply.text();
        let head = "# Code Search: \"why\"\n\n**Best fit:** good\nFound **5** relevant pages:\n\n---\n\n\
                    ## [1] Cache_Invalidation\n";
        assert!(text.starts_with(head), "{text}");
        let data = conformance::structured(&gate(), TOOL, &reply);
        let hits = data["hits"].as_array().unwrap();
        let whole: Vec<bool> = hits.iter().map(|hit| hit["whole"] == true).collect();
        assert_eq!(whole, expected, "{params}");
        let words = |hit: &Value| hit["content_preview"].as_str().unwrap().split_whitespace().count();
        let all: usize = hits.iter().map(words).sum();
        assert!(all <= if params == "{}" { 2_500 } else { 1_000 }, "{params}: {all}");
        let pointer = "Full page: `wiki_code_search` with page `Principle/Acme_Cache_Invalidation`";
        assert_eq!(text.matches(pointer).count(), expected.iter().filter(|whole| !**whole).count());
        assert_eq!(text.matches("\n### Content Preview\n").count(), text.matches(pointer).count());
    }
}

#[test]
fn a_page_that_was_found_is_read_whole_by_its_id() {
    let id = "Principle/Acme_Cache_Invalidation";
    let host = || {
        let read = move |asked: &str| {
            assert_eq!(asked, id);
            Ok(fixture::lookup(Page { content: "lorem ipsum\n".repeat(5_000), ..fixture::page() }))
        };
        fixture::reader().read(read).exposes([TOOL])
    };
    let reply = host().run(|| call(json!({"page": id, "query": ""}), "{}")).unwrap();
    let page = conformance::structured(&gate(), TOOL, &reply)["page"].clone();
    let next = page["next_offset"].as_u64().unwrap();
    let pointer = format!("Next: `wiki_code_search` with page `{id}`, offset {next}\n");
    assert!(reply.text().contains(&pointer), "{}", reply.text());
    assert!(reply.text().split_whitespace().count() <= 8_000);
    let reply = host().run(|| call(json!({"page": id, "offset": next}), "{}")).unwrap();
    assert!(reply.text().contains(", the end\n"), "{}", reply.text());
}

#[test]
fn a_call_asks_for_one_thing() {
    for (arguments, message) in [
        (json!({}), "query is missing"),
        (json!({"query": " "}), "query is missing"),
        (json!({"query": "q", "page": "Principle/A"}), "query and page exclude each other"),
        (json!({"query": "q", "offset": 5}), "offset goes with page, not with query"),
    ] {
        let fault = fixture::reader().run(|| call(arguments, "{}")).unwrap_err();
        assert_eq!((fault.kind, fault.message.as_str()), (FaultKind::InvalidArguments, message));
        assert!(fault.hint.is_some());
    }
    let host = fixture::reader().exposes([TOOL]).read(|_| Ok(Lookup::Missing(vec!["B".into()])));
    let fault = host.run(|| call(json!({"page": "A"}), "{}")).unwrap_err();
    assert_eq!(fault.message, "Page not found: 'A'");
    assert_eq!(
        fault.hint.as_deref(),
        Some("Nearest titles: 'B'. wiki_code_search finds pages by what they say.")
    );
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
