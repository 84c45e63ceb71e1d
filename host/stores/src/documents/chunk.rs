//! What is embedded and shown of a document, the same on every engine.

use std::sync::Arc;

use async_trait::async_trait;
use gatehouse_core::{outcome::Fault, ports::documents::NewFile};
use sha2::{Digest as _, Sha256};

use super::engine::{CHUNKS, DocumentEngine};
use crate::embedding::{TextSource, VectorItem};

/// Letters of the headings of a document, and of its beginning, that are kept to judge it by.
const MAX_ABSTRACT_CHARS: usize = 2_000;

/// Letters of a heading that are embedded: hostile ones are longer than the text below them.
const MAX_HEADING_CHARS: usize = 300;

/// The number of the recipe: what is embedded of a chunk in another way has another version.
const EMBED_TEXT_VERSION: u8 = 1;

/// The text that stands for a chunk: the headings that lead to it, and its text.
pub(crate) fn text_to_embed(heading: &str, text: &str) -> String {
    match first_chars(heading, MAX_HEADING_CHARS) {
        "" => text.to_owned(),
        heading => format!("{heading}\n{text}"),
    }
}

/// Which text a chunk has, as a name of 32 characters: others have others.
pub(crate) fn version(heading: &str, text: &str) -> String {
    let mut hash = Sha256::new();
    hash.update([EMBED_TEXT_VERSION]);
    hash.update(first_chars(heading, MAX_HEADING_CHARS));
    hash.update([0]);
    hash.update(text);
    hash.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

/// The headings of a document and how it begins.
pub(crate) fn abstract_of(file: &NewFile) -> String {
    let headings = file.headings.join("\n");
    format!("{}\n{}", first_chars(&headings, MAX_ABSTRACT_CHARS), first_chars(&file.text, MAX_ABSTRACT_CHARS))
}

fn first_chars(text: &str, letters: usize) -> &str {
    text.char_indices().nth(letters).map_or(text, |(end, _)| &text[..end])
}

/// The texts of chunks, for those that wait for their vectors.
pub(super) struct ChunkTexts(pub(super) Arc<dyn DocumentEngine>);

#[async_trait]
impl TextSource for ChunkTexts {
    async fn texts(&self, items: &[VectorItem]) -> Result<Vec<Option<String>>, Fault> {
        let keys: Vec<String> =
            items.iter().filter(|item| item.corpus == CHUNKS).map(|item| item.key.clone()).collect();
        let mut texts = self.0.chunk_texts(&keys).await?.into_iter();
        let mut text = |item: &VectorItem| if item.corpus == CHUNKS { texts.next().flatten() } else { None };
        Ok(items.iter().map(&mut text).collect())
    }
}
