//! Brings to Weaviate what it has not seen, and makes its collections anew where that is needed.
//!
//! One pass at a time in all hosts that share a graph, in the background; whoever wants its result waits for it.
//! Every step can be interrupted and done again. Texts and vectors have a collection each: where the model changes,
//! only the vectors are made anew, and search by words goes on meanwhile.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use gatehouse_core::{Fault, lock};
use tokio::{sync::watch, time::Instant};

use super::{
    config::RemoteTimeouts,
    neo4j::{Neo4jClient, PendingPage, State},
    space,
    weaviate::{Collection, CollectionState, MAIN, PageObject, VECTORS, WeaviateClient},
};
use crate::{
    embedding::VectorModel,
    worker::{PassOutcome, WorkerJob},
};

/// How often collections are made anew within one pass: a pass that needs more gets nowhere.
const MAX_REPAIRS: usize = 6;

/// What is brought, and where.
pub(super) struct Outbox {
    neo4j: Arc<Neo4jClient>,
    weaviate: Arc<WeaviateClient>,
    timing: RemoteTimeouts,
    /// Names this host among those that share the graph.
    holder: String,
    /// Whether the collections were found to be there, and to be whole, since this host started.
    pub(super) looked: watch::Sender<bool>,
    /// The model whose vectors this host searches by.
    wanted: Mutex<Option<VectorModel>>,
}

/// The right to bring pages, which only one host has.
struct Lease {
    renewed: Instant,
}

#[async_trait]
impl WorkerJob for Outbox {
    const KEEPS_PAUSE: bool = false;

    fn pauses(&self) -> (Duration, Duration) {
        (self.timing.first_pause, self.timing.longest_pause)
    }

    /// One pass: everything that waits, as far as it goes.
    async fn pass(&self) -> Result<PassOutcome, Fault> {
        let done = self.pass_with_lease().await;
        if let Err(fault) = &done {
            tracing::warn!(%fault, "pages wait for Weaviate");
        }
        done
    }
}

impl Outbox {
    pub(super) fn new(
        neo4j: Arc<Neo4jClient>,
        weaviate: Arc<WeaviateClient>,
        timing: RemoteTimeouts,
        holder: String,
    ) -> Self {
        let (looked, wanted) = (watch::Sender::new(false), Mutex::default());
        Self { neo4j, weaviate, timing, holder, looked, wanted }
    }

    /// Has Weaviate keep the vectors of this model from the next pass on.
    pub(super) fn set_model(&self, model: &VectorModel) {
        if model.dimension.is_some() {
            *lock(&self.wanted) = Some(model.clone());
        }
    }

    async fn pass_with_lease(&self) -> Result<PassOutcome, Fault> {
        if self.neo4j.state().await?.is_none() {
            return Ok(PassOutcome::Complete);
        }
        if !self.take_lease().await? {
            return Ok(PassOutcome::OtherHost);
        }
        let done = self.deliver(Lease { renewed: Instant::now() }).await;
        // Where this fails the lease runs out by itself.
        if let Err(fault) = self.neo4j.release(&self.holder).await {
            tracing::debug!(%fault, "the lease on bringing pages stays until it runs out");
        }
        done
    }

    async fn take_lease(&self) -> Result<bool, Fault> {
        self.neo4j.lease(&self.holder, self.timing.lease).await
    }

    /// Keeps the lease; false where another host has it by now.
    async fn renew_lease(&self, lease: &mut Lease) -> Result<bool, Fault> {
        if lease.renewed.elapsed() < self.timing.lease / 3 {
            return Ok(true);
        }
        lease.renewed = Instant::now();
        self.take_lease().await
    }

    async fn deliver(&self, mut lease: Lease) -> Result<PassOutcome, Fault> {
        let wanted = lock(&self.wanted).clone();
        for _ in 0..MAX_REPAIRS {
            let Some(state) = self.neo4j.state().await? else { return Ok(PassOutcome::Complete) };
            if self.ensure_collections(&state, wanted.as_ref()).await? {
                continue;
            }
            self.compare(&state, wanted.as_ref()).await?;
            return self.drain(wanted.as_ref(), &mut lease).await;
        }
        Err(self.weaviate.unstable_collections())
    }

    /// Makes sure that the collections are there; true where one had to be made anew.
    async fn ensure_collections(&self, state: &State, wanted: Option<&VectorModel>) -> Result<bool, Fault> {
        if !self.collection_exists(MAIN, state).await? {
            // Written down first: if the rest fails, it is found missing again.
            self.neo4j.requeue_all_texts().await?;
            self.recreate_collection(MAIN, state).await?;
            self.weaviate.delete_collection(Collection::VERSION_1_TEMPORARY).await?;
            return Ok(true);
        }
        let Some(model) = wanted else { return Ok(false) };
        let there = self.collection_exists(VECTORS, state).await?;
        if there && state.space == space(model) {
            return Ok(false);
        }
        if there && state.space.is_some() {
            tracing::info!(
                old = state.space,
                new = model.name,
                "vectors are made anew; search by words goes on"
            );
        }
        self.neo4j.set_space(None).await?;
        self.recreate_collection(VECTORS, state).await?;
        self.neo4j.requeue_all_vectors(model).await?;
        self.neo4j.set_space(space(model)).await?;
        Ok(true)
    }

