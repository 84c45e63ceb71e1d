//! Brings to Weaviate what it has not seen, and makes its collection anew where that is needed.
//!
//! One pass at a time in all hosts that share a graph, in the background; whoever wants its result waits for it.
//! Every step can be interrupted and done again. What a model that changed makes necessary:
//!
//! ```text
//! steady ─ another kind of vectors ─▶ copy     texts go to the stand-in; the collection still serves
//!    ▲                                 ▼
//!    │                               swap     the stand-in serves; the collection is removed and made
//!    │                                 ▼
//!    └──────────────────────────────  fill     texts and vectors go to the collection
//! ```

use std::sync::Arc;

use gatehouse_core::Fault;
use tokio::{sync::watch, time::Instant};

use super::{
    config::Timing,
    embedding::{Embedding, Space},
    neo4j::{Neo4j, Pending, Stage, State},
    vectors::Vectors,
    weaviate::{Found, MAIN, Object, STAND_IN, Weaviate},
};

/// Steps of one pass: a rebuild from its beginning takes six, and one that needs more gets nowhere.
const STEPS: usize = 12;

/// Brings pages.
pub(super) struct Bringer {
    pub(super) neo4j: Arc<Neo4j>,
    pub(super) weaviate: Arc<Weaviate>,
    pub(super) embedding: Arc<Embedding>,
    pub(super) timing: Timing,
    /// Names this host among those that share the graph.
    pub(super) holder: String,
    /// Whether the collection was found to be there, and to be whole, since this host started.
    pub(super) looked: watch::Sender<bool>,
}

/// The right to bring pages, which only one host has.
struct Claim {
    renewed: Instant,
}

/// What is left after a pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Left {
    /// Nothing.
    Nothing,
    /// Another host is at it.
    Elsewhere,
    /// Some, for this reason; to be tried again later.
    Some(String),
}

impl Bringer {
    /// One pass: everything that waits, as far as it goes.
    pub(super) async fn pass(&self) -> Result<Left, Fault> {
        if self.neo4j.state().await?.is_none() {
            return Ok(Left::Nothing);
        }
        if !self.claim().await? {
            return Ok(Left::Elsewhere);
        }
        let done = self.work(Claim { renewed: Instant::now() }).await;
        // Where this fails the claim runs out by itself.
        if let Err(fault) = self.neo4j.release(&self.holder).await {
            tracing::debug!(%fault, "the claim on bringing pages stays until it runs out");
        }
        done
    }

    async fn claim(&self) -> Result<bool, Fault> {
        self.neo4j.claim(&self.holder, self.timing.lease).await
    }

    /// Keeps the claim; false where another host has it by now.
    async fn keep(&self, claim: &mut Claim) -> Result<bool, Fault> {
        if claim.renewed.elapsed() < self.timing.lease / 3 {
            return Ok(true);
        }
        claim.renewed = Instant::now();
        self.claim().await
    }

    async fn work(&self, mut claim: Claim) -> Result<Left, Fault> {
        let space = self.embedding.space(self.neo4j.some_titles()).await?;
        for _ in 0..STEPS {
            let Some(state) = self.neo4j.state().await? else { return Ok(Left::Nothing) };
            if !self.collections(&state).await? {
                continue;
            }
            self.compare(&state).await?;
            match (&space, state.stage) {
                (Space::Of(new), Stage::Steady) if state.space.as_ref().is_some_and(|old| old != new) => {
                    tracing::info!(old = state.space, new, "vectors are made anew; search by words goes on");
                    self.weaviate.unmake(STAND_IN).await?;
                    self.weaviate.make(STAND_IN, &state.graph).await?;
                    self.neo4j.all_wait(state.space, Stage::Copy, true).await?;
                }
                (Space::Of(new), Stage::Fill) if state.space.as_ref() != Some(new) => {
                    self.neo4j.set_stage(Stage::Swap).await?;
                }
                (Space::Of(new), Stage::Steady) if state.bare || state.space.is_none() => {
                    self.neo4j.all_wait(Some(new.clone()), Stage::Steady, true).await?;
                }
                (_, Stage::Swap) => {
                    self.weaviate.unmake(MAIN).await?;
                    self.weaviate.make(MAIN, &state.graph).await?;
                    let space = if let Space::Of(new) = &space { Some(new.clone()) } else { None };
                    self.neo4j.all_wait(space, Stage::Fill, true).await?;
                }
                (_, stage) => {
                    let left = self.drain(&state, &space, &mut claim).await?;
                    let next = match stage {
                        Stage::Copy => Stage::Swap,
                        Stage::Fill => Stage::Steady,
                        _ => return Ok(left),
                    };
                    // Pages that lack their vector alone do not hold up the rebuild.
                    if left == Left::Elsewhere || !self.neo4j.advance(next).await? {
                        return Ok(left);
                    }
                    if next == Stage::Steady {
                        self.weaviate.unmake(STAND_IN).await?;
                        return Ok(left);
                    }
                }
            }
        }
        Err(self.weaviate.unsteady())
    }

    /// Makes sure that the collections of this stage are there; false where the state had to change for it.
    async fn collections(&self, state: &State) -> Result<bool, Fault> {
        let made = match self.weaviate.find(MAIN, &state.graph).await? {
            Found::Ours => {
                state.stage == Stage::Steady
                    || self.weaviate.find(STAND_IN, &state.graph).await? == Found::Ours
            }
            Found::Nothing | Found::Outdated => state.stage == Stage::Swap,
            Found::Foreign(described) => return Err(self.weaviate.foreign(&described)),
        };
        if made {
            return Ok(true);
        }
        // Written down first: if the rest fails, it is found missing again.
        self.neo4j.all_wait(None, Stage::Steady, false).await?;
        self.weaviate.unmake(MAIN).await?;
        self.weaviate.make(MAIN, &state.graph).await?;
        Ok(false)
    }

