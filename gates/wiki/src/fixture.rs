//! Sample pages, and a fake host that holds them, for the tests of the gates (feature `testing`).

use gatehouse_sdk::{
    knowledge::{Hit, Neighbour, Page, PageType, SearchResult, Source, Statistics},
    testing::Fake,
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
    Hit { id, title, page_type, score, overview, content, domains, neighbours }
}

/// A search that finds these.
pub fn found(hits: Vec<Hit>) -> SearchResult {
    SearchResult { hits, unmatched_terms: vec![], note: None }
}

/// A host whose graph holds pages, and whose searches find these.
pub fn host(hits: Vec<Hit>) -> Fake {
    stocked(99).search(move |_, _, _| Ok(found(hits.clone())))
}

/// A host whose graph holds so many pages.
pub fn stocked(pages: u32) -> Fake {
    Fake::new().stats(move || Ok(Statistics { engine: "fake".into(), pages, links: 0, by_type: vec![] }))
}