    async fn collection_exists(&self, collection: Collection, state: &State) -> Result<bool, Fault> {
        match self.weaviate.find(collection, &state.graph).await? {
            CollectionState::Ours => Ok(true),
            CollectionState::Missing | CollectionState::Outdated => Ok(false),
            CollectionState::Foreign(described) => {
                Err(self.weaviate.foreign_collection(collection, &described))
            }
        }
    }

    async fn recreate_collection(&self, collection: Collection, state: &State) -> Result<(), Fault> {
        self.weaviate.delete_collection(collection).await?;
        self.weaviate.create_collection(collection, &state.graph).await
    }

    /// Once after the start: collections that lost objects, by an old backup for example, get all of them again.
    async fn compare(&self, state: &State, wanted: Option<&VectorModel>) -> Result<(), Fault> {
        if *self.looked.borrow() {
            return Ok(());
        }
        let queued = u64::from(state.queued);
        if self.weaviate.count(MAIN).await? + queued < u64::from(state.pages) {
            tracing::warn!("Weaviate lost pages; all of them are brought again");
            self.neo4j.requeue_all_texts().await?;
        }
        if let Some(model) = wanted
            && self.weaviate.count(VECTORS).await? + queued
                < u64::from(self.neo4j.count_vectors(model).await?)
        {
            tracing::warn!("Weaviate lost vectors; all of them are brought again");
            self.neo4j.requeue_all_vectors(model).await?;
        }
        self.looked.send_replace(true);
        Ok(())
    }

    /// Brings everything that waits.
    async fn drain(&self, wanted: Option<&VectorModel>, lease: &mut Lease) -> Result<PassOutcome, Fault> {
        let (mut left, mut after) = (PassOutcome::Complete, String::new());
        loop {
            if !self.renew_lease(lease).await? {
                return Ok(PassOutcome::OtherHost);
            }
            let pending = self.neo4j.pending(&after, wanted).await?;
            let Some(last) = pending.last() else { return Ok(left) };
            after = last.key.clone();
            if let Some(why) = self.batch(pending, wanted).await? {
                left = PassOutcome::Incomplete(why);
            }
        }
    }

    /// Brings some; gives the reason why one of them stays behind.
    async fn batch(
        &self,
        pending: Vec<PendingPage>,
        wanted: Option<&VectorModel>,
    ) -> Result<Option<String>, Fault> {
        let mut done = Vec::new();
        let (texts, vectors) = objects(&pending).await?;
        let mut refused = self.weaviate.put_objects(MAIN, texts).await?;
        if wanted.is_some() {
            refused.extend(self.weaviate.put_objects(VECTORS, vectors).await?);
        }
        for PendingPage { key, turn, page, .. } in pending {
            if page.is_none() {
                self.weaviate.forget(MAIN, &key).await?;
                self.weaviate.forget(VECTORS, &key).await?;
            }
            if !refused.iter().any(|(other, _)| *other == key) {
                done.push((key, turn));
            }
        }
        self.neo4j.mark_delivered(done).await?;
        let Some((key, why)) = refused.first() else { return Ok(None) };
        tracing::warn!(page = key, why, pages = refused.len(), "Weaviate refused pages");
        Ok(Some(format!("Weaviate refused page '{key}': {why}")))
    }
}

/// The objects of pages: those with their texts, and those with their vectors. Made where it may block.
async fn objects(pending: &[PendingPage]) -> Result<(Vec<PageObject>, Vec<PageObject>), Fault> {
    let vectors = pending
        .iter()
        .filter_map(|one| Some(PageObject::with_vector(&one.key, one.page.as_ref()?, one.vector.clone()?)));
    let vectors = vectors.collect();
    let pages: Vec<_> = pending
        .iter()
        .filter(|one| !one.text_is_there)
        .filter_map(|one| Some((one.key.clone(), one.page.clone()?)))
        .collect();
    let work =
        move || pages.iter().map(|(key, page)| PageObject::with_texts(key, page)).collect::<Result<_, _>>();
    let texts = tokio::task::spawn_blocking(work).await;
    let texts =
        texts.map_err(|_| Fault::internal("cutting pages into words ended without an answer"))?.map_err(
            |error: rusqlite::Error| Fault::internal(format!("pages cannot be cut into words: {error}")),
        )?;
    Ok((texts, vectors))
}
