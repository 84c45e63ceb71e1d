//! An embedding model for tests. Each word has a number, synonyms share one, and failures can be simulated.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use async_trait::async_trait;
use gatehouse_core::{
    Fault,
    ports::embed::{Embedder, EmbeddingPurpose, EmbeddingVector},
};

/// Synonyms. The first word of each line represents the others.
const SAME: [&[&str]; 4] = [
    &["bread", "loaf", "loaves"],
    &["rest", "pause", "wait", "waiting"],
    &["machine", "device"],
    &["yeast", "leaven"],
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Vice {
    None,
    Down,
    Silent,
    /// Returns one vector too few.
    Short,
    Nan,
    /// Rejects texts that contain `poison`.
    Picky,
}

pub(crate) struct TestEmbedder {
    model: &'static str,
    earlier: Option<&'static str>,
    dimension: AtomicUsize,
    vice: Mutex<Vice>,
    documents: AtomicUsize,
    /// True if questions are embedded despite a failure.
    questions: AtomicBool,
}

impl TestEmbedder {
    pub(crate) fn new(model: &'static str, dimension: usize) -> Arc<Self> {
        Self::edition(model, None, dimension)
    }

    /// A model whose vectors are comparable with those of an earlier edition.
    pub(crate) fn edition(model: &'static str, earlier: Option<&'static str>, dimension: usize) -> Arc<Self> {
        Arc::new(Self {
            model,
            earlier,
            dimension: AtomicUsize::new(dimension),
            vice: Mutex::new(Vice::None),
            documents: AtomicUsize::new(0),
            questions: AtomicBool::new(false),
        })
    }

    pub(crate) fn set(&self, vice: Vice) {
        *self.vice.lock().unwrap() = vice;
    }

    pub(crate) fn set_dimension(&self, dimension: usize) {
        self.dimension.store(dimension, Ordering::SeqCst);
    }

    /// Embeds questions from now on despite a failure.
    pub(crate) fn answer_questions(&self) {
        self.questions.store(true, Ordering::SeqCst);
    }

    pub(crate) fn documents(&self) -> usize {
        self.documents.load(Ordering::SeqCst)
    }

    fn vector(&self, text: &str) -> EmbeddingVector {
        let dimension = self.dimension.load(Ordering::SeqCst);
        let mut vector = vec![0.0_f32; dimension];
        for word in
            text.to_lowercase().split(|c: char| !c.is_ascii_alphabetic()).filter(|word| word.len() > 3)
        {
            let same = SAME.iter().find(|line| line.contains(&word)).map_or(word, |line| line[0]);
            let number = same.bytes().fold(7_usize, |n, byte| n.wrapping_mul(31).wrapping_add(byte.into()));
            vector[number % dimension] += 1.0;
        }
        let length = vector.iter().map(|v| v * v).sum::<f32>().sqrt();
        (length > 0.0).then(|| vector.into_iter().map(|v| v / length).collect())
    }
}

#[async_trait]
impl Embedder for TestEmbedder {
    fn model(&self) -> &str {
        self.model
    }

    fn earlier_edition(&self) -> Option<&str> {
        self.earlier
    }

    async fn embed(
        &self,
        texts: &[String],
        purpose: EmbeddingPurpose,
    ) -> Result<Vec<EmbeddingVector>, Fault> {
        let mut vice = *self.vice.lock().unwrap();
        if purpose == EmbeddingPurpose::Query && self.questions.load(Ordering::SeqCst) {
            vice = Vice::None;
        }
        let mut vectors: Vec<EmbeddingVector> = texts.iter().map(|text| self.vector(text)).collect();
        match vice {
            Vice::Down => {
                return Err(Fault::unavailable(format!("model '{}' at test.invalid is down", self.model)));
            }
            Vice::Silent => std::future::pending::<()>().await,
            Vice::Short => drop(vectors.pop()),
            Vice::Nan => vectors.iter_mut().flatten().for_each(|vector| vector[0] = f32::NAN),
            Vice::Picky if texts.iter().any(|text| text.contains("poison")) => {
                return Err(Fault::invalid("a text was refused"));
            }
            Vice::None | Vice::Picky => {}
        }
        if purpose == EmbeddingPurpose::Document {
            self.documents.fetch_add(texts.len(), Ordering::SeqCst);
        }
        Ok(vectors)
    }
}
