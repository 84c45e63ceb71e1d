//! The embedding model `local/ghse-256.2`: a weighted sum of one vector per token, without network or inference. It
//! supports English and other text in Latin script. Text that is mostly in another script has no vector.
//!
//! The table (model2vec format, `assets/ghse-256.2`) is part of the binary and is read in place, so only the pages it
//! touches use memory.

mod vector_table;
mod vocabulary;
mod words;

use std::sync::LazyLock;

use async_trait::async_trait;
use gatehouse_core::{
    Fault,
    ports::embed::{Embedder, EmbeddingPurpose, EmbeddingVector},
    search::script,
};
use vector_table::VectorTable;
use vocabulary::WordPieceVocabulary;

pub const DIMENSION: usize = 256;

/// Maximum bytes read of a text: about ten pages. Sums of more tokens no longer distinguish texts.
pub(crate) const MAX_BYTES: usize = 32 << 10;

/// Bytes of text to embed inline, about one millisecond of work. A larger amount runs on a blocking thread.
const MAX_INLINE_BYTES: usize = 48 << 10;

static TABLE: &[u8] = include_bytes!("../assets/ghse-256.2/model.safetensors");
static WORDS: &str = include_str!("../assets/ghse-256.2/vocab.txt");

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
    /// Returns a vector of [`DIMENSION`] numbers, `None` if less than half of the text (in bytes) is in Latin script.
    /// Takes microseconds (the first call milliseconds), and at most a few milliseconds for a hostile text. Reads only
    /// the first [`MAX_BYTES`].
    pub fn vector(&self, text: &str) -> EmbeddingVector {
        sum_tokens(text).vector()
    }

    /// Returns the vector of a question as [`Self::vector`] does, but `None` in a language that the table does not know:
    /// if less than half of the letters are in known words, the others in fragments. Of 6,569 English questions, 4 have
    /// none; of 40 German ones, 33.
    pub fn question_vector(&self, text: &str) -> EmbeddingVector {
        let sum = sum_tokens(text);
        if 2 * sum.letters_in_words >= sum.letters { sum.vector() } else { None }
    }
}

struct TokenSum {
    sum: [f32; DIMENSION],
    /// Bytes of words with known tokens, and of words in other scripts.
    known: usize,
    foreign: usize,
    letters: usize,
    /// Letters in tokens that are words or long parts of words.
    letters_in_words: usize,
}

/// Minimum length of a part of a word that carries meaning.
const MIN_PART_CHARS: usize = 5;

fn sum_tokens(text: &str) -> TokenSum {
    let model = &*MODEL;
    let mut sum = TokenSum { sum: [0.0; DIMENSION], known: 0, foreign: 0, letters: 0, letters_in_words: 0 };
    let text = &text[..text.floor_char_boundary(MAX_BYTES)];
    words::for_each_word(text, |word| {
        let pieces = model.vocabulary.pieces(word);
        let tokens = pieces.as_slice();
        if tokens.is_empty() {
            sum.foreign += if script::has_other(word) { word.len() } else { 0 };
        } else {
            sum.known += word.len();
        }
        tokens.iter().for_each(|&token| model.table.add(token, &mut sum.sum));
        if word.chars().all(char::is_alphabetic) {
            let letters = |token: &u16| model.vocabulary.piece(*token).chars().count();
            sum.letters += word.chars().count();
            sum.letters_in_words += match tokens {
                [token] => letters(token),
                tokens => tokens.iter().map(letters).filter(|letters| *letters >= MIN_PART_CHARS).sum(),
            };
        }
    });
    sum
}

impl TokenSum {
    fn vector(&self) -> EmbeddingVector {
        let length = self.sum.iter().map(|x| x * x).sum::<f32>().sqrt();
        // A few Latin names in a Chinese text do not say what it is about.
        (length > 0.0 && self.known > self.foreign).then(|| self.sum.iter().map(|x| x / length).collect())
    }
}

#[async_trait]
impl Embedder for LocalEmbedder {
    fn model(&self) -> &str {
        "local/ghse-256.2"
    }

    /// The second edition is the first one trained further. The median cosine of a token's two vectors is .9995.
    fn earlier_edition(&self) -> Option<&str> {
        Some("local/ghse-256")
    }

    /// Embeds many texts off the runtime in batches, so that dropping the future stops the work after the current
    /// batch.
    async fn embed(
        &self,
        texts: &[String],
        purpose: EmbeddingPurpose,
    ) -> Result<Vec<EmbeddingVector>, Fault> {
        let vector = match purpose {
            EmbeddingPurpose::Query => Self::question_vector,
            EmbeddingPurpose::Document => Self::vector,
        };
        let mut vectors = Vec::with_capacity(texts.len());
        let mut rest = texts;
        while !rest.is_empty() {
            let (batch, after) = rest.split_at(batch(rest));
            rest = after;
            let bytes: usize = batch.iter().map(|text| read(text)).sum();
            if rest.is_empty() && bytes <= MAX_INLINE_BYTES {
                vectors.extend(batch.iter().map(|text| vector(self, text)));
                break;
            }
            let batch: Vec<String> =
                batch.iter().map(|text| text[..text.floor_char_boundary(MAX_BYTES)].to_owned()).collect();
            let work = move || batch.iter().map(|text| vector(&LocalEmbedder, text)).collect::<Vec<_>>();
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

/// Returns the cost of a text: the bytes read, plus a fixed cost per call.
fn read(text: &str) -> usize {
    text.len().min(MAX_BYTES) + 64
}

#[cfg(test)]
mod tests;
