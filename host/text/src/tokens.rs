//! Token counts with the vocabularies of OpenAI's models. For models with other tokenizers (Claude, Gemini) they are
//! only estimates, so label them as such.
//!
//! A text is first split into pieces (a word, up to three digits, a run of punctuation, whitespace). Each piece is
//! encoded separately.

mod encode;
mod pieces;
mod vocabulary;

use std::{cell::RefCell, sync::LazyLock};

use gatehouse_core::ports::{TokenCounter, text};

use self::{encode::BpeEncoder, pieces::PieceSplitter, vocabulary::BpeVocabulary};

/// Counts tokens. Unpacking a vocabulary on first use takes about 50 ms and 12 MB.
#[derive(Debug, Clone, Copy, Default)]
pub struct BpeTokenCounter;

struct BpeEncoding {
    /// Distinguishes the encodings in the [`TokenCountCache`].
    number: u8,
    pieces: PieceSplitter,
    vocabulary: BpeVocabulary,
}

const VOCABULARY_INTACT: &str = "the embedded vocabulary is valid";

static O200K: LazyLock<BpeEncoding> = LazyLock::new(|| BpeEncoding {
    number: 0,
    pieces: PieceSplitter::o200k(),
    vocabulary: BpeVocabulary::unpack(include_bytes!("../assets/openai/o200k_base.merges.zlib"))
        .expect(VOCABULARY_INTACT),
});

static CL100K: LazyLock<BpeEncoding> = LazyLock::new(|| BpeEncoding {
    number: 1,
    pieces: PieceSplitter::cl100k(),
    vocabulary: BpeVocabulary::unpack(include_bytes!("../assets/openai/cl100k_base.merges.zlib"))
        .expect(VOCABULARY_INTACT),
});

impl BpeEncoding {
    fn for_encoding(encoding: text::TokenEncoding) -> &'static Self {
        match encoding {
            text::TokenEncoding::O200k => &O200K,
            text::TokenEncoding::Cl100k => &CL100K,
        }
    }

    /// Returns the token count, `None` if it exceeds `limit`.
    fn count(&self, text: &str, limit: usize) -> Option<usize> {
        let mut encoder = BpeEncoder::default();
        TokenCountCache::with_thread_local(|memo| {
            self.pieces.split(text).try_fold(0, |tokens, piece| {
                let encoded = memo.count(self.number, piece, limit - tokens, |piece, limit| {
                    Some(encoder.encode(&self.vocabulary, piece, limit)?.len())
                });
                Some(tokens + encoded?)
            })
        })
    }

    /// Returns the byte length of the first `limit` tokens. If the last of these ends inside a character, it is left
    /// out.
    fn end(&self, text: &str, limit: usize) -> usize {
        let mut encoder = BpeEncoder::default();
        let (mut at, mut end, mut left) = (0, 0, limit);
        for piece in self.pieces.split(text) {
            let tokens = encoder.encode(&self.vocabulary, piece, usize::MAX).unwrap_or_default();
            for token in tokens.iter().take(left) {
                at += self.vocabulary.length(*token);
                if text.is_char_boundary(at) {
                    end = at;
                }
            }
            left = left.saturating_sub(tokens.len());
            if left == 0 {
                break;
            }
        }
        end
    }
}

impl TokenCounter for BpeTokenCounter {
    fn count(&self, text: &str, encoding: text::TokenEncoding) -> usize {
        BpeEncoding::for_encoding(encoding).count(text, usize::MAX).unwrap_or(usize::MAX)
    }

    fn count_up_to(&self, text: &str, limit: usize, encoding: text::TokenEncoding) -> Option<usize> {
        BpeEncoding::for_encoding(encoding).count(text, limit)
    }

    fn token_prefix<'a>(&self, text: &'a str, limit: usize, encoding: text::TokenEncoding) -> &'a str {
        &text[..BpeEncoding::for_encoding(encoding).end(text, limit)]
    }
}

/// Counts tokens with o200k, the unit of all sizes in this crate.
pub(crate) fn count(text: &str) -> usize {
    O200K.count(text, usize::MAX).unwrap_or(usize::MAX)
}

/// Like [`count`], but `None` if there are more than `limit`.
pub(crate) fn count_up_to(text: &str, limit: usize) -> Option<usize> {
    O200K.count(text, limit)
}

/// Number of slots, a power of two: 256 KiB per thread, which fits the CPU cache of one core.
const SLOTS: usize = 1 << 13;

/// Maximum length of a cached piece. It and its length fit one word.
const MAX_CACHED_BYTES: usize = 15;

/// Cached counts of short pieces, because most pieces of a text repeat. The hash of a piece selects its only slot.
struct TokenCountCache(Vec<(u128, u32)>);

thread_local! {
    static MEMO: RefCell<TokenCountCache> = const { RefCell::new(TokenCountCache(Vec::new())) };
}

impl TokenCountCache {
    fn with_thread_local<T>(work: impl FnOnce(&mut Self) -> T) -> T {
        MEMO.with_borrow_mut(|memo| {
            if memo.0.is_empty() {
                memo.0 = vec![(0, 0); SLOTS];
            }
            work(memo)
        })
    }

    /// Returns the token count of a piece, `None` if it exceeds `limit`. Cached pieces are counted without a limit:
    /// they have at most one token per byte.
    fn count(
        &mut self,
        vocabulary: u8,
        piece: &[u8],
        limit: usize,
        mut count: impl FnMut(&[u8], usize) -> Option<usize>,
    ) -> Option<usize> {
        if piece.len() > MAX_CACHED_BYTES {
            return count(piece, limit);
        }
        let mut packed = [0_u8; 16];
        packed[..piece.len()].copy_from_slice(piece);
        // Pieces are never empty, so an all-zero slot is free.
        packed[15] = piece.len() as u8 | vocabulary << 4;
        let packed = u128::from_le_bytes(packed);
        let mixed = (packed as u64 ^ (packed >> 64) as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let slot = &mut self.0[(mixed >> 51) as usize % SLOTS];
        if slot.0 != packed {
            *slot = (packed, count(piece, MAX_CACHED_BYTES)? as u32);
        }
        Some(slot.1 as usize).filter(|tokens| *tokens <= limit)
    }
}

#[cfg(test)]
mod tests;
