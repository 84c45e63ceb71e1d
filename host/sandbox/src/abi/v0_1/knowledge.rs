//! `knowledge`: the knowledge graph. Granted as `knowledge`, or `knowledge:read` without what writes.

use gatehouse_core::{
    capability::{Access, Capability},
    outcome,
    ports::{Knowledge, knowledge as core},
};

use super::gatehouse::gate::{knowledge as wit, types::Fault};
use crate::state::State;

/// The most hits one search may ask for.
const MAX_HITS: u32 = 100;

fn engine(state: &State, access: Access) -> Result<&dyn Knowledge, outcome::Fault> {
    let granted = state.capabilities.granted(Capability::Knowledge, access)?;
    Ok(&*granted.facts.ports.knowledge)
}

impl wit::Host for State {
    async fn search(
        &mut self,
        query: String,
        filters: wit::Filters,
        limit: u32,
    ) -> Result<wit::SearchResult, Fault> {
        let limit = limit.clamp(1, MAX_HITS) as usize;
        Ok(engine(self, Access::Read)?.search(&query, &filters.into(), limit).await?.into())
    }

    async fn read(&mut self, id_or_title: String) -> Result<wit::Lookup, Fault> {
        Ok(engine(self, Access::Read)?.page(&id_or_title).await?.into())
    }

    async fn neighbours(&mut self, id: String) -> Result<Vec<wit::Neighbour>, Fault> {
        Ok(into(engine(self, Access::Read)?.neighbours(&id).await?))
    }

    async fn upsert(&mut self, drafts: Vec<wit::Draft>) -> Result<wit::IndexReport, Fault> {
        Ok(engine(self, Access::Full)?.upsert(into(drafts)).await?.into())
    }

    async fn patch(
        &mut self,
        id: String,
        changes: wit::Changes,
        wiki_dir: Option<String>,
        stamp: bool,
    ) -> Result<wit::PatchReport, Fault> {
        let wiki_dir = wiki_dir.map(Into::into);
        Ok(engine(self, Access::Full)?.patch(&id, changes.into(), wiki_dir, stamp).await?.into())
    }

    async fn index(
        &mut self,
        root: Option<String>,
        options: wit::IndexOptions,
    ) -> Result<wit::IndexReport, Fault> {
        let granted = self.capabilities.granted(Capability::Knowledge, Access::Full)?;
        let options = core::IndexOptions {
            clear_existing: options.clear_existing,
            accept_loss: options.accept_loss,
            persist_path: options.persist_path.map(Into::into),
        };
        let progress = |done, total| {
            if let Some(sink) = &granted.client.progress {
                sink.report(done, Some(total), None);
            }
        };
        let index = granted.facts.ports.knowledge.index(root.map(Into::into), options, &progress);
        Ok(index.await?.into())
    }

    async fn stats(&mut self) -> Result<wit::Statistics, Fault> {
        Ok(engine(self, Access::Read)?.stats().await?.into())
    }
}

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

impl From<core::Fit> for wit::Fit {
    fn from(fit: core::Fit) -> Self {
        match fit {
            core::Fit::Names => Self::Names,
            core::Fit::Good => Self::Good,
            core::Fit::Weak => Self::Weak,
            core::Fit::Nothing => Self::Nothing,
        }
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
            fit: hit.fit.into(),
            overview: page.overview,
            content: page.content,
            domains: page.domains,
            neighbours: into(page.neighbours),
        }
    }
}

impl From<core::UnknownDomain> for wit::UnknownDomain {
    fn from(unknown: core::UnknownDomain) -> Self {
        Self { domain: unknown.domain, nearest: unknown.nearest }
    }
}

impl From<core::SearchResult> for wit::SearchResult {
    fn from(result: core::SearchResult) -> Self {
        Self {
            hits: into(result.hits),
            unmatched_terms: result.unmatched_terms,
            unknown_domains: into(result.unknown_domains),
            note: result.note,
        }
    }
}

impl From<core::Lookup> for wit::Lookup {
    fn from(lookup: core::Lookup) -> Self {
        match lookup {
            core::Lookup::Found { page, namesakes } => {
                Self::Found(wit::FoundPage { page: (*page).into(), namesakes })
            }
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

impl From<core::UnknownEdge> for wit::UnknownEdge {
    fn from(unknown: core::UnknownEdge) -> Self {
        Self { edge: unknown.edge, links: unknown.links, page: unknown.page }
    }
}

impl From<core::TakenOver> for wit::TakenOver {
    fn from(taken: core::TakenOver) -> Self {
        Self { from: taken.from, pages: taken.pages }
    }
}

impl From<core::Written> for wit::Written {
    fn from(written: core::Written) -> Self {
        Self { page: written.page, file: written.file }
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
            unknown_edges: into(report.unknown_edges),
            taken_over: into(report.taken_over),
            written: into(report.written),
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
            unknown_edges: into(report.unknown_edges),
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
