//! `knowledge`: the knowledge graph. Requires the grant `knowledge`, or `knowledge:read` for functions that do not
//! write.

use gatehouse_core::{
    capability::{AccessLevel, Capability},
    outcome,
    ports::{KnowledgeGraph, knowledge as core},
};

use super::gatehouse::gate::{knowledge as wit, types::Fault};
use crate::state::State;

const MAX_HITS: u32 = 100;

fn engine(state: &State, access: AccessLevel) -> Result<&dyn KnowledgeGraph, outcome::Fault> {
    state.capabilities.granted(Capability::Knowledge, access)?.facts.ports.knowledge.port()
}

impl wit::Host for State {
    async fn search(
        &mut self,
        query: String,
        filters: wit::Filters,
        limit: u32,
    ) -> Result<wit::SearchResult, Fault> {
        let limit = limit.clamp(1, MAX_HITS) as usize;
        Ok(engine(self, AccessLevel::Read)?.search(&query, &filters.into(), limit).await?.into())
    }

    async fn read(&mut self, id_or_title: String) -> Result<wit::Lookup, Fault> {
        Ok(engine(self, AccessLevel::Read)?.page(&id_or_title).await?.into())
    }

    async fn neighbours(&mut self, id: String) -> Result<Vec<wit::Neighbour>, Fault> {
        Ok(into(engine(self, AccessLevel::Read)?.neighbors(&id).await?))
    }

    async fn upsert(
        &mut self,
        drafts: Vec<wit::Draft>,
        mode: wit::WriteMode,
    ) -> Result<wit::IndexReport, Fault> {
        Ok(engine(self, AccessLevel::Full)?.write(into(drafts), mode.into()).await?.into())
    }

    async fn patch(
        &mut self,
        id: String,
        changes: wit::Changes,
        wiki_dir: Option<String>,
        stamp: bool,
        mode: wit::WriteMode,
    ) -> Result<wit::PatchReport, Fault> {
        let (engine, wiki_dir) = (engine(self, AccessLevel::Full)?, wiki_dir.map(Into::into));
        Ok(engine.edit(&id, changes.into(), wiki_dir, stamp, mode.into()).await?.into())
    }

    async fn index(
        &mut self,
        root: Option<String>,
        options: wit::IndexOptions,
        mode: wit::WriteMode,
    ) -> Result<wit::IndexReport, Fault> {
        let granted = self.capabilities.granted(Capability::Knowledge, AccessLevel::Full)?;
        let progress = |done, total| {
            if let Some(sink) = &granted.call.context.progress {
                sink.report(done as f64, Some(total as f64), None);
            }
        };
        let engine = granted.facts.ports.knowledge.port()?;
        Ok(engine.index_wiki(root.map(Into::into), options.into(), &progress, mode.into()).await?.into())
    }

    async fn stats(&mut self) -> Result<wit::Statistics, Fault> {
        Ok(engine(self, AccessLevel::Read)?.stats().await?.into())
    }
}

enums! {
    core::PageType => wit::PageType { Workflow, Principle, Implementation, Environment, Heuristic }
    wit::PageType => core::PageType { Workflow, Principle, Implementation, Environment, Heuristic }
    core::MatchQuality => wit::Fit { Names, Good, Weak, Nothing }
    wit::WriteMode => core::WriteMode { Apply, Preview }
}

records! {
    core::PageSource => wit::Source { kind, title, url };
    wit::Source => core::PageSource { kind, title, url };
    wit::Link => core::PageLink { edge, target };
    core::PageNeighbor => wit::Neighbour { edge, outgoing, id, title };
    core::UnresolvedLink => wit::Unresolved { page, edge, target };
    core::KnowledgePage => wit::Page { id, title, page_type, overview, content, domains, last_updated } [sources, neighbours];
    wit::Filters => core::PageFilters { domains, min_score } [page_types];
    core::UnknownDomain => wit::UnknownDomain { domain, nearest };
    core::PageSearchResult => wit::SearchResult { unmatched_terms, note } [hits, unknown_domains];
    wit::Draft => core::PageDraft { title, page_type, overview, content, domains } [sources, links];
    core::UnknownEdge => wit::UnknownEdge { edge, links, page };
    core::TakenOverPages => wit::TakenOver { from, pages };
    core::PageLocation => wit::Written { page, file };
    wit::IndexOptions => core::IndexOptions { clear_existing, accept_loss } [] (persist_path);
    core::IndexReport => wit::IndexReport { added, updated, unchanged, removed, links, skipped }
        [unresolved: unresolved_links, unknown_edges, taken_over, written];
    core::PatchReport => wit::PatchReport { id, changed, file, kept_file, last_updated }
        [unresolved: unresolved_links, unknown_edges];
}

impl From<core::PageHit> for wit::Hit {
    fn from(hit: core::PageHit) -> Self {
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

impl From<core::PageLookup> for wit::Lookup {
    fn from(lookup: core::PageLookup) -> Self {
        match lookup {
            core::PageLookup::Found { page, namesakes } => {
                Self::Found(wit::FoundPage { page: (*page).into(), namesakes })
            }
            core::PageLookup::Missing(titles) => Self::Missing(titles),
        }
    }
}

impl From<wit::Changes> for core::PageChanges {
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

impl From<core::EngineStatistics> for wit::Statistics {
    fn from(stats: core::EngineStatistics) -> Self {
        let by_type = stats.by_type.into_iter().map(|(page_type, count)| (page_type.into(), count)).collect();
        Self { engine: stats.engine, pages: stats.pages, links: stats.links, by_type }
    }
}

fn into<A, B: From<A>>(list: Vec<A>) -> Vec<B> {
    list.into_iter().map(Into::into).collect()
}
