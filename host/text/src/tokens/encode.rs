//! Byte-pair encoding of one piece of text, in time that grows with its length and no faster.
//!
//! Merging pair by pair, as the encoding is defined, is quadratic or wants many times the text in memory. This takes
//! the longest token that comes next, goes back to a shorter one where two tokens would not stay apart, and never
//! looks twice at a place that led nowhere; the result is the same. The algorithm is that of GitHub's crate `bpe`
//! (MIT), <https://github.blog/ai-and-ml/llms/so-many-tokens-so-little-time-introducing-a-faster-more-flexible-byte-pair-tokenizer/>.

use super::vocabulary::{BpeVocabulary, TokenId};

/// Tokens that an encoding may have more on its way than at its end.
const MAX_DETOUR: usize = 10;

/// Encodes pieces one after the other, in the same memory.
#[derive(Default)]
pub(super) struct BpeEncoder {
    tokens: Vec<TokenId>,
    /// A bit for each place that led nowhere.
    dead: Vec<u64>,
}

impl BpeEncoder {
    /// The tokens of a piece; none where there are more than `limit`.
    pub(super) fn encode(
        &mut self,
        vocabulary: &BpeVocabulary,
        piece: &[u8],
        limit: usize,
    ) -> Option<&[TokenId]> {
        self.tokens.clear();
        self.dead.clear();
        self.dead.resize(piece.len() / 64 + 1, 0);
        let mut at = 0;
        let mut next = vocabulary.longest(piece);
        while let Some(mut token) = next {
            let last = self.tokens.last().copied();
            loop {
                let end = at + vocabulary.length(token);
                let open = self.dead[end / 64] & (1 << (end % 64)) == 0;
                if open && last.is_none_or(|last| vocabulary.is_stable_pair(last, token)) {
                    self.tokens.push(token);
                    at = end;
                    next = vocabulary.longest(&piece[at..]);
                    break;
                }
                if let Some(shorter) = vocabulary.prefix(token) {
                    token = shorter;
                    continue;
                }
                self.dead[at / 64] |= 1 << (at % 64);
                self.tokens.pop();
                at -= last.map_or(0, |last| vocabulary.length(last));
                next = last;
                break;
            }
            if self.tokens.len() > limit.saturating_add(MAX_DETOUR) {
                return None;
            }
        }
        (self.tokens.len() <= limit).then_some(&self.tokens)
    }
}
