//! Document engine on the tables of another program: `repositories` and `repository_files`.
//!
//! Sessions are read-only. Features that need a missing column are skipped, and a note reports why.

mod by_words;
mod layout;
mod read;
mod search;
mod vectors;
mod words;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use async_trait::async_trait;
use gatehouse_core::{
    lock,
    outcome::Fault,
    ports::{
        documents::{FileHead, NewFile, Repository, RepositoryState},
        text::{TokenCounter, TokenEncoding},
    },
};

use self::{layout::ExistingLayout, read::RepositoryFacts};
use crate::{
    documents::engine::{DocumentCandidates, DocumentEngine, DocumentQuestion, FixedVectors, StoredFile},
    engine::{StoreHealth, VectorModel},
    sql::Result,
    sql::postgres::{PostgresServer, PostgresSession},
    worker::run_blocking,
};

/// Time to cache the table layout, which the other program can change.
const LAYOUT_TTL: Duration = Duration::from_secs(60);

const MAX_CACHED_REPOSITORIES: usize = 256;

pub(super) struct ExistingTables {
    server: Arc<PostgresServer>,
    tokens: Arc<dyn TokenCounter>,
    layout: Mutex<Option<(Instant, Arc<ExistingLayout>)>>,
    facts: Mutex<HashMap<String, (Instant, RepositoryFacts)>>,
}

impl ExistingTables {
    pub(super) fn new(server: Arc<PostgresServer>, tokens: Arc<dyn TokenCounter>) -> Self {
        Self { server, tokens, layout: Mutex::default(), facts: Mutex::default() }
    }

    pub(super) async fn has_only_existing(&self) -> Result<bool, Fault> {
        self.server.read_with(async |db| layout::has_only_existing(db).await).await
    }

    async fn layout(&self, db: &PostgresSession) -> Result<Arc<ExistingLayout>> {
        let cached_layout = lock(&self.layout).clone();
        if let Some((since, layout)) = cached_layout
            && since.elapsed() < LAYOUT_TTL
        {
            return Ok(layout);
        }
        let layout = Arc::new(ExistingLayout::load(db).await?);
        let now = (Instant::now(), Arc::clone(&layout));
        *lock(&self.layout) = Some(now);
        Ok(layout)
    }

    async fn facts(
        &self,
        db: &PostgresSession,
        layout: &ExistingLayout,
        repository: &str,
    ) -> Result<RepositoryFacts> {
        let cached_facts = lock(&self.facts).get(repository).cloned();
        if let Some((since, facts)) = cached_facts
            && since.elapsed() < LAYOUT_TTL
        {
            return Ok(facts);
        }
        let facts = read::repository_facts(db, layout, repository).await?;
        let mut cache = lock(&self.facts);
        if cache.len() >= MAX_CACHED_REPOSITORIES {
            cache.clear();
        }
        cache.insert(repository.to_owned(), (Instant::now(), facts.clone()));
        Ok(facts)
    }

    /// Runs `work` in a transaction. An error of a query clears the caches, because the tables can have changed; a
    /// server that is down or busy does not.
    async fn read_with<T>(
        &self,
        work: impl AsyncFnOnce(&PostgresSession, &ExistingLayout) -> Result<T>,
    ) -> Result<T, Fault> {
        let work = async |db: &_| {
            let result = match self.layout(db).await {
                Ok(layout) => work(db, &layout).await,
                Err(error) => Err(error),
            };
            if result.is_err() {
                *lock(&self.layout) = None;
                lock(&self.facts).clear();
            }
            result
        };
        self.server.read_with(work).await
    }

    fn read_only<T>(&self) -> Result<T, Fault> {
        let message = format!(
            "the tables 'repositories' and 'repository_files' at {} belong to another program and are read-only",
            self.server.address()
        );
        Err(Fault::denied(message).hint(
            "Set documents.tables = \"own\" in presets.toml to store documents in tables of gatehouse.",
        ))
    }

