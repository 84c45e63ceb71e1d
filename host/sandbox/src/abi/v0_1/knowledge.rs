//! Conversions for the `knowledge` interface.

use gatehouse_core::ports::knowledge as core;

use super::gatehouse::gate::knowledge as wit;

impl From<core::PageType> for wit::PageType {
    fn from(page_type: core::PageType) -> Self {
        match page_type {
            core::PageType::Workflow => Self::Workflow,
            core::PageType::Principle => Self::Principle,
            core::PageType::Implementation => Self::Implementation,
            core::PageType::Environment => Self::Environment,
            core::PageType::Heuristic => Self::Heuristic,
        }
    }
}

impl From<wit::PageType> for core::PageType {
    fn from(page_type: wit::PageType) -> Self {
        match page_type {
            wit::PageType::Workflow => Self::Workflow,
            wit::PageType::Principle => Self::Principle,
            wit::PageType::Implementation => Self::Implementation,
            wit::PageType::Environment => Self::Environment,
            wit::PageType::Heuristic => Self::Heuristic,
        }
    }
}

impl From<core::PageSource> for wit::Source {
    fn from(source: core::PageSource) -> Self {
        Self { kind: source.kind, title: source.title, url: source.url }
    }
}

impl From<wit::Source> for core::PageSource {
    fn from(source: wit::Source) -> Self {
        Self { kind: source.kind, title: source.title, url: source.url }
    }
}

impl From<wit::Link> for core::Link {
    fn from(link: wit::Link) -> Self {
        Self { edge: link.edge, target: link.target }
    }
}

impl From<core::Neighbour> for wit::Neighbour {
    fn from(near: core::Neighbour) -> Self {
        Self { edge: near.edge, outgoing: near.outgoing, id: near.id, title: near.title }
    }
}

impl From<core::Unresolved> for wit::Unresolved {
    fn from(link: core::Unresolved) -> Self {
        Self { page: link.page, edge: link.edge, target: link.target }
    }
}

impl From<core::Page> for wit::Page {
    fn from(page: core::Page) -> Self {
        Self {
            id: page.id,
            title: page.title,
            page_type: page.page_type.into(),
            overview: page.overview,
            content: page.content,
            domains: page.domains,
            sources: into(page.sources),
            last_updated: page.last_updated,
            neighbours: into(page.neighbours),
        }
    }
}

impl From<wit::Filters> for core::Filters {
    fn from(filters: wit::Filters) -> Self {
        Self { page_types: into(filters.page_types), domains: filters.domains, min_score: filters.min_score }
    }
}

impl From<core::Hit> for wit::Hit {
    fn from(hit: core::Hit) -> Self {
        let page = hit.page;
        Self {
            id: page.id,
            title: page.title,
            page_type: page.page_type.into(),
            score: hit.score,
            overview: page.overview,
            content: page.content,
            domains: page.domains,
            neighbours: into(page.neighbours),
        }
    }
}

impl From<core::SearchResult> for wit::SearchResult {
    fn from(result: core::SearchResult) -> Self {
        Self { hits: into(result.hits), unmatched_terms: result.unmatched_terms, note: result.note }
    }
}

impl From<core::Lookup> for wit::Lookup {
    fn from(lookup: core::Lookup) -> Self {
        match lookup {
            core::Lookup::Found { page, .. } => Self::Found((*page).into()),
            core::Lookup::Missing(titles) => Self::Missing(titles),
        }
    }
}

impl From<wit::Draft> for core::Draft {
    fn from(draft: wit::Draft) -> Self {
        Self {
            title: draft.title,
            page_type: draft.page_type.into(),
            overview: draft.overview,
            content: draft.content,
            domains: draft.domains,
            sources: into(draft.sources),
            links: into(draft.links),
        }
    }
}

impl From<wit::Changes> for core::Changes {
    fn from(changes: wit::Changes) -> Self {
        Self {
            overview: changes.overview,
            content: changes.content,
            domains: changes.domains,
            sources: changes.sources.map(into),
            links: changes.links.map(into),
        }
    }
}

impl From<core::IndexReport> for wit::IndexReport {
    fn from(report: core::IndexReport) -> Self {
        Self {
            added: report.added,
            updated: report.updated,
            unchanged: report.unchanged,
            removed: report.removed,
            links: report.links,
            unresolved: into(report.unresolved_links),
            skipped: report.skipped,
        }
    }
}

impl From<core::PatchReport> for wit::PatchReport {
    fn from(report: core::PatchReport) -> Self {
        Self {
            id: report.id,
            changed: report.changed,
            file: report.file,
            kept_file: report.kept_file,
            last_updated: report.last_updated,
            unresolved: into(report.unresolved_links),
        }
    }
}

impl From<core::Statistics> for wit::Statistics {
    fn from(stats: core::Statistics) -> Self {
        let by_type = stats.by_type.into_iter().map(|(page_type, count)| (page_type.into(), count)).collect();
        Self { engine: stats.engine, pages: stats.pages, links: stats.links, by_type }
    }
}

fn into<A, B: From<A>>(list: Vec<A>) -> Vec<B> {
    list.into_iter().map(Into::into).collect()
}
