//! Byte-pair encoding of one piece in linear time.
//!
//! Merging pair by pair, as the encoding is defined, takes quadratic time or many times the text's size in memory. This
//! encoder takes the longest next token, falls back to a shorter one if two adjacent tokens would merge, and never
//! visits a dead end twice. The algorithm comes from GitHub's crate `bpe` (MIT),
//! <https://github.blog/ai-and-ml/llms/so-many-tokens-so-little-time-introducing-a-faster-more-flexible-byte-pair-tokenizer/>.

use super::vocabulary::{BpeVocabulary, TokenId};

/// Number of tokens by which a partial encoding may exceed the final one.
const MAX_DETOUR: usize = 10;

#[derive(Default)]
pub(super) struct BpeEncoder {
    tokens: Vec<TokenId>,
    /// One bit per offset, set if it is a dead end.
    dead: Vec<u64>,
}

impl BpeEncoder {
    /// Returns the tokens of a piece, `None` if there are more than `limit`.
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
