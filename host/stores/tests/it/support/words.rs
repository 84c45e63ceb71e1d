//! A model for tests: it knows a few subjects by some of their words, and fails when it is told to.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use async_trait::async_trait;
use gatehouse_core::{
    outcome::Fault,
    ports::{
        Embedder,
        embed::{EmbedFor, Vector},
    },
};

/// What belongs together: each line is a dimension.
const SUBJECTS: [&[&str]; 4] = [
    &["dough", "bread", "loaf", "baking", "pastry"],
    &["yeast", "fermentation", "microbe", "leavening"],
    &["machine", "kneading", "appliance"],
    &["kitchen", "oven", "room"],
];

/// The model. Texts without any word it knows have no vector.
pub(crate) struct Words {
    name: &'static str,
    dimension: usize,
    failing: AtomicBool,
    asked: AtomicUsize,
}

impl Default for Words {
    fn default() -> Self {
        Self::named("test/words", 8)
    }
}

impl Words {
    pub(crate) fn named(name: &'static str, dimension: usize) -> Self {
        Self { name, dimension, failing: AtomicBool::new(false), asked: AtomicUsize::new(0) }
    }

    pub(crate) fn fail(&self, failing: bool) {
        self.failing.store(failing, Ordering::SeqCst);
    }

    /// How many texts of pages it has embedded.
    pub(crate) fn pages(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }

    fn vector(&self, text: &str) -> Vector {
        let text = text.to_lowercase();
        let mut vector = vec![0.0_f32; self.dimension];
        for (place, words) in SUBJECTS.iter().enumerate() {
            vector[place] = words.iter().map(|word| text.matches(word).count() as f32).sum();
        }
        let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
        (length > 0.0).then(|| vector.iter().map(|value| value / length).collect())
    }
}

#[async_trait]
impl Embedder for Words {
    fn model(&self) -> &str {
        self.name
    }

    async fn embed(&self, texts: &[String], purpose: EmbedFor) -> Result<Vec<Vector>, Fault> {
        if self.failing.load(Ordering::SeqCst) {
            return Err(Fault::unavailable("the model 'test/words' is away"));
        }
        if purpose == EmbedFor::Document {
            self.asked.fetch_add(texts.len(), Ordering::SeqCst);
        }
        Ok(texts.iter().map(|text| self.vector(text)).collect())
    }
}
