//! `local/ghse-256`: a vector for each token and their weighted sum, without a network and without a model
//! to run. It knows English and Latin script; texts of other scripts have no known token and no vector.
//!
//! The table (model2vec format, `assets/ghse-256`) is part of the binary and is read where it lies, so it
//! costs memory only for the pages that are touched. The tests check its digest; on first use its
//! structure is checked and the vocabulary is indexed.

mod vector_table;
mod vocabulary;
mod words;

use std::sync::LazyLock;

use async_trait::async_trait;
use gatehouse_core::{
    Fault,
    ports::embed::{Embedder, EmbeddingPurpose, EmbeddingVector},
};
use vector_table::VectorTable;
use vocabulary::WordPieceVocabulary;

/// Numbers in a vector.
pub const DIMENSION: usize = 256;

/// The most of a text that is read, in bytes: some ten pages, of which a sum of tokens says nothing any more.
pub(crate) const MAX_BYTES: usize = 32 << 10;

/// Work of about a millisecond, in bytes of text; more of it leaves the runtime's threads to others.
const MAX_INLINE_BYTES: usize = 48 << 10;

static TABLE: &[u8] = include_bytes!("../assets/ghse-256/model.safetensors");
static WORDS: &str = include_str!("../assets/ghse-256/vocab.txt");

struct StaticModel {
    table: VectorTable<'static>,
    vocabulary: WordPieceVocabulary<'static>,
}

/// Made once, on first use. What could fail is decided when the binary is built, and tested.
static MODEL: LazyLock<StaticModel> = LazyLock::new(|| {
    let table = VectorTable::read(TABLE).expect("the table in the binary is the one that was tested");
    let vocabulary = WordPieceVocabulary::read(WORDS, table.rows()).expect("so is the vocabulary");
    StaticModel { table, vocabulary }
});

/// The embedding model that is always there.
#[derive(Debug, Clone, Copy, Default)]
pub struct LocalEmbedder;

impl LocalEmbedder {
    /// The vector of a text, [`DIMENSION`] numbers long; none where no token of it is known. Takes
    /// microseconds (the first call some milliseconds), at worst a few milliseconds for a hostile text.
    /// Of a text longer than [`MAX_BYTES`] the beginning counts.
    pub fn vector(&self, text: &str) -> EmbeddingVector {
        let model = &*MODEL;
        let mut sum = [0.0_f32; DIMENSION];
        let text = &text[..text.floor_char_boundary(MAX_BYTES)];
        words::for_each_word(text, |word| {
            for &token in model.vocabulary.pieces(word).as_slice() {
                model.table.add(token, &mut sum);
            }
        });
        let length = sum.iter().map(|x| x * x).sum::<f32>().sqrt();
        (length > 0.0).then(|| sum.iter().map(|x| x / length).collect())
    }
}

#[async_trait]
impl Embedder for LocalEmbedder {
    fn model(&self) -> &str {
        "local/ghse-256"
    }

    /// Many texts are embedded off the runtime, a batch at a time, so that dropping the future ends the work.
    async fn embed(
        &self,
        texts: &[String],
        _purpose: EmbeddingPurpose,
    ) -> Result<Vec<EmbeddingVector>, Fault> {
        let mut vectors = Vec::with_capacity(texts.len());
        let mut rest = texts;
        while !rest.is_empty() {
            let (batch, after) = rest.split_at(batch(rest));
            rest = after;
            if rest.is_empty() && bytes(batch) <= MAX_INLINE_BYTES {
                vectors.extend(batch.iter().map(|text| self.vector(text)));
                break;
            }
            let batch: Vec<String> =
                batch.iter().map(|text| text[..text.floor_char_boundary(MAX_BYTES)].to_owned()).collect();
            let work = move || batch.iter().map(|text| LocalEmbedder.vector(text)).collect::<Vec<_>>();
            let done = tokio::task::spawn_blocking(work).await;
            vectors.extend(done.map_err(|_| Fault::internal("The local embedding model broke down."))?);
        }
        Ok(vectors)
    }
}

/// How many of the texts make a batch of some five milliseconds.
fn batch(texts: &[String]) -> usize {
    let mut size = 0;
    let fits = texts.iter().take_while(|text| {
        size += read(text);
        size <= 5 * MAX_INLINE_BYTES
    });
    fits.count().max(1)
}

fn bytes(texts: &[String]) -> usize {
    texts.iter().map(|text| read(text)).sum()
}

/// Bytes of a text that are read, and what a call costs without any.
fn read(text: &str) -> usize {
    text.len().min(MAX_BYTES) + 64
}

#[cfg(test)]
mod tests;
