//! `search_knowledge`

use gatehouse_sdk::{Fault, FaultKind, knowledge::SearchResult, testing};
use gatehouse_wiki::fixture;
use serde_json::json;

use super::{call, data, refuses};

const TOOL: &str = "search_knowledge";

#[test]
fn reply_reads_as_specified() {
    let host = fixture::host(vec![fixture::hit(0.871), fixture::hit(0.4)]).exposes(["get_wiki_page"]);
    let reply = host.run(|| call(TOOL, json!({"query": "when to drop a cache"}))).unwrap();
    let expected = "\
# Search Results for: \"when to drop a cache\"

Found **2** relevant pages:

---

## [1] Cache_Invalidation

**Type:** Principle | **Score:** 0.87
**Domains:** Caching, Distributed Systems

### Overview

Deciding when a kept answer may no longer be given.

### Content Preview

== Overview ==
Deciding when a kept answer may no longer be given.

=== Description ===
An answer is kept with what it depends on.

Full page: `get_wiki_page` with page_title `Principle/Acme_Cache_Invalidation`

### Related

- implemented_by → Implementation/Acme_Cache
- step ← Workflow/Acme_Deploy

---

## [2] Cache_Invalidation
";
    assert!(reply.text().starts_with(expected), "{}", reply.text());
    let data = data(TOOL, &reply);
    assert_eq!((&data["found"], &data["hits"][0]["score"]), (&json!(2), &json!(0.871)));
    assert_eq!(data["hits"][0]["related"][1]["outgoing"], false);
}

#[test]
fn filters_reach_the_engine_and_five_is_the_default() {
    let host = fixture::stocked(9).search(|query, filters, limit| {
        assert_eq!((query, limit), ("a \"b\" OR c*", 5));
        assert_eq!(format!("{:?}", filters.page_types), "[PageType::Heuristic, PageType::Workflow]");
        assert_eq!((filters.domains.as_slice(), filters.min_score), (&["X".to_owned()][..], Some(0.5)));
        Ok(fixture::found(vec![fixture::hit(1.0)]))
    });
    let arguments = json!({
        "query": "a \"b\" OR c*", "page_types": ["Heuristic", "Workflow"], "domains": ["X"], "min_score": 0.5
    });
    host.run(|| call(TOOL, arguments)).unwrap();
}

#[test]
fn top_k_is_capped_at_twenty_whatever_its_size() {
    for top_k in ["20", "21", "1000000000", "18446744073709551616", "1e30"] {
        let host = fixture::stocked(9).search(|_, _, limit| {
            assert_eq!(limit, 20);
            Ok(fixture::found(vec![fixture::hit(1.0); 50]))
        });
        let arguments = serde_json::from_str(&format!("{{\"query\":\"q\",\"top_k\":{top_k}}}")).unwrap();
        let reply = host.run(|| call(TOOL, arguments)).unwrap();
        assert!(reply.text().contains("Found **20** relevant pages:"), "{top_k}");
    }
}

#[test]
fn arguments_out_of_range_are_refused_by_the_schema() {
    for bad in [
        json!({}),
        json!({"query": ""}),
        json!({"query": "x".repeat(8193)}),
        json!({"query": "q", "top_k": 0}),
        json!({"query": "q", "top_k": 1.5}),
        json!({"query": "q", "min_score": 1.1}),
        json!({"query": "q", "page_types": ["Recipe"]}),
        json!({"query": "q", "topk": 1}),
    ] {
        assert!(refuses(TOOL, bad.clone()), "{bad}");
    }
}

#[test]
fn without_the_reader_no_reply_names_it() {
    let reply = fixture::host(vec![fixture::hit(1.0)]).run(|| call(TOOL, json!({"query": "q"}))).unwrap();
    assert!(!reply.text().contains("get_wiki_page"));
    let renamed = fixture::host(vec![fixture::hit(1.0)]).exposes_as("get_wiki_page", "kg__read");
    let reply = renamed.run(|| call(TOOL, json!({"query": "q"}))).unwrap();
    assert!(reply.text().contains("`kg__read` with page_title"));
}

