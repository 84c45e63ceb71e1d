//! Delivers queued pages to Weaviate and recreates its collections if needed.
//!
//! One pass at a time runs in the background, across all hosts that share a graph; callers can wait for it. Every step
//! can be interrupted and repeated. Texts and vectors have separate collections, so a change of the model rebuilds only
//! the vectors, while search by words keeps working.

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
    weaviate::{CollectionState, MAIN, PageObject, VECTORS, WeaviateClient},
};
use crate::{
    embedding::VectorModel,
    worker::{PassOutcome, WorkerJob, run_blocking},
};

/// Maximum rebuilds of collections within one pass.
const MAX_REPAIRS: usize = 6;

pub(super) struct Outbox {
    neo4j: Arc<Neo4jClient>,
    weaviate: Arc<WeaviateClient>,
    timing: RemoteTimeouts,
    /// Name of this host in the lease.
    holder: String,
    /// True after the collections were found complete since this host started.
    pub(super) looked: watch::Sender<bool>,
    wanted: Mutex<Option<VectorModel>>,
}

#[async_trait]
impl WorkerJob for Outbox {
    const KEEPS_PAUSE: bool = false;

    fn pauses(&self) -> (Duration, Duration) {
        (self.timing.first_pause, self.timing.longest_pause)
    }

    async fn pass(&self) -> Result<PassOutcome, Fault> {
        let done = self.pass_with_lease().await;
        if let Err(fault) = &done {
            tracing::warn!(%fault, "cannot deliver pages to Weaviate");
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

    /// Selects the model whose vectors the next pass delivers.
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
        let done = self.deliver(Instant::now()).await;
        // An unreleased lease expires.
        if let Err(fault) = self.neo4j.release(&self.holder).await {
            tracing::debug!(%fault, "cannot release the delivery lease; it will expire");
        }
        done
    }

    async fn take_lease(&self) -> Result<bool, Fault> {
        self.neo4j.lease(&self.holder, self.timing.lease).await
    }

    /// Delivers all queued pages under the lease, which was `renewed` last.
    async fn deliver(&self, renewed: Instant) -> Result<PassOutcome, Fault> {
        let model = lock(&self.wanted).clone();
        for _ in 0..MAX_REPAIRS {
            let Some(state) = self.neo4j.state().await? else { return Ok(PassOutcome::Complete) };
            if self.ensure_collections(&state, model.as_ref()).await? {
                continue;
            }
            self.compare(&state, model.as_ref()).await?;
            return self.drain(model.as_ref(), renewed).await;
        }
        Err(self.weaviate.unstable_collections())
    }

    /// Ensures that the collections exist. Returns `true` if one was recreated.
    async fn ensure_collections(&self, state: &State, model: Option<&VectorModel>) -> Result<bool, Fault> {
        if !self.collection_exists(MAIN, state).await? {
            // Queue first: if the rest fails, the next pass finds the collection missing again.
            self.neo4j.requeue_all_texts().await?;
            self.recreate_collection(MAIN, state).await?;
            return Ok(true);
        }
        let Some(model) = model else { return Ok(false) };
        let exists = self.collection_exists(VECTORS, state).await?;
        if exists && state.space == space(model) {
            return Ok(false);
        }
        if exists && state.space.is_some() {
            tracing::info!(
                old = state.space,
                new = model.name,
                "the embedding model changed; rebuilding the vectors in Weaviate"
            );
        }
        self.neo4j.set_space(None).await?;
        self.recreate_collection(VECTORS, state).await?;
        self.neo4j.requeue_all_vectors(model).await?;
        self.neo4j.set_space(space(model)).await?;
        Ok(true)
    }

    async fn collection_exists(&self, collection: &str, state: &State) -> Result<bool, Fault> {
        match self.weaviate.find(collection, &state.graph).await? {
            CollectionState::Ours => Ok(true),
            CollectionState::Missing | CollectionState::Outdated => Ok(false),
            CollectionState::Foreign(described) => {
                Err(self.weaviate.foreign_collection(collection, &described))
            }
        }
    }

    async fn recreate_collection(&self, collection: &str, state: &State) -> Result<(), Fault> {
        self.weaviate.delete_collection(collection).await?;
        self.weaviate.create_collection(collection, &state.graph).await
    }

    /// Checks once per process whether Weaviate lost objects, for example after restoring an old backup, and queues all
    /// of them again.
    async fn compare(&self, state: &State, model: Option<&VectorModel>) -> Result<(), Fault> {
        if *self.looked.borrow() {
            return Ok(());
        }
        let queued = u64::from(state.queued);
        if self.weaviate.count(MAIN).await? + queued < u64::from(state.pages) {
            tracing::warn!("Weaviate lost pages; delivering all pages again");
            self.neo4j.requeue_all_texts().await?;
        }
        if let Some(model) = model
            && self.weaviate.count(VECTORS).await? + queued
                < u64::from(self.neo4j.count_vectors(model).await?)
        {
            tracing::warn!("Weaviate lost vectors; delivering all vectors again");
            self.neo4j.requeue_all_vectors(model).await?;
        }
        self.looked.send_replace(true);
        Ok(())
    }

    async fn drain(&self, model: Option<&VectorModel>, mut renewed: Instant) -> Result<PassOutcome, Fault> {
        let (mut outcome, mut after) = (PassOutcome::Complete, String::new());
        loop {
            if renewed.elapsed() >= self.timing.lease / 3 {
                renewed = Instant::now();
                if !self.take_lease().await? {
                    return Ok(PassOutcome::OtherHost);
                }
            }
            let pending = self.neo4j.pending(&after, model).await?;
            let Some(last) = pending.last() else { return Ok(outcome) };
            after = last.key.clone();
            if let Some(reason) = self.batch(pending, model).await? {
                outcome = PassOutcome::Incomplete(reason);
            }
        }
    }

    /// Delivers a batch. Returns the reason if Weaviate rejected a page.
    async fn batch(
        &self,
        pending: Vec<PendingPage>,
        model: Option<&VectorModel>,
    ) -> Result<Option<String>, Fault> {
        let mut done = Vec::new();
        let (texts, vectors) = objects(&pending).await?;
        let mut refused = self.weaviate.put_objects(MAIN, texts).await?;
        if model.is_some() {
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
        let Some((key, reason)) = refused.first() else { return Ok(None) };
        tracing::warn!(page = key, reason, pages = refused.len(), "Weaviate rejected pages");
        Ok(Some(format!("Weaviate rejected page '{key}': {reason}")))
    }
}

/// Converts pages to objects with texts and objects with vectors. Runs the tokenizer on a blocking thread.
async fn objects(pending: &[PendingPage]) -> Result<(Vec<PageObject>, Vec<PageObject>), Fault> {
    let vectors = pending.iter().filter_map(|entry| {
        Some(PageObject::with_vector(&entry.key, entry.page.as_ref()?, entry.vector.clone()?))
    });
    let vectors = vectors.collect();
    let pages: Vec<_> = pending
        .iter()
        .filter(|entry| !entry.text_is_there)
        .filter_map(|entry| Some((entry.key.clone(), entry.page.clone()?)))
        .collect();
    let texts = run_blocking(move || {
        let objects = pages.iter().map(|(key, page)| PageObject::with_texts(key, page));
        let objects: Result<_, rusqlite::Error> = objects.collect();
        objects.map_err(|error| Fault::internal(format!("cannot tokenize pages: {error}")))
    });
    Ok((texts.await?, vectors))
}
