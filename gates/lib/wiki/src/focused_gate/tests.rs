//! Tests of what all focused gates share, with a gate of their own. Those of reranking are in gates/idea.

use gatehouse_sdk::{
    FaultKind, conformance,
    knowledge::{Hit, Lookup, Page, PageType},
};
use serde_json::{Value, json};

use super::*;
use crate::{
    RelatedTool,
    fixture::{self, found, hit, lookup, page, reader, stocked},
};

// One of the tools that replies suggest for reading a page.
const TOOL: &str = "wiki_idea_search";

static FOCUS: FocusedGateSpec = FocusedGateSpec {
    gate: "focused",
    summary: "Finds some pages.",
    title: "Search some pages",
    when: "Search.",
    next: "Stop.",
    view: SearchView {
        tool: TOOL,
        heading: "Some Search",
        subject: "some pages",
        page_types: &[PageType::Principle, PageType::Heuristic],
        related: &[
            RelatedTool { tool: "wiki_code_search", what: "knows code" },
            RelatedTool { tool: "research_idea", what: "searches the web" },
        ],
    },
};

fn gate() -> Gate<FocusedParams> {
    focused_gate(&FOCUS, "1.0.0")
}

fn call(arguments: Value, params: &str) -> Result<Reply, Fault> {
    conformance::call(&gate(), TOOL, &arguments, params)
}

#[test]
fn describe_is_deterministic_and_shows_the_parameters() {
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
    let fault = gate().describe("{\"top_k\":0}").unwrap_err();
    assert!(fault.message.starts_with("parameter 'top_k': "), "{}", fault.message);
}

#[test]
fn searches_only_its_page_types_with_top_k_of_call_or_preset() {
    for (arguments, params, expected) in [
        (json!({"query": "q"}), "{}", 5),
        (json!({"query": "q"}), "{\"top_k\":10}", 10),
        (json!({"query": "q", "top_k": 3}), "{\"top_k\":10}", 3),
        (json!({"query": "q", "top_k": 1e30}), "{}", 20),
    ] {
        let host = stocked(9).search(move |_, filters, limit| {
            assert_eq!(filters.page_types, FOCUS.view.page_types);
            assert_eq!((limit, filters.min_score), (expected, None));
            Ok(found(vec![hit(1.0)]))
        });
        host.run(|| call(arguments, params)).unwrap();
    }
    let with_types = "{\"query\":\"q\",\"page_types\":[\"Workflow\"]}";
    assert!(!conformance::accepts(&gate(), TOOL, with_types));
}

#[test]
fn the_best_pages_are_whole_within_the_budget() {
    for (params, expected) in [
        ("{}", [true, true, true, true, true]),
        ("{\"content_tokens\":1000}", [true, true, false, false, false]),
        ("{\"content_tokens\":1}", [false; 5]),
    ] {
        let host = fixture::host(long()).exposes([TOOL]);
        let reply = host.run(|| call(json!({"query": "why"}), params)).unwrap();
        let text = reply.text();
        let head = "# Some Search: \"why\"\n\n**Verdict:** fits\nFound **5** relevant pages:\n\n---\n\n\
                    ## [1] Cache_Invalidation\n";
        assert!(text.starts_with(head), "{text}");
        let data = conformance::structured(&gate(), TOOL, &reply);
        let hits = data["hits"].as_array().unwrap();
        let whole: Vec<bool> = hits.iter().map(|hit| hit["whole"] == true).collect();
        assert_eq!(whole, expected, "{params}");
        let words = |hit: &Value| hit["content_preview"].as_str().unwrap().split_whitespace().count();
        let all: usize = hits.iter().map(words).sum();
        assert!(all <= if params == "{}" { 2_500 } else { 1_000 }, "{params}: {all}");
        let pointer = format!("Full page: `{TOOL}` with page `Principle/Acme_Cache_Invalidation`");
        assert_eq!(text.matches(&pointer).count(), expected.iter().filter(|whole| !**whole).count());
        assert_eq!(text.matches("\n### Content Preview\n").count(), text.matches(&pointer).count());
    }
}

#[test]
fn a_page_can_be_read_whole_by_its_id() {
    let id = "Principle/Acme_Cache_Invalidation";
    let host = || {
        let read = move |asked: &str| {
            assert_eq!(asked, id);
            Ok(lookup(Page { content: "lorem ipsum\n".repeat(5_000), ..page() }))
        };
        reader().read(read).exposes([TOOL])
    };
    let reply = host().run(|| call(json!({"page": id, "query": ""}), "{}")).unwrap();
    let page = conformance::structured(&gate(), TOOL, &reply)["page"].clone();
    let next = page["next_offset"].as_u64().unwrap();
    let pointer = format!("Next: `{TOOL}` with page `{id}`, offset {next}\n");
    assert!(reply.text().contains(&pointer), "{}", reply.text());
    assert!(reply.text().split_whitespace().count() <= 8_000);
    let reply = host().run(|| call(json!({"page": id, "offset": next}), "{}")).unwrap();
    assert!(reply.text().contains(", the end\n"), "{}", reply.text());
}

#[test]
fn query_and_page_exclude_each_other() {
    for (arguments, message) in [
        (json!({}), "query is missing"),
        (json!({"query": " "}), "query is missing"),
        (json!({"query": "q", "page": "Principle/A"}), "query and page cannot be combined"),
        (json!({"query": "q", "offset": 5}), "offset requires page, not query"),
    ] {
        let fault = reader().run(|| call(arguments, "{}")).unwrap_err();
        assert_eq!((fault.kind, fault.message.as_str()), (FaultKind::InvalidArguments, message));
        assert!(fault.hint.is_some());
    }
    let host = reader().exposes([TOOL]).read(|_| Ok(Lookup::Missing(vec!["B".into()])));
    let fault = host.run(|| call(json!({"page": "A"}), "{}")).unwrap_err();
    assert_eq!(fault.message, "Page not found: 'A'");
    let hint = format!("Nearest titles: 'B'. Use {TOOL} to find pages by content.");
    assert_eq!(fault.hint, Some(hint));
}

#[test]
fn an_empty_result_suggests_exposed_tools() {
    let empty = || fixture::host(vec![]);
    let host = empty().exposes(["wiki_code_search", "research_idea"]);
    let reply = host.run(|| call(json!({"query": "q", "domains": ["X"]}), "{}")).unwrap();
    let expected = "No some pages found for: \"q\"\n\nTry:\n- Broader or fewer terms\n- Drop the filters: domains (X)\n\
                    - Other words for the same thing\n- `wiki_code_search` knows code\n\
                    - `research_idea` searches the web\n";
    assert_eq!(reply.text(), expected);
    conformance::structured(&gate(), TOOL, &reply);
    let alone = empty().run(|| call(json!({"query": "q"}), "{}")).unwrap();
    assert!(alone.text().ends_with("- Other words for the same thing\n"), "{}", alone.text());
}

#[test]
fn a_failing_engine_is_a_fault() {
    let host = stocked(9).search(|_, _, _| Err(Fault::unavailable("knowledge engine 'x': refused")));
    let fault = host.run(|| call(json!({"query": "q"}), "{}")).unwrap_err();
    assert_eq!(fault.kind, FaultKind::Unavailable);
}

/// Returns pages of 300 words each.
fn long() -> Vec<Hit> {
    let page = |n: usize| Hit { content: format!("{n}: {}", "lorem ipsum\n".repeat(150)), ..hit(0.5) };
    (0..5).map(page).collect()
}