#[test]
fn without_content_there_is_no_preview() {
    let host = fixture::host(vec![fixture::hit(1.0)]);
    let params = "{\"include_content\":false}";
    let reply = host.run(|| testing::call(&crate::gate(), TOOL, "{\"query\":\"q\"}", params)).unwrap();
    assert!(!reply.text().contains("Content Preview") && reply.text().contains("### Overview"));
    assert!(data(TOOL, &reply)["hits"][0].get("content_preview").is_none());
}

#[test]
fn long_pages_are_cut_at_a_word_and_hubs_at_five_links() {
    let mut hit = fixture::hit(1.0);
    hit.content = "lorem ipsum ".repeat(1000);
    hit.neighbours = (0..9).map(|i| fixture::near("related", true, &format!("Principle/P{i}"))).collect();
    let reply = fixture::host(vec![hit]).run(|| call(TOOL, json!({"query": "q"}))).unwrap();
    let data = data(TOOL, &reply);
    let preview = data["hits"][0]["content_preview"].as_str().unwrap();
    assert!(preview.chars().count() <= 801 && preview.chars().count() > 780 && preview.ends_with("m…"));
    assert_eq!(data["hits"][0]["related"].as_array().unwrap().len(), 5);
    assert!(reply.text().contains("- related → Principle/P4\n- … and 4 more\n"));
}

#[test]
fn the_heading_is_one_short_line() {
    let query = format!("a\n\n# Fake heading\u{0}{}", " long".repeat(100));
    let reply = fixture::host(vec![fixture::hit(1.0)]).run(|| call(TOOL, json!({"query": query}))).unwrap();
    let text = reply.text();
    let heading = text.lines().next().unwrap();
    assert!(
        heading.starts_with("# Search Results for: \"a # Fake heading long") && heading.ends_with("long…\"")
    );
    assert!(heading.chars().count() < 230, "{heading}");
    assert_eq!(data(TOOL, &reply)["query"], query);
}

#[test]
fn nothing_found_says_what_to_try() {
    let host = fixture::stocked(9).exposes(["research_idea", "kg_index"]).search(|_, _, _| {
        Ok(SearchResult { hits: vec![], unmatched_terms: vec!["frobnicate".into()], note: None })
    });
    let arguments =
        json!({"query": "frobnicate it", "page_types": ["Principle"], "domains": ["X"], "min_score": 0.9});
    let reply = host.run(|| call(TOOL, arguments)).unwrap();
    let expected = "\
No pages found for: \"frobnicate it\"

No page contains: frobnicate

Try:
- Broader or fewer terms
- Drop the filters: page_types (Principle), domains (X), min_score (0.9)
- Other words for the same thing
- `research_idea` searches the web for ideas
";
    assert_eq!(reply.text(), expected);
    assert!(!reply.is_error);
    let data = data(TOOL, &reply);
    assert_eq!((&data["found"], &data["unmatched_terms"][0]), (&json!(0), &json!("frobnicate")));
}

#[test]
fn an_empty_graph_says_so() {
    let host = |tools: &[&'static str]| {
        fixture::stocked(0).exposes(tools.iter().copied()).search(|_, _, _| Ok(fixture::found(vec![])))
    };
    let text = host(&["kg_index"]).run(|| call(TOOL, json!({"query": "q"}))).unwrap().text();
    assert!(
        text.contains("The knowledge graph holds no pages yet. `kg_index` indexes a wiki folder."),
        "{text}"
    );
    let text = host(&[]).run(|| call(TOOL, json!({"query": "q"}))).unwrap().text();
    assert!(text.contains("holds no pages yet.\n") && !text.contains("kg_index"), "{text}");
}

#[test]
fn a_failing_engine_is_not_an_empty_result() {
    let down = "Search error: knowledge engine 'weaviate' at http://localhost:8081: connection refused";
    let host = fixture::stocked(9).search(move |_, _, _| Err(Fault::unavailable(down)));
    let fault = host.run(|| call(TOOL, json!({"query": "q"}))).unwrap_err();
    assert_eq!((fault.kind, fault.message.as_str(), fault.retryable), (FaultKind::Unavailable, down, true));
}
