//! Chunk vectors: from the local embedding model, or from hashed words if the model knows too few of the chunks.

use std::hash::{DefaultHasher, Hash, Hasher};

use gatehouse_core::search::for_each_term;

use crate::LocalEmbedder;

/// Length of a word vector. Words share components by their hash.
const WORD_DIMENSION: usize = 256;

/// One vector per chunk, of length 1 or 0.
pub(super) struct UnitVectors(pub(super) Vec<Vec<f32>>);

impl UnitVectors {
    /// Returns the model's vectors, `None` if it knows fewer than 90 % of the chunks. Unknown chunks get empty vectors.
    pub(super) fn from_model(chunks: &[&str]) -> Option<Self> {
        // The first chunks reveal text in an unsupported script, so skip the rest.
        let are_known =
            |chunks: &[Option<Vec<f32>>]| chunks.iter().flatten().count() * 10 >= chunks.len() * 9;
        let vectors: Vec<_> =
            chunks.iter().take(MAX_SAMPLED_CHUNKS).map(|chunk| LocalEmbedder.vector(chunk)).collect();
        if !are_known(&vectors) {
            return None;
        }
        let rest = chunks.iter().skip(MAX_SAMPLED_CHUNKS).map(|chunk| LocalEmbedder.vector(chunk));
        let vectors: Vec<_> = vectors.into_iter().chain(rest).collect();
        are_known(&vectors).then(|| Self(vectors.into_iter().map(Option::unwrap_or_default).collect()))
    }

    pub(super) fn query(query: &str) -> Option<Vec<f32>> {
        LocalEmbedder.vector(query)
    }

    pub(super) fn from_words(chunks: &[&str]) -> Self {
        let vector = |chunk: &&str| {
            let mut vector = vec![0.0_f32; WORD_DIMENSION];
            for_each_term(chunk, |word| {
                let mut hasher = DefaultHasher::new();
                word.hash(&mut hasher);
                vector[hasher.finish() as usize % WORD_DIMENSION] += 1.0;
            });
            vector.iter_mut().for_each(|n| *n = n.ln_1p());
            unit(&mut vector);
            vector
        };
        Self(chunks.iter().map(vector).collect())
    }

    pub(super) fn centroid(&self) -> Vec<f32> {
        let mut sum = vec![0.0_f32; self.0.iter().map(Vec::len).max().unwrap_or_default()];
        for vector in &self.0 {
            sum.iter_mut().zip(vector).for_each(|(sum, n)| *sum += n);
        }
        unit(&mut sum);
        sum
    }
}

const MAX_SAMPLED_CHUNKS: usize = 64;

fn unit(vector: &mut [f32]) {
    let length = dot(vector, vector).sqrt();
    if length > 0.0 {
        vector.iter_mut().for_each(|n| *n /= length);
    }
}

/// Returns the cosine of two unit vectors, 0 if one has no direction.
pub(super) fn dot(a: &[f32], b: &[f32]) -> f32 {
    // Eight independent sums, so that the compiler can vectorize.
    let (a, b) = (a.chunks_exact(8), b.chunks_exact(8));
    let mut sums = [0.0_f32; 8];
    for (a, b) in a.zip(b) {
        sums.iter_mut().zip(a.iter().zip(b)).for_each(|(sum, (a, b))| *sum += a * b);
    }
    sums.iter().sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_that_the_model_does_not_know_has_vectors_of_its_words() {
        let chunks = ["это первый абзац", "это второй абзац", "совсем другое дело"];
        assert!(UnitVectors::from_model(&chunks).is_none());
        let UnitVectors(vectors) = UnitVectors::from_words(&chunks);
        assert!((dot(&vectors[0], &vectors[0]) - 1.0).abs() < 1e-5);
        assert!(dot(&vectors[0], &vectors[1]) > dot(&vectors[0], &vectors[2]));
    }

    #[test]
    fn the_centroid_is_between_them() {
        let vectors = UnitVectors::from_model(&["A gate opens.", "A door opens."]).unwrap();
        let centroid = vectors.centroid();
        assert!(dot(&centroid, &vectors.0[0]) > dot(&vectors.0[1], &vectors.0[0]));
    }
}
