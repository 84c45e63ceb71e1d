//! The tables of artifacts. No method returns expired artifacts. Faults are `unavailable` and name the engine and its
//! address.

use std::{collections::HashMap, sync::Arc};

use gatehouse_core::{
    outcome::{Fault, FaultKind},
    ports::artifacts::Artifact,
    search::{NameMatch, ScoredCandidate},
};

use super::{
    ArtifactLimits,
    engine::{
        ARTIFACTS, ArtifactCandidate, ArtifactCandidates, ArtifactQuestion, NearestItem, NewArtifact,
        item_number,
    },
    read::{self, LIVE},
    words, write,
};
use crate::{
    engine::StoreHealth,
    engine::{VectorModel, VectorStore},
    sql::{Database, Result, Session, StoreError, Turn, values, vectors::Vectors},
};

/// Name of the turns: writes that store texts share it, and a write that deletes texts runs alone.
pub(super) const TEXTS: &str = "artifact texts";

pub(crate) struct ArtifactTables {
    pub(super) db: Database,
    vectors: Arc<Vectors>,
}

impl ArtifactTables {
    pub(super) fn new(db: Database) -> Self {
        Self { vectors: Arc::new(Vectors::new(&db, ARTIFACTS)), db }
    }

    /// Stores a text once for all owners. If the owner already has it, [renews](super::row::ArtifactRow::renew) the row.
    /// If the cap would be exceeded, deletes expired artifacts, and then artifacts of the owner that holds the most,
    /// unless that is this one.
    ///
    /// # Errors
    /// `exhausted` if the text still does not fit, if the owner's limit is reached, or the disk is full.
    pub(super) async fn put(&self, new: NewArtifact, limits: &ArtifactLimits) -> Result<Artifact, Fault> {
        let (new, limits) = (Arc::new(new), limits.clone());
        // A limit of the owner counts its artifacts, so they are stored one at a time.
        let owner = new.owner_limit.map(|_| Turn::Key("artifacts of an owner", &new.scope.owner));
        let mut alone = self.db.has_one_writer();
        loop {
            let texts = if alone { Turn::Alone(TEXTS) } else { Turn::Shared(TEXTS) };
            let turns: Vec<_> = [Some(texts), owner].into_iter().flatten().collect();
            let (new, limits) = (Arc::clone(&new), limits.clone());
            let work = async move |db: Session<'_>| write::put(db, &new, &limits, alone).await;
            match self.db.try_write(&turns, work).await? {
                Err(StoreError::NotAlone) if !alone => alone = true,
                Err(error) if error.is_full() => {
                    return Err(Fault { kind: FaultKind::Exhausted, ..self.db.fault(error) });
                }
                result => return result.map_err(|error| self.db.fault(error))?.known(),
            }
        }
    }

    /// Returns the best artifacts by words and by vector, each scored in both ways.
    pub(super) async fn candidates(&self, question: ArtifactQuestion) -> Result<ArtifactCandidates, Fault> {
        let vectors = Arc::clone(&self.vectors);
        self.db.read(async move |db: Session<'_>| candidates(db, &vectors, &question).await).await
    }

    /// Returns the text to embed for each item key. `None` if the artifact is gone.
    pub(crate) async fn texts_to_embed(&self, keys: &[String]) -> Result<Vec<Option<String>>, Fault> {
        let keys = keys.to_vec();
        self.db.read(async move |db: Session<'_>| read::texts_to_embed(db, &keys).await).await
    }

    /// Returns the unique id of this store, which is created with it.
    pub(crate) async fn identity(&self) -> Result<String, Fault> {
        self.db.read(async |db: Session<'_>| db.value("SELECT name FROM artifact_store", &[]).await).await
    }

    pub(crate) fn vectors(&self) -> Arc<dyn VectorStore> {
        self.vectors.store()
    }

    pub(crate) async fn health(&self, model: Option<&VectorModel>) -> Result<StoreHealth, Fault> {
        let count = async |db: Session<'_>, health: &mut StoreHealth| {
            let count = "SELECT count(*) FROM artifact";
            health.items = db.first(count, &[], |row| row.count(0)).await?.unwrap_or(0);
            health.without_vector = health.items;
            health.bytes = read::bytes(db).await?;
            Ok(())
        };
        self.vectors.health(model, count).await
    }
}

async fn candidates(
    db: Session<'_>,
    vectors: &Vectors,
    question: &ArtifactQuestion,
) -> Result<ArtifactCandidates> {
    let scores = words::best_artifacts(db, vectors, question).await?;
    let near: HashMap<i64, &NearestItem> =
        question.near.iter().map(|item| (item_number(&item.key), item)).collect();
    let numbers: Vec<i64> = scores.numbers.into_iter().collect();
    let condition = format!("{LIVE} AND a.number IN @numbers(?3) ORDER BY a.number");
    let scope = &question.scope;
    let mut candidates = Vec::new();
    for stored in read::all(db, &condition, values![scope.owner, scope.now, numbers]).await? {
        let bm25 = scores.words.get(&stored.number).copied().unwrap_or(0.0);
        let own = scores.cosines.get(&stored.number).copied();
        let cosine = own.or_else(|| near.get(&stored.number)?.cosine_if_current(&stored.row));
        let (body, artifact) = (stored.row.body(), stored.artifact());
        let scored = ScoredCandidate { key: artifact.id.clone(), name: NameMatch::No, bm25, cosine };
        candidates.push(ArtifactCandidate { scored, artifact, body });
    }
    Ok(ArtifactCandidates {
        candidates,
        without_vector: scores.without_vector,
        words_only_reason: scores.words_only_reason,
    })
}
