//! A vocabulary: all tokens, and the two tokens from which each was merged.
//!
//! The binary stores a deflated list of merges: first the 256 single-byte tokens in order, then the numbers of the two
//! halves of each further token, three bytes each. The bytes are in planes: the lowest byte of every left half, then
//! the middle bytes, and so on. That compresses best: o200k takes 0.7 MB, while the search tables of the crate `bpe`
//! take 30 MB.

use std::io::Read;

use flate2::read::ZlibDecoder;

/// Number of a token, which is also its merge rank: lower ranks merge first.
pub(super) type TokenId = u32;

const BYTE_TOKENS: usize = 256;

const NO_TOKEN: TokenId = TokenId::MAX;

pub(super) struct BpeVocabulary {
    bytes: Vec<u8>,
    /// Start of each token in `bytes`, and the end of the last one.
    starts: Vec<u32>,
    /// Pair from which each token was merged. A single-byte token is both of its own halves.
    halves: Vec<(TokenId, TokenId)>,
    /// Start of each left half's entries in `merges`.
    merges_of: Vec<u32>,
    /// Right half and merged token, sorted within each left half.
    merges: Vec<(TokenId, TokenId)>,
    sorted: Vec<TokenId>,
    /// First eight bytes of each token in `sorted`, as a big-endian number.
    keys: Vec<u64>,
    /// Start in `sorted` of the tokens with each first two bytes.
    sorted_from: Vec<u32>,
    /// Longest other token that is a prefix of each token.
    prefixes: Vec<TokenId>,
    single: [TokenId; BYTE_TOKENS],
}

impl BpeVocabulary {
    /// Unpacks a vocabulary. Returns `None` if it is damaged.
    pub(super) fn unpack(packed: &[u8]) -> Option<Self> {
        let mut planes = Vec::new();
        ZlibDecoder::new(packed).read_to_end(&mut planes).ok()?;
        let (singles, planes) = planes.split_at_checked(BYTE_TOKENS)?;
        let merged = planes.len() / 6;
        let half = |token: usize, first: usize| {
            (0..3)
                .fold(0, |id, plane| id | u32::from(planes[(first + plane) * merged + token]) << (8 * plane))
        };
        let mut bytes = singles.to_vec();
        let mut starts: Vec<u32> = (0..=BYTE_TOKENS as u32).collect();
        let mut halves: Vec<(TokenId, TokenId)> =
            (0..BYTE_TOKENS as TokenId).map(|token| (token, token)).collect();
        for token in 0..merged {
            let (left, right) = (half(token, 0), half(token, 3));
            for part in [left, right] {
                let is_known = (part as usize) < halves.len();
                bytes.extend_from_within(is_known.then(|| range(&starts, part))?);
            }
            starts.push(bytes.len() as u32);
            halves.push((left, right));
        }
        let mut single = [NO_TOKEN; BYTE_TOKENS];
        (0..).zip(singles).for_each(|(token, byte)| single[usize::from(*byte)] = token);
        let (merges_of, merges) = by_left(&halves);
        let (keys, sorted) = sorted(&bytes, &starts);
        let sorted_from = by_first_two(&sorted, &bytes, &starts);
        let prefixes = prefixes(&sorted, &bytes, &starts);
        let whole = !single.contains(&NO_TOKEN);
        whole.then_some(Self {
            bytes,
            starts,
            halves,
            merges_of,
            merges,
            sorted,
            keys,
            sorted_from,
            prefixes,
            single,
        })
    }

    pub(super) fn bytes(&self, token: TokenId) -> &[u8] {
        &self.bytes[range(&self.starts, token)]
    }

    pub(super) fn length(&self, token: TokenId) -> usize {
        range(&self.starts, token).len()
    }

    pub(super) fn prefix(&self, token: TokenId) -> Option<TokenId> {
        Some(self.prefixes[token as usize]).filter(|prefix| *prefix != NO_TOKEN)
    }

    /// Returns the longest token that is a prefix of `text`, `None` if the text is empty.
    pub(super) fn longest(&self, text: &[u8]) -> Option<TokenId> {
        let first = *text.first()?;
        let pair = usize::from(first) << 8 | usize::from(text.get(1).copied().unwrap_or(0));
        let (from, to) = (self.sorted_from[pair] as usize, self.sorted_from[pair + 1] as usize);
        let (keys, key) = (&self.keys[from..to], key(text));
        let less = keys.partition_point(|other| *other < key);
        let alike = keys[less..].partition_point(|other| *other == key);
        let alike = &self.sorted[from + less..from + less + alike];
        // Each token that is a prefix of the text is also a prefix of the last token that does not sort after the text.
        let below = less + alike.partition_point(|token| self.bytes(*token) <= text);
        let last = below.checked_sub(1).map(|last| self.sorted[from + last]);
        let mut token = last.unwrap_or(self.single[usize::from(first)]);
        while !text.starts_with(self.bytes(token)) {
            token = self.prefix(token)?;
        }
        Some(token)
    }

