//! Invalid arguments get an error that names the argument and the fix, and change nothing.

use serde_json::{Value, json};

use crate::support::{Client, Place, fault_of, text_of};

/// Calls that the schema rejects, and the start of each error.
fn refused() -> Vec<(&'static str, Value, &'static str)> {
    vec![
        ("search_knowledge", json!({}), "invalid arguments: missing required argument 'query'."),
        (
            "search_knowledge",
            json!({"qurey": "x"}),
            "invalid arguments: unknown argument 'qurey'. Did you mean 'query'?",
        ),
        (
            "search_knowledge",
            json!({"query": "x", "extra": 1}),
            "invalid arguments: unknown argument 'extra'.",
        ),
        (
            "search_knowledge",
            json!({"query": 5}),
            "invalid arguments: 'query' must be a string, got a number.",
        ),
        (
            "search_knowledge",
            json!({"query": ""}),
            "invalid arguments: 'query' must have at least 1 character.",
        ),
        (
            "search_knowledge",
            json!({"query": "x", "top_k": 0}),
            "invalid arguments: 'top_k' must be at least 1, got 0.",
        ),
        (
            "search_knowledge",
            json!({"query": "x", "top_k": -1}),
            "invalid arguments: 'top_k' must be at least 1, got -1.",
        ),
        ("search_knowledge", json!({"query": "x", "top_k": "five"}), "invalid arguments: 'top_k' must be"),
        (
            "search_knowledge",
            json!({"query": "x", "min_score": 1.5}),
            "invalid arguments: 'min_score' must be at most 1",
        ),
        (
            "search_knowledge",
            json!({"query": "x", "page_types": ["Princple"]}),
            "invalid arguments: 'page_types.0' must be one of",
        ),
        (
            "search_knowledge",
            json!({"query": "x", "page_types": "Principle"}),
            "invalid arguments: 'page_types' must be",
        ),
        (
            "search_knowledge",
            json!({"query": "x".repeat(1 << 20)}),
            "invalid arguments: 'query' must have at most 8192 characters, got 1048576.",
        ),
        (
            "get_page_structure",
            json!({"page_type": "essay"}),
            "invalid arguments: 'page_type' must be one of Workflow, Principle, Implementation, Environment, Heuristic, ",
        ),
        ("kg_edit", json!({"page_id": "Principle/X", "updates": {}}), "invalid arguments: 'updates'"),
        (
            "kg_edit",
            json!({"page_id": "Principle/X", "updates": {"titel": "x"}}),
            "invalid arguments: unknown argument 'titel' in 'updates'.",
        ),
        ("wiki_idea_search", json!("{\"query\": 5}"), "invalid arguments: 'query' must be a string"),
        (
            "wiki_idea_search",
            json!("{oops"),
            "invalid arguments: the arguments are a string that is not JSON",
        ),
        (
            "wiki_idea_search",
            json!([1, 2]),
            "invalid arguments: the arguments must be an object, got an array.",
        ),
    ]
}

#[test]
fn wrong_arguments_are_named_with_what_would_be_right() {
    let place = Place::shipped();
    let mut client = Client::start(&place, "full");
    for (tool, arguments, expected) in refused() {
        let text = client.fails(tool, arguments);
        assert!(text.starts_with(expected), "{expected}\n{text}");
        assert!(text.contains("\nExpected: {"), "the right schema is shown: {text}");
        assert!(text.len() < 8_000, "{} bytes", text.len());
    }
    let result = client.call("search_knowledge", json!({}));
    assert_eq!(fault_of(&result)["type"], "VALIDATION");
    assert!(!place.path("state/knowledge.db").exists(), "refused calls never reach the engine");
}

#[test]
fn odd_but_valid_queries_are_answered() {
    let place = Place::structured();
    let wiki = place.sample_wiki();
    place.run(&["kg", "index", &wiki.display().to_string(), "--json"]).json();
    let mut client = Client::start(&place, "full");
    for query in [
        "breaker\u{0}",
        "\u{1F980}\u{1F680}",
        "\"unbalanced",
        "a AND b OR NOT c",
        "NEAR(a b, 5)",
        "title:x",
        "x*",
        "^x",
        "-x",
        "(((",
        "{}[]<>",
        "'; DROP TABLE pages; --",
        "the of and",
        "\u{202e}abc",
        "日本語 русский",
        "\\",
        "%_",
        "circuit-breaker's",
    ] {
        let result = client.call("search_knowledge", json!({"query": query}));
        assert_ne!(result["isError"], true, "{query:?}: {result}");
        assert!(
            text_of(&result).contains("# Search Results for:") || text_of(&result).contains("Try:"),
            "{result}"
        );
    }
    let many = json!({"query": "tool ".repeat(1_600)});
    assert_ne!(client.call("search_knowledge", many)["isError"], true);
    for top_k in [json!(1_000_000_000), json!(1e18), json!(20)] {
        let found = client.call("search_knowledge", json!({"query": "tool", "top_k": top_k}))["structuredContent"]["found"].clone();
        assert!(found.as_u64().is_some_and(|found| found <= 20), "{found}");
    }
}

#[test]
fn arguments_in_a_string_are_parsed() {
    let place = Place::shipped();
    let mut client = Client::start(&place, "full");
    let text = client.text("get_page_structure", json!("{\"page_type\": \"heuristic\"}"));
    assert!(text.contains("Reasoning"), "{text}");
}

#[test]
fn a_tool_without_arguments_takes_none_or_an_empty_object() {
    let place = Place::with("[presets.p]\ngates.vices = {}\n", &["vices"]);
    let mut client = Client::start(&place, "p");
    assert_eq!(client.text("well_behaved", json!({})), "fine");
    let answer = client.request("tools/call", json!({"name": "well_behaved"}));
    assert_eq!(answer["result"]["content"][0]["text"], "fine", "{answer}");
}
