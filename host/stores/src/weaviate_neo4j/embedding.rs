//! The model of the house as this engine uses it: what of a page is embedded, and what kind of vectors come out.
//! Vectors of different kinds never meet.

use std::sync::{Arc, Mutex, PoisonError};

use gatehouse_core::{
    Fault,
    ports::{
        Embedder,
        embed::{EmbedFor, Vector},
    },
    search::embedded::{RECIPE, embedded_text},
};

use crate::wiki::record::Record;

/// A text that every model has something to say about: its vector tells the dimension.
const PROBE: &str = "knowledge";

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

    /// The kind of vectors that the model makes.
    pub(super) async fn space(&self) -> Space {
        let Some(model) = &self.model else { return Space::None };
        let known = *self.lock();
        if let Some(dimension) = known {
            return Space::Of(named(model.as_ref(), dimension));
        }
        match self.ask(vec![PROBE.to_owned()], EmbedFor::Document).await {
            Err(fault) => Space::Unknown(fault),
            Ok(vectors) => match vectors.into_iter().flatten().next() {
                Some(vector) => Space::Of(named(model.as_ref(), vector.len())),
                None => Space::None,
            },
        }
    }

    /// The vectors of pages, all of this kind; a fault where the model makes others by now.
    pub(super) async fn pages(&self, pages: &[&Record], space: &str) -> Result<Vec<Vector>, Fault> {
        let text = |page: &&Record| embedded_text(&page.title, &page.overview, &page.domains, &page.content);
        let vectors = self.ask(pages.iter().map(text).collect(), EmbedFor::Document).await?;
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
        let vector = self.ask(vec![text.to_owned()], EmbedFor::Query).await?.into_iter().flatten().next();
        Ok(vector.map(|vector| {
            let space = named(model.as_ref(), vector.len());
            (vector, space)
        }))
    }

    /// One vector for each text, all of one dimension, which is remembered.
    async fn ask(&self, texts: Vec<String>, purpose: EmbedFor) -> Result<Vec<Vector>, Fault> {
        let Some(model) = &self.model else { return Ok(vec![None; texts.len()]) };
        let wrong = |what: &str| Fault::unavailable(format!("embedding model '{}' {what}", model.model()));
        let vectors = model.embed(&texts, purpose).await?;
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