    /// Once after the start: a collection that lost objects, by an old backup for example, gets all of them again.
    async fn compare(&self, state: &State) -> Result<(), Fault> {
        if *self.looked.borrow() {
            return Ok(());
        }
        if state.stage != Stage::Steady {
            // A rebuild leaves it whole.
            self.looked.send_replace(true);
            return Ok(());
        }
        let pages = u64::from(self.neo4j.statistics("").await?.pages);
        if self.weaviate.count(MAIN).await? + u64::from(state.queued) < pages {
            tracing::warn!("Weaviate lost pages; all of them are brought again");
            self.neo4j.all_wait(state.space.clone(), Stage::Steady, false).await?;
        }
        self.looked.send_replace(true);
        Ok(())
    }

    /// Brings everything that waits.
    async fn drain(&self, state: &State, space: &Space, claim: &mut Claim) -> Result<Left, Fault> {
        let stage = state.stage;
        if matches!(space, Space::None) && stage != Stage::Copy && state.queued > 0 && !state.bare {
            self.neo4j.set_bare().await?;
        }
        // While texts are copied the vectors that are there are of the wrong kind.
        let vectors = stage != Stage::Copy && matches!(space, Space::Of(_));
        let mut left = match space {
            Space::Unknown(fault) if stage != Stage::Copy => Left::Some(fault.message.clone()),
            _ => Left::Nothing,
        };
        let mut model_answers = true;
        let mut after = String::new();
        loop {
            if !self.keep(claim).await? {
                return Ok(Left::Elsewhere);
            }
            let pending = self.neo4j.pending(&after, vectors && model_answers).await?;
            let Some(last) = pending.last() else { return Ok(left) };
            after = last.key.clone();
            let batch = (pending, vectors && model_answers);
            let Some(brought) = self.batch(stage, space, batch, claim).await? else {
                return Ok(Left::Elsewhere);
            };
            model_answers = brought.model_answers;
            if let Some(why) = brought.why {
                left = Left::Some(why);
            }
        }
    }

    async fn batch(
        &self,
        stage: Stage,
        space: &Space,
        (pending, vectors): (Vec<Pending>, bool),
        claim: &mut Claim,
    ) -> Result<Option<Brought>, Fault> {
        let (mut pages, mut done) = (Vec::new(), Vec::new());
        let stand_in = stage == Stage::Copy || stage == Stage::Fill;
        for one in pending {
            match one.page {
                Some(page) => pages.push((one.key, page)),
                None => {
                    self.weaviate.forget(MAIN, &one.key).await?;
                    if stand_in {
                        self.weaviate.forget(STAND_IN, &one.key).await?;
                    }
                    done.push((one.key, None));
                }
            }
        }
        let of = match space {
            Space::Of(kind) if vectors => Vectors::of(&self.neo4j, &self.embedding, kind, &pages).await?,
            _ => Vectors::none(pages.len()),
        };
        if let Some(fault) = &of.why {
            tracing::warn!(%fault, "pages are brought without vectors for now");
        }
        let mut brought = Brought { model_answers: of.answers, why: of.why.map(|fault| fault.message) };
        // Models may take their time, and the claim may have gone to another host meanwhile.
        if !self.keep(claim).await? {
            return Ok(None);
        }
        let (pages, objects) = cut(pages).await?;
        let again = if stand_in { Some(objects.clone()) } else { None };
        let vectors = of.of.iter().map(|vector| vector.as_ref().and_then(|vector| vector.as_deref()));
        let with_vectors = objects.into_iter().zip(vectors);
        let mut refused = self.weaviate.bring(MAIN, with_vectors.collect()).await?;
        if let Some(objects) = again {
            let bare = objects.into_iter().map(|object| (object, None)).collect();
            refused.extend(self.weaviate.bring(STAND_IN, bare).await?);
        }
        if let Some((key, why)) = refused.first() {
            tracing::warn!(page = key, why, pages = refused.len(), "Weaviate refused pages");
            brought.why = Some(format!("Weaviate refused page '{key}': {why}"));
        }
        // Without a model there is no vector to wait for; with one that does not answer there is.
        let wanted = stage != Stage::Copy && !matches!(space, Space::None);
        let mut text_only = Vec::new();
        for ((key, hash), vector) in pages.into_iter().zip(of.of) {
            if refused.iter().any(|(other, _)| *other == key) {
                continue;
            }
            let list = if wanted && vector.is_none() { &mut text_only } else { &mut done };
            list.push((key, Some(hash)));
        }
        self.neo4j.brought(done, text_only).await?;
        Ok(Some(brought))
    }
}

/// How a batch went.
struct Brought {
    /// Whether vectors can be had of the next one.
    model_answers: bool,
    /// Why something stays behind.
    why: Option<String>,
}

/// The objects of pages, made where it may block; beside them keys and hashes.
async fn cut(
    pages: Vec<(String, crate::wiki::record::Record)>,
) -> Result<(Vec<(String, String)>, Vec<Object>), Fault> {
    let work = move || -> Result<_, String> {
        let objects =
            pages.iter().map(|(key, page)| Object::of(key, page)).collect::<Result<Vec<_>, String>>()?;
        Ok((pages.into_iter().map(|(key, page)| (key, page.hash)).collect(), objects))
    };
    tokio::task::spawn_blocking(work)
        .await
        .unwrap_or_else(|_| Err("the work ended without an answer".to_owned()))
        .map_err(|why| Fault::internal(format!("pages cannot be cut into words: {why}")))
}
