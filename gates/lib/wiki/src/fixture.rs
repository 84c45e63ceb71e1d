//! Sample pages and a fake host that serves them, for gate tests (feature `testing`).

use gatehouse_sdk::{
    knowledge::{Fit, FoundPage, Hit, Lookup, Neighbour, Page, PageType, SearchResult, Source, Statistics},
    testing::Fake,
    text::ExtractResult,
};

pub fn near(edge: &str, outgoing: bool, id: &str) -> Neighbour {
    let title = id.split('/').next_back().unwrap_or(id).replace('_', " ");
    Neighbour { edge: edge.into(), outgoing, id: id.into(), title }
}

pub fn page() -> Page {
    Page {
        id: "Principle/Acme_Cache_Invalidation".into(),
        title: "Cache_Invalidation".into(),
        page_type: PageType::Principle,
        overview: "Deciding when a cached answer may no longer be given.".into(),
        content:
            "== Overview ==\nDeciding when a cached answer may no longer be given.\n\n=== Description ===\n\
                  An answer is stored with what it depends on."
                .into(),
        domains: vec!["Caching".into(), "Distributed Systems".into()],
        sources: vec![Source {
            kind: "Paper".into(),
            title: "On Caches".into(),
            url: "https://example.org/caches".into(),
        }],
        last_updated: Some("2026-01-09 12:00 GMT".into()),
        neighbours: vec![
            near("implemented_by", true, "Implementation/Acme_Cache"),
            near("step", false, "Workflow/Acme_Deploy"),
        ],
    }
}

pub fn hit(score: f64) -> Hit {
    let Page { id, title, page_type, overview, content, domains, neighbours, .. } = page();
    Hit { id, title, page_type, score, fit: Fit::Good, overview, content, domains, neighbours }
}

pub fn lookup(page: Page) -> Lookup {
    Lookup::Found(FoundPage { page, namesakes: vec![] })
}

pub fn found(hits: Vec<Hit>) -> SearchResult {
    SearchResult { hits, unmatched_terms: vec![], unknown_domains: vec![], note: None }
}

pub fn host(hits: Vec<Hit>) -> Fake {
    stocked(99).search(move |_, _, _| Ok(found(hits.clone())))
}

/// Counts words as tokens.
pub fn count(text: &str) -> u32 {
    u32::try_from(text.split_whitespace().count()).unwrap_or(u32::MAX)
}

/// Fakes the host's extractor: words are tokens, lines with a query word come first, and gaps are marked.
pub fn extract(text: &str, query: &str, budget: u32) -> ExtractResult {
    let tokens_in = count(text);
    if tokens_in <= budget {
        return ExtractResult {
            text: text.into(),
            tokens_in,
            tokens_out: tokens_in,
            shortened: false,
            fit: None,
        };
    }
    let lines: Vec<&str> = text.lines().filter(|line| !line.is_empty()).collect();
    let answers = |line: &str| query.split_whitespace().any(|word| line.contains(word));
    let mut order: Vec<usize> = (0..lines.len()).collect();
    order.sort_by_key(|i| !answers(lines[*i]));
    let mut selection = vec![false; lines.len()];
    let render = |selection: &[bool]| {
        let mut parts: Vec<&str> = lines
            .iter()
            .zip(selection)
            .map(|(line, selected)| if *selected { *line } else { "[…]" })
            .collect();
        parts.dedup_by(|a, b| *a == "[…]" && *b == "[…]");
        parts.join("\n")
    };
    for i in order {
        selection[i] = true;
        selection[i] = count(&render(&selection)) <= budget;
    }
    let text = render(&selection);
    ExtractResult { tokens_out: count(&text), text, tokens_in, shortened: true, fit: None }
}

pub fn stocked(pages: u32) -> Fake {
    reader().stats(move || Ok(Statistics { engine: "fake".into(), pages, links: 0, by_type: vec![] }))
}

pub fn reader() -> Fake {
    Fake::new().count(|text| Ok(count(text))).extract(|text, query, budget| Ok(extract(text, query, budget)))
}