    async fn inspect(
        &self,
        db: &PostgresSession,
        layout: &ExistingLayout,
        model: Option<&VectorModel>,
    ) -> Result<StoreHealth> {
        let (repositories, items, without_vector) = read::counts(db, layout).await?;
        let mut health = StoreHealth {
            engine: "postgres",
            address: self.server.address().to_owned(),
            repositories,
            items,
            notes: layout.words.notes(),
            ..StoreHealth::default()
        };
        let Some(model) = model else { return Ok(health) };
        health.without_vector = without_vector;
        health.no_vectors = match &layout.vectors {
            Err(reason) => Some(reason.clone()),
            Ok(column) => {
                let stored = vectors::dimension(db, column).await?;
                stored.zip(model.dimension).and_then(|(stored, made)| vectors::mismatch(stored, made))
            }
        };
        Ok(health)
    }
}

#[async_trait]
impl DocumentEngine for ExistingTables {
    async fn repositories(&self, guides: bool) -> Result<Vec<Repository>, Fault> {
        self.read_with(async |db, layout| read::repositories(db, layout, guides, None).await).await
    }

    async fn stored_name(&self, repository: &str) -> Result<Option<String>, Fault> {
        self.read_with(async |db, _| read::stored_name(db, repository).await).await
    }

    async fn state(&self, repository: &str) -> Result<Option<RepositoryState>, Fault> {
        let work = async |db: &_, layout: &_| read::repositories(db, layout, true, Some(repository)).await;
        let stored_repository = self.read_with(work).await?.into_iter().next();
        Ok(stored_repository.map(|repository| RepositoryState { repository, ..RepositoryState::default() }))
    }

    async fn put_state(&self, _: &RepositoryState) -> Result<(), Fault> {
        self.read_only()
    }

    async fn heads(&self, repository: &str) -> Result<Vec<FileHead>, Fault> {
        self.read_with(async |db, _| read::heads(db, repository).await).await
    }

    async fn change(&self, _: &str, _: Vec<NewFile>, _: Vec<String>) -> Result<(), Fault> {
        self.read_only()
    }

    async fn remove(&self, _: &str) -> Result<bool, Fault> {
        self.read_only()
    }

    async fn file(&self, repository: &str, path: &str) -> Result<Option<StoredFile>, Fault> {
        let text = self.read_with(async |db, _| read::text(db, repository, path).await).await?;
        let Some(text) = text else { return Ok(None) };
        let (path, counter) = (path.to_owned(), Arc::clone(&self.tokens));
        run_blocking(move || {
            let tokens = u32::try_from(counter.count(&text, TokenEncoding::O200k)).unwrap_or(u32::MAX);
            Ok(Some(StoredFile { path, text, made_from: None, tokens }))
        })
        .await
    }

    async fn candidates(&self, question: &Arc<DocumentQuestion>) -> Result<DocumentCandidates, Fault> {
        let work = async |db: &_, layout: &_| {
            let facts = self.facts(db, layout, &question.repository).await?;
            search::candidates(db, layout, &facts, question).await
        };
        self.read_with(work).await
    }

    async fn chunk_texts(&self, keys: &[String]) -> Result<Vec<Option<String>>, Fault> {
        Ok(vec![None; keys.len()])
    }

    async fn fixed_vectors(&self) -> Result<Option<FixedVectors>, Fault> {
        let work = async |db: &_, layout: &ExistingLayout| {
            let Ok(column) = &layout.vectors else { return Ok(None) };
            vectors::dimension(db, column).await
        };
        let dimension = self.read_with(work).await?;
        Ok(dimension.map(|dimension| FixedVectors {
            dimension,
            likely_models: vectors::likely_models(dimension).to_vec(),
        }))
    }

    async fn health(&self, model: Option<&VectorModel>) -> Result<StoreHealth, Fault> {
        self.read_with(async |db, layout| self.inspect(db, layout, model).await).await
    }
}
