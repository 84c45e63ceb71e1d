//! Reading whole pages, in pieces if they are long, and without the gate `kg`.

use serde_json::json;

use super::indexed;
use crate::support::Client;

/// A page of 60,000 one-token words, in numbered lines.
fn long_page() -> String {
    let line = |n: usize| format!("{n}{}\n", " a".repeat(99));
    format!("# Principle: Long\n\n== Overview ==\nA long page.\n\n{}", (0..600).map(line).collect::<String>())
}

fn fenced(text: &str) -> &str {
    let from = text.find("\n```\n").expect("a fence") + "\n```\n".len();
    let to = text[from..].find("\n```\n").expect("the end of the fence");
    &text[from..from + to]
}

#[test]
fn a_long_page_is_read_in_pieces_of_8000_tokens() {
    let place = indexed(&[("principles/Long.md", &long_page())]);
    for (preset, tool, argument) in
        [("merger", "get_wiki_page", "page_title"), ("context", "wiki_idea_search", "page")]
    {
        let mut client = Client::start(&place, preset);
        let (mut lines, mut offset) = (Vec::new(), None);
        loop {
            let mut arguments = json!({argument: "Principle/Long"});
            if let Some(offset) = offset {
                arguments["offset"] = json!(offset);
            }
            let text = client.text(tool, arguments);
            let words = text.split_whitespace().count();
            assert!(words <= 8_000, "{words} words");
            lines.extend(fenced(&text).lines().map(str::to_owned));
            let pointer = format!("Next: `{tool}` with {argument} `Principle/Long`, offset ");
            let Some((_, next)) = text.split_once(&pointer) else { break };
            assert!(words > 7_000, "{words} words: {}", &text[..200]);
            let next: u64 = next.lines().next().expect("an offset").parse().expect("a number");
            assert!(Some(next) > offset, "{next}");
            offset = Some(next);
        }
        let numbers: Vec<usize> =
            lines.iter().filter_map(|line| line.split(' ').next()?.parse().ok()).collect();
        assert_eq!(numbers, (0..600).collect::<Vec<_>>(), "{preset}: every line once and in order");
        let fault = client.fails(tool, json!({argument: "Principle/Long", "offset": 10_000_000}));
        assert!(fault.contains("is beyond the end of 'Principle/Long'"), "{fault}");
    }
}

#[test]
fn what_a_search_found_is_read_where_kg_is_hidden() {
    let place = indexed(&[
        (
            "principles/Turbines.md",
            "# Principle: Turbines\n== Overview ==\nThey turn.\n* [[implemented_by::Implementation:Motor]]\n",
        ),
        (
            "implementations/Motor.md",
            "# Implementation: Motor\n== Overview ==\nIt runs.\n== Code ==\n```\nrun()\n```\n",
        ),
    ]);
    let mut client = Client::start(&place, "context");
    let text = client.text("wiki_code_search", json!({"query": "motor"}));
    assert!(text.contains("Full page: `wiki_code_search` with page `Implementation/Motor`"), "{text}");
    let text = client.text("wiki_code_search", json!({"page": "Implementation/Motor"}));
    assert!(text.starts_with("# Motor\n") && text.contains("\nrun()\n"), "{text}");
    assert!(text.contains("← Principle/Turbines") || text.contains("→ Principle/Turbines"), "{text}");
    // Links lead to pages of other types, and both tools read all types.
    assert!(client.text("wiki_code_search", json!({"page": "Principle/Turbines"})).contains("They turn."));
    let text = client.fails("wiki_idea_search", json!({"page": "Principle/Turbine"}));
    assert!(
        text.contains("Page not found: 'Principle/Turbine'") && text.contains("Nearest titles: 'Turbines'"),
        "{text}"
    );
    let text = client.fails("wiki_idea_search", json!({}));
    assert!(text.contains("query is missing"), "{text}");
}
