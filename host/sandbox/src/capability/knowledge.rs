//! `knowledge`: the knowledge graph. Granted as `knowledge`, or `knowledge:read` without what writes.

use std::sync::Arc;

use gatehouse_core::{
    call::ProgressSink,
    capability::{Access, Capability, Grants},
    outcome,
    ports::{self, knowledge as port},
};

use super::CallFacts;
use crate::{
    abi::v0_1::gatehouse::gate::{
        knowledge::{
            Changes, Draft, Filters, Host, IndexOptions, IndexReport, Lookup, Neighbour, PatchReport,
            SearchResult, Statistics,
        },
        types::Fault,
    },
    state::State,
};

/// The most hits one search may ask for.
const MAX_HITS: u32 = 100;

pub(crate) struct Knowledge {
    gate: Arc<str>,
    grants: Arc<Grants>,
    /// None while a gate describes itself.
    port: Option<Arc<dyn ports::Knowledge>>,
    progress: Option<Arc<dyn ProgressSink>>,
}

impl Knowledge {
    pub(super) fn new(facts: &CallFacts) -> Self {
        Self {
            gate: Arc::clone(&facts.gate),
            grants: Arc::clone(&facts.grants),
            port: facts.call.as_ref().map(|_| Arc::clone(&facts.ports.knowledge)),
            progress: facts.call.as_ref().and_then(|client| client.progress.clone()),
        }
    }

    /// The one way to the engine: through the grant.
    fn granted(&self, access: Access) -> Result<Arc<dyn ports::Knowledge>, outcome::Fault> {
        self.grants.require(&self.gate, Capability::Knowledge, access)?;
        let describing = || outcome::Fault::denied("A gate that describes itself has no access to engines.");
        self.port.clone().ok_or_else(describing)
    }
}

impl Host for State {
    async fn search(&mut self, query: String, filters: Filters, limit: u32) -> Result<SearchResult, Fault> {
        let engine = self.capabilities.knowledge.granted(Access::Read)?;
        let filters = port::Filters::from(filters);
        Ok(engine.search(&query, &filters, limit.clamp(1, MAX_HITS) as usize).await?.into())
    }

    async fn read(&mut self, id_or_title: String) -> Result<Lookup, Fault> {
        let engine = self.capabilities.knowledge.granted(Access::Read)?;
        Ok(engine.page(&id_or_title).await?.into())
    }

    async fn neighbours(&mut self, id: String) -> Result<Vec<Neighbour>, Fault> {
        let engine = self.capabilities.knowledge.granted(Access::Read)?;
        Ok(engine.neighbours(&id).await?.into_iter().map(Into::into).collect())
    }

    async fn upsert(&mut self, drafts: Vec<Draft>) -> Result<IndexReport, Fault> {
        let engine = self.capabilities.knowledge.granted(Access::Full)?;
        Ok(engine.upsert(drafts.into_iter().map(Into::into).collect()).await?.into())
    }

    async fn patch(
        &mut self,
        id: String,
        changes: Changes,
        wiki_dir: Option<String>,
        stamp: bool,
    ) -> Result<PatchReport, Fault> {
        let engine = self.capabilities.knowledge.granted(Access::Full)?;
        Ok(engine.patch(&id, changes.into(), wiki_dir.map(Into::into), stamp).await?.into())
    }

    async fn index(&mut self, root: Option<String>, options: IndexOptions) -> Result<IndexReport, Fault> {
        let engine = self.capabilities.knowledge.granted(Access::Full)?;
        let options = port::IndexOptions {
            clear_existing: options.clear_existing,
            accept_loss: false,
            persist_path: options.persist_path.map(Into::into),
        };
        let sink = self.capabilities.knowledge.progress.clone();
        let progress = move |done, total| {
            if let Some(sink) = &sink {
                sink.report(done, Some(total), None);
            }
        };
        Ok(engine.index(root.map(Into::into), options, &progress).await?.into())
    }

    async fn stats(&mut self) -> Result<Statistics, Fault> {
        let engine = self.capabilities.knowledge.granted(Access::Read)?;
        Ok(engine.stats().await?.into())
    }
}