    /// Returns whether two adjacent tokens encode their text: no merge across the boundary comes first.
    pub(super) fn is_stable_pair(&self, mut left: TokenId, mut right: TokenId) -> bool {
        // Merges of this rank or higher come too late to matter.
        let mut limit = TokenId::MAX;
        loop {
            if self.merge(left, right).is_some_and(|merged| merged < limit) {
                return false;
            }
            let (inner_left, inner_right) = (self.halves[left as usize].1, self.halves[right as usize].0);
            // Undo the later of the two merges, if there is one. Of two merges with the same rank, the left one comes
            // first.
            match (inner_left != left, inner_right != right) {
                (false, false) => return true,
                (true, can_right) if left > right || !can_right => (limit, left) = (left, inner_left),
                _ => (limit, right) = (right + 1, inner_right),
            }
        }
    }

    fn merge(&self, left: TokenId, right: TokenId) -> Option<TokenId> {
        let left = left as usize;
        let merges = &self.merges[self.merges_of[left] as usize..self.merges_of[left + 1] as usize];
        let position = merges.binary_search_by_key(&right, |(right, _)| *right).ok()?;
        Some(merges[position].1)
    }
}

fn range(starts: &[u32], token: TokenId) -> std::ops::Range<usize> {
    let token = token as usize;
    starts[token] as usize..starts[token + 1] as usize
}

/// Groups merges by left half. Returns the start of each group, and the (right half, merged token) pairs.
fn by_left(halves: &[(TokenId, TokenId)]) -> (Vec<u32>, Vec<(TokenId, TokenId)>) {
    let mut merges: Vec<(TokenId, TokenId, TokenId)> =
        (0..).zip(halves).skip(BYTE_TOKENS).map(|(token, &(left, right))| (left, right, token)).collect();
    merges.sort_unstable();
    let from = starts_of(halves.len(), merges.iter().map(|(left, ..)| *left as usize));
    (from, merges.into_iter().map(|(_, right, token)| (right, token)).collect())
}

/// Returns the first eight bytes of a text as a big-endian number. Few tokens share it.
fn key(text: &[u8]) -> u64 {
    let mut first = [0; 8];
    let length = text.len().min(8);
    first[..length].copy_from_slice(&text[..length]);
    u64::from_be_bytes(first)
}

fn sorted(bytes: &[u8], starts: &[u32]) -> (Vec<u64>, Vec<TokenId>) {
    let of = |token: TokenId| &bytes[range(starts, token)];
    let mut keyed: Vec<(u64, TokenId)> =
        (0..starts.len() as TokenId - 1).map(|token| (key(of(token)), token)).collect();
    keyed.sort_unstable_by(|(a, one), (b, other)| a.cmp(b).then_with(|| of(*one).cmp(of(*other))));
    keyed.into_iter().unzip()
}

/// Returns the start of the tokens with each first two bytes. For single-byte tokens the second byte is zero.
fn by_first_two(sorted: &[TokenId], bytes: &[u8], starts: &[u32]) -> Vec<u32> {
    let pair = |token: &TokenId| match bytes[range(starts, *token)] {
        [first] => usize::from(first) << 8,
        [first, second, ..] => usize::from(first) << 8 | usize::from(second),
        [] => 0,
    };
    starts_of(1 << 16, sorted.iter().map(pair))
}

/// Returns the start of each group and the end of the last one. The items must come in group order.
fn starts_of(groups: usize, items: impl Iterator<Item = usize>) -> Vec<u32> {
    let mut starts = vec![0; groups + 1];
    items.for_each(|group| starts[group + 1] += 1);
    for group in 0..groups {
        starts[group + 1] += starts[group];
    }
    starts
}

/// Returns the longest proper prefix of each token. In byte order, only its other extensions come between the two.
fn prefixes(sorted: &[TokenId], bytes: &[u8], starts: &[u32]) -> Vec<TokenId> {
    let mut prefixes = vec![NO_TOKEN; sorted.len()];
    let mut open: Vec<TokenId> = Vec::new();
    for &token in sorted {
        let text = &bytes[range(starts, token)];
        while open.last().is_some_and(|last| !text.starts_with(&bytes[range(starts, *last)])) {
            open.pop();
        }
        prefixes[token as usize] = open.last().copied().unwrap_or(NO_TOKEN);
        open.push(token);
    }
    prefixes
}

#[cfg(test)]
mod tests {
    use base64::{Engine as _, engine::general_purpose::STANDARD};
    use gatehouse_core::hash::sha256_hex;

    use super::*;
    use crate::tokens::{BpeEncoder, CL100K, O200K};

    #[test]
    fn the_vocabularies_are_the_published_ones() {
        for (encoding, digest) in [
            (&*O200K, "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"),
            (&*CL100K, "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7"),
        ] {
            let tokens = 0..encoding.vocabulary.halves.len() as TokenId;
            let line = |token| format!("{} {token}\n", STANDARD.encode(encoding.vocabulary.bytes(token)));
            let published: String = tokens.map(line).collect();
            assert_eq!(sha256_hex(published.as_bytes()), digest);
        }
    }

    #[test]
    fn every_token_is_encoded_as_itself_and_damage_is_noticed() {
        for encoding in [&*O200K, &*CL100K] {
            let vocabulary = &encoding.vocabulary;
            let mut encoder = BpeEncoder::default();
            for token in 0..vocabulary.halves.len() as TokenId {
                let text = vocabulary.bytes(token);
                assert_eq!(vocabulary.longest(text), Some(token));
                assert_eq!(encoder.encode(vocabulary, text, usize::MAX), Some(&[token][..]));
            }
        }
        assert!(BpeVocabulary::unpack(b"garbage").is_none());
    }
}
