//! WordPiece: splits a word into its longest known prefix, then the longest known continuation (written `##` in the
//! list), and so on. A word with an unknown part is unknown as a whole.

use crate::fnv::{self, fnv1a};

/// Maximum tokens of a word. A longer word counts as unknown, as in the model: base64, hashes, noise.
const MAX_CHARS: usize = 100;

/// Maximum length of a token in bytes, which limits the work per character.
const MAX_PIECE: usize = 32;

/// Number of index slots, a power of two. A quarter is used, so probes are short.
const SLOTS: usize = 1 << 17;

/// Marks an empty slot. It is the number of `[PAD]`, which never occurs in a text.
const EMPTY: u16 = 0;

pub(super) struct WordTokens {
    tokens: [u16; MAX_CHARS],
    count: usize,
}

impl WordTokens {
    pub(super) fn as_slice(&self) -> &[u16] {
        &self.tokens[..self.count]
    }
}

/// An index of half a megabyte over a borrowed word list.
pub(super) struct WordPieceVocabulary<'a> {
    list: &'a str,
    starts: Vec<u32>,
    slots: Vec<u16>,
}

impl<'a> WordPieceVocabulary<'a> {
    /// Indexes a list with one token per line. The first line is the padding token.
    pub(super) fn read(list: &'a str, rows: usize) -> Result<Self, String> {
        let mut starts = Vec::with_capacity(rows + 1);
        let mut slots = vec![EMPTY; SLOTS];
        let mut start = 0;
        for line in list.lines() {
            let number = u16::try_from(starts.len()).map_err(|_| "too many tokens")?;
            starts.push(u32::try_from(start).map_err(|_| "the list is too long")?);
            start += line.len() + 1;
            if number == EMPTY {
                continue;
            }
            let (inside, piece) = split(line);
            if piece.is_empty() || piece.len() > MAX_PIECE {
                return Err(format!("invalid token '{line}'"));
            }
            let digest = fnv1a(seed(inside), piece.as_bytes());
            let mut slot = slot(digest);
            while slots[slot] != EMPTY {
                slot = (slot + 1) % SLOTS;
            }
            slots[slot] = number;
        }
        starts.push(u32::try_from(start).map_err(|_| "the list is too long")?);
        if starts.len() != rows + 1 || rows > SLOTS / 2 {
            return Err(format!("found {} tokens for {rows} vectors", starts.len() - 1));
        }
        Ok(Self { list, starts, slots })
    }

    /// Returns the tokens of a word, empty if the word is unknown.
    pub(super) fn pieces(&self, word: &str) -> WordTokens {
        let mut pieces = WordTokens { tokens: [0; MAX_CHARS], count: 0 };
        let mut rest = word;
        while !rest.is_empty() {
            let longest_token = self.longest(rest, pieces.count > 0);
            let Some(((token, length), place)) = longest_token.zip(pieces.tokens.get_mut(pieces.count))
            else {
                pieces.count = 0;
                break;
            };
            *place = token;
            pieces.count += 1;
            rest = &rest[length..];
        }
        pieces
    }

    /// Returns the longest token that is a prefix of `text`, and its length in bytes.
    fn longest(&self, text: &str, inside: bool) -> Option<(u16, usize)> {
        let mut digests = [0; MAX_PIECE];
        let mut digest = seed(inside);
        let max_length = text.len().min(MAX_PIECE);
        for (place, byte) in digests.iter_mut().zip(text.bytes()) {
            digest = fnv1a(digest, &[byte]);
            *place = digest;
        }
        (1..=max_length)
            .rev()
            .filter(|&length| text.is_char_boundary(length))
            .find_map(|length| Some((self.find(&text[..length], inside, digests[length - 1])?, length)))
    }

    fn find(&self, piece: &str, inside: bool, digest: u64) -> Option<u16> {
        let mut slot = slot(digest);
        while self.slots[slot] != EMPTY {
            let number = self.slots[slot];
            if split(self.line(number)) == (inside, piece) {
                return Some(number);
            }
            slot = (slot + 1) % SLOTS;
        }
        None
    }

    /// Returns the text of a token, without the mark of a continuation.
    pub(super) fn piece(&self, token: u16) -> &str {
        split(self.line(token)).1
    }

    fn line(&self, number: u16) -> &str {
        let number = usize::from(number);
        let place = |at: usize| self.starts.get(at).map_or(0, |&start| start as usize);
        self.list.get(place(number)..place(number + 1).saturating_sub(1)).unwrap_or_default()
    }
}

/// Returns whether a token continues a word, and its text. `#` and `##` are tokens themselves.
fn split(line: &str) -> (bool, &str) {
    match line.strip_prefix("##") {
        Some(piece) if !piece.is_empty() => (true, piece),
        _ => (false, line),
    }
}

/// Returns the start value of a 64-bit FNV-1a digest. The list is fixed, so no input can make slots collide.
fn seed(inside: bool) -> u64 {
    if inside { fnv::START } else { fnv::START.rotate_left(32) }
}

/// Returns the slot of a digest. The upper bits of a product depend on all bits of the digest.
fn slot(digest: u64) -> usize {
    let mixed = digest.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> (u64::BITS - SLOTS.trailing_zeros())) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = "[PAD]\n[UNK]\nun\n##afford\n##able\nunaf\nü\n#\n##\n";

    const NONE: [u16; 0] = [];

    fn pieces(word: &str) -> Vec<u16> {
        WordPieceVocabulary::read(LIST, 9).expect("a vocabulary").pieces(word).as_slice().to_vec()
    }

    #[test]
    fn the_longest_beginning_wins() {
        assert_eq!(pieces("unable"), [2, 4]);
        assert_eq!(pieces("ü"), [6]);
        assert_eq!(pieces("#"), [7]);
        // Greedy, as in the model's training: `unaf` matches, and no token continues it with "fordable".
        assert_eq!(pieces("unaffordable"), NONE);
        assert_eq!(pieces("able"), NONE);
        assert_eq!(pieces(""), NONE);
    }

    #[test]
    fn long_words_are_bounded() {
        assert_eq!(pieces(&format!("un{}", "able".repeat(99))).len(), 100);
        assert_eq!(pieces(&format!("un{}", "able".repeat(100))), NONE);
    }

    #[test]
    fn broken_lists_are_refused() {
        for (list, rows) in [("a\nb\n", 3), ("a\nb\n", 1), ("a\n\nb\n", 3), ("", 1)] {
            assert!(WordPieceVocabulary::read(list, rows).is_err(), "{list:?}");
        }
        assert!(WordPieceVocabulary::read(&format!("a\n{}\n", "b".repeat(33)), 2).is_err());
    }
}
