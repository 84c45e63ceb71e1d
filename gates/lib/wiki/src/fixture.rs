//! Sample pages, and a fake host that holds them, for the tests of the gates (feature `testing`).

use gatehouse_sdk::{
    knowledge::{Fit, FoundPage, Hit, Lookup, Neighbour, Page, PageType, SearchResult, Source, Statistics},
    testing::Fake,
    text::ExtractResult,
};

/// A link as it is seen from the page that was asked for.
pub fn near(edge: &str, outgoing: bool, id: &str) -> Neighbour {
    let title = id.split('/').next_back().unwrap_or(id).replace('_', " ");
    Neighbour { edge: edge.into(), outgoing, id: id.into(), title }
}

/// A principle that others link to.
pub fn page() -> Page {
    Page {
        id: "Principle/Acme_Cache_Invalidation".into(),
        title: "Cache_Invalidation".into(),
        page_type: PageType::Principle,
        overview: "Deciding when a kept answer may no longer be given.".into(),
        content:
            "== Overview ==\nDeciding when a kept answer may no longer be given.\n\n=== Description ===\n\
                  An answer is kept with what it depends on."
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

/// The page as a search finds it.
pub fn hit(score: f64) -> Hit {
    let Page { id, title, page_type, overview, content, domains, neighbours, .. } = page();
    Hit { id, title, page_type, score, fit: Fit::Good, overview, content, domains, neighbours }
}

/// The page as a reader gets it.
pub fn lookup(page: Page) -> Lookup {
    Lookup::Found(FoundPage { page, namesakes: vec![] })
}

/// A search that finds these.
pub fn found(hits: Vec<Hit>) -> SearchResult {
    SearchResult { hits, unmatched_terms: vec![], unknown_domains: vec![], note: None }
}

/// A host whose graph holds pages, and whose searches find these.
pub fn host(hits: Vec<Hit>) -> Fake {
    stocked(99).search(move |_, _, _| Ok(found(hits.clone())))
}

/// A stand-in for the counter: a word is a token.
pub fn count(text: &str) -> u32 {
    u32::try_from(text.split_whitespace().count()).unwrap_or(u32::MAX)
}

/// A stand-in for the extractor: a word is a token, lines with a word of the query come first, and each gap is marked.
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
    let mut kept = vec![false; lines.len()];
    let shown = |kept: &[bool]| {
        let mut shown: Vec<&str> =
            lines.iter().zip(kept).map(|(line, kept)| if *kept { *line } else { "[…]" }).collect();
        shown.dedup_by(|a, b| *a == "[…]" && *b == "[…]");
        shown.join("\n")
    };
    for i in order {
        kept[i] = true;
        kept[i] = count(&shown(&kept)) <= budget;
    }
    let text = shown(&kept);
    ExtractResult { tokens_out: count(&text), text, tokens_in, shortened: true, fit: None }
}

/// A host whose graph holds so many pages.
pub fn stocked(pages: u32) -> Fake {
    reader().stats(move || Ok(Statistics { engine: "fake".into(), pages, links: 0, by_type: vec![] }))
}

/// A host that makes text fit and holds no pages.
pub fn reader() -> Fake {
    Fake::new().count(|text| Ok(count(text))).extract(|text, query, budget| Ok(extract(text, query, budget)))
}
