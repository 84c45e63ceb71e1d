//! The embedding model `local/ghse-256`: a weighted sum of one vector per token, without network or inference. It
//! supports English and other text in Latin script. Text in another script has no known token and no vector.
//!
//! The table (model2vec format, `assets/ghse-256`) is part of the binary and is read in place, so only the pages it
//! touches use memory.

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

pub const DIMENSION: usize = 256;

/// Maximum bytes read of a text: about ten pages. Sums of more tokens no longer distinguish texts.
pub(crate) const MAX_BYTES: usize = 32 << 10;

/// Bytes of text to embed inline, about one millisecond of work. A larger amount runs on a blocking thread.
const MAX_INLINE_BYTES: usize = 48 << 10;

static TABLE: &[u8] = include_bytes!("../assets/ghse-256/model.safetensors");
static WORDS: &str = include_str!("../assets/ghse-256/vocab.txt");

struct StaticModel {
    table: VectorTable<'static>,
    vocabulary: WordPieceVocabulary<'static>,
}

/// Cannot fail at run time: the assets are in the binary and tested.
static MODEL: LazyLock<StaticModel> = LazyLock::new(|| {
    let table = VectorTable::read(TABLE).expect("the embedded vector table is valid");
    let vocabulary =
        WordPieceVocabulary::read(WORDS, table.rows()).expect("the embedded vocabulary is valid");
    StaticModel { table, vocabulary }
});

/// The built-in embedding model.
#[derive(Debug, Clone, Copy, Default)]
pub struct LocalEmbedder;

impl LocalEmbedder {
    /// Returns a vector of [`DIMENSION`] numbers, `None` if no token is known. Takes microseconds (the first call
    /// milliseconds), and at most a few milliseconds for a hostile text. Reads only the first [`MAX_BYTES`].
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

    /// Embeds many texts off the runtime in batches, so that dropping the future stops the work after the current
    /// batch.
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
            vectors.extend(done.map_err(|_| Fault::internal("the local embedding model failed"))?);
        }
        Ok(vectors)
    }
}

/// Returns how many of the texts form a batch of about five milliseconds.
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

/// Returns the cost of a text: the bytes read, plus a fixed cost per call.
fn read(text: &str) -> usize {
    text.len().min(MAX_BYTES) + 64
}

#[cfg(test)]
mod tests;
