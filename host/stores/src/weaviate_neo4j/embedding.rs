//! The model of the house as this engine uses it: what of a page is embedded, and what kind of vectors come out.
//! Vectors of different kinds never meet.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use gatehouse_core::{
    Fault,
    ports::{
        Embedder,
        embed::{EmbedFor, Vector},
    },
    search::embedded::RECIPE,
};

/// A text that most models have something to say about: its vector tells the dimension.
const PROBE: &str = "knowledge";

/// How long a question may take: after that, words alone are the better answer.
const QUESTION_TIME: Duration = Duration::from_secs(3);

/// How long a batch may take. Providers have limits of their own; this one is for those that forgot.
const BATCH_TIME: Duration = Duration::from_secs(300);

/// Letters of a question that are embedded.
const QUESTION_LETTERS: usize = 2_000;

/// The model, if there is one.
pub(super) struct Embedding {
    model: Option<Arc<dyn Embedder>>,
    /// Of the vectors seen last.
    dimension: Mutex<Option<usize>>,
}

/// What kind of vectors can be had now.
#[derive(Debug)]
pub(super) enum Space {
    /// No model is configured, or it has nothing to say.
    None,
    /// It cannot be asked now.
    Unknown(Fault),
    /// Model, dimension and recipe of what is embedded.
    Of(String),
}

impl Embedding {
    pub(super) fn new(model: Option<Arc<dyn Embedder>>) -> Self {
        Self { model, dimension: Mutex::default() }
    }

    /// The model's name, if there is one.
    pub(super) fn model(&self) -> Option<&str> {
        self.model.as_deref().map(Embedder::model)
    }

    /// The kind of vectors that the model makes. Where it has nothing to say about a text of ours, `texts` are
    /// tried.
    pub(super) async fn space(
        &self,
        texts: impl Future<Output = Result<Vec<String>, Fault>>,
    ) -> Result<Space, Fault> {
        let Some(model) = &self.model else { return Ok(Space::None) };
        let of = |dimension| Space::Of(named(model.as_ref(), dimension));
        let known = *self.lock();
        if let Some(dimension) = known {
            return Ok(of(dimension));
        }
        let dimension =
            |vectors: Vec<Vector>| vectors.into_iter().flatten().next().map(|vector| vector.len());
        let first = match self.ask(vec![PROBE.to_owned()], EmbedFor::Query).await {
            Err(fault) => return Ok(Space::Unknown(fault)),
            Ok(vectors) => dimension(vectors),
        };
        if let Some(dimension) = first {
            return Ok(of(dimension));
        }
        match self.ask(texts.await?, EmbedFor::Query).await {
            Err(fault) => Ok(Space::Unknown(fault)),
            Ok(vectors) => Ok(dimension(vectors).map_or(Space::None, of)),
        }
    }

    /// The vectors of texts, all of this kind; a fault where the model makes others by now.
    pub(super) async fn texts(&self, texts: Vec<String>, space: &str) -> Result<Vec<Vector>, Fault> {
        if texts.is_empty() {
            return Ok(Vec::new());
        }
        let vectors = self.ask(texts, EmbedFor::Document).await?;
        if let (Some(vector), Some(model)) = (vectors.iter().flatten().next(), &self.model)
            && named(model.as_ref(), vector.len()) != space
        {
            let changed = format!("embedding model '{}' changed the dimension of its vectors", model.model());
            return Err(Fault::unavailable(changed));
        }
        Ok(vectors)
    }

    /// The vector of a question, with its kind; none where there is no model or it has nothing to say.
    pub(super) async fn question(&self, text: &str) -> Result<Option<(Vec<f32>, String)>, Fault> {
        let Some(model) = &self.model else { return Ok(None) };
        let text: String = text.chars().take(QUESTION_LETTERS).collect();
        let vector = self.ask(vec![text], EmbedFor::Query).await?.into_iter().flatten().next();
        Ok(vector.map(|vector| {
            let space = named(model.as_ref(), vector.len());
            (vector, space)
        }))
    }

    /// One vector for each text, all of one dimension, which is remembered.
    async fn ask(&self, texts: Vec<String>, purpose: EmbedFor) -> Result<Vec<Vector>, Fault> {
        let Some(model) = &self.model else { return Ok(vec![None; texts.len()]) };
        let wrong = |what: &str| Fault::unavailable(format!("embedding model '{}' {what}", model.model()));
        let limit = if purpose == EmbedFor::Query { QUESTION_TIME } else { BATCH_TIME };
        let Ok(vectors) = tokio::time::timeout(limit, model.embed(&texts, purpose)).await else {
            return Err(wrong(&format!("did not answer within {} s", limit.as_secs())));
        };
        let vectors = vectors?;
        if vectors.len() != texts.len() {
            return Err(wrong("did not make one vector for each text"));
        }
        let mut dimensions = vectors.iter().flatten().map(Vec::len);
        if let Some(first) = dimensions.next() {
            if first == 0 || dimensions.any(|other| other != first) {
                return Err(wrong("made vectors of several dimensions"));
            }
            *self.lock() = Some(first);
        }
        if vectors.iter().flatten().flatten().any(|x| !x.is_finite()) {
            return Err(wrong("made a vector of what are no numbers"));
        }
        Ok(vectors)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<usize>> {
        self.dimension.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn named(model: &dyn Embedder, dimension: usize) -> String {
    format!("{} {dimension} {RECIPE}", model.model())
}
