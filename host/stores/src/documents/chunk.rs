//! Texts to embed and to rate, the same for every engine.

use gatehouse_core::{hash::hex, ports::documents::NewFile};
use sha2::{Digest as _, Sha256};

/// Characters of the headings, and of the beginning, that are stored to rate a document.
const MAX_ABSTRACT_CHARS: usize = 2_000;

/// Hostile headings can be longer than the text below them.
const MAX_HEADING_CHARS: usize = 300;

/// Version of the embedded text. Increase it when [`text_to_embed`] changes.
const EMBED_TEXT_VERSION: u8 = 1;

/// Returns the text to embed for a chunk: its heading path and its text.
pub(crate) fn text_to_embed(heading: &str, text: &str) -> String {
    match first_chars(heading, MAX_HEADING_CHARS) {
        "" => text.to_owned(),
        heading => format!("{heading}\n{text}"),
    }
}

/// Returns 32 hexadecimal digits that identify the embedded text.
pub(crate) fn version(heading: &str, text: &str) -> String {
    let mut hash = Sha256::new();
    hash.update([EMBED_TEXT_VERSION]);
    hash.update(first_chars(heading, MAX_HEADING_CHARS));
    hash.update([0]);
    hash.update(text);
    hex(&hash.finalize()[..16])
}

pub(crate) fn abstract_of(file: &NewFile) -> String {
    let headings = file.headings.join("\n");
    format!("{}\n{}", first_chars(&headings, MAX_ABSTRACT_CHARS), first_chars(&file.text, MAX_ABSTRACT_CHARS))
}

fn first_chars(text: &str, letters: usize) -> &str {
    text.char_indices().nth(letters).map_or(text, |(end, _)| &text[..end])
}
