//! A vocabulary: all tokens, and which two of them each was merged from.
//!
//! It travels as a list of merges, deflated: 256 bytes, which are the tokens of one byte in their order, then for
//! every further token the numbers of its two halves, three bytes each. The bytes are laid out in planes, first the
//! lowest byte of every left half, then the middle ones, and so on, because that deflates best: o200k takes 0.7 MB
//! where the searching tables of the crate `bpe` take 30. What is searched here is made of it on first use.

use std::io::Read;

use flate2::read::ZlibDecoder;

/// A token's number, which is also its rank: the lower one is merged first.
pub(super) type TokenId = u32;

/// Tokens of one byte.
const BYTE_TOKENS: usize = 256;

/// No token.
const NO_TOKEN: TokenId = TokenId::MAX;

pub(super) struct BpeVocabulary {
    /// Of all tokens, one after the other.
    bytes: Vec<u8>,
    /// Where each token begins, and where the last one ends.
    starts: Vec<u32>,
    /// What each token was merged from; one of a single byte is both of its halves.
    halves: Vec<(TokenId, TokenId)>,
    /// By left half: where its merges begin in `merges`.
    merges_of: Vec<u32>,
    /// The right half and the merged token, sorted under each left half.
    merges: Vec<(TokenId, TokenId)>,
    /// All tokens in the order of their bytes.
    sorted: Vec<TokenId>,
    /// The first eight bytes of each of them, as a number of the same order.
    keys: Vec<u64>,
    /// By the first two bytes: where such tokens begin in `sorted`.
    sorted_from: Vec<u32>,
    /// The longest other token that a token begins with.
    prefixes: Vec<TokenId>,
    single: [TokenId; BYTE_TOKENS],
}

impl BpeVocabulary {
    /// Unpacks one; none where it is damaged.
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
                let known = (part as usize) < halves.len();
                bytes.extend_from_within(known.then(|| range(&starts, part))?);
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

    /// The bytes of a token.
    pub(super) fn bytes(&self, token: TokenId) -> &[u8] {
        &self.bytes[range(&self.starts, token)]
    }

    pub(super) fn length(&self, token: TokenId) -> usize {
        range(&self.starts, token).len()
    }

    /// The longest other token that a token begins with.
    pub(super) fn prefix(&self, token: TokenId) -> Option<TokenId> {
        Some(self.prefixes[token as usize]).filter(|prefix| *prefix != NO_TOKEN)
    }

    /// The longest token that a text begins with; none of an empty text.
    pub(super) fn longest(&self, text: &[u8]) -> Option<TokenId> {
        let first = *text.first()?;
        let pair = usize::from(first) << 8 | usize::from(text.get(1).copied().unwrap_or(0));
        let (from, to) = (self.sorted_from[pair] as usize, self.sorted_from[pair + 1] as usize);
        let (keys, key) = (&self.keys[from..to], key(text));
        let less = keys.partition_point(|other| *other < key);
        let alike = keys[less..].partition_point(|other| *other == key);
        let alike = &self.sorted[from + less..from + less + alike];
        // The last one that is not after the text begins with every token that the text begins with.
        let below = less + alike.partition_point(|token| self.bytes(*token) <= text);
        let last = below.checked_sub(1).map(|last| self.sorted[from + last]);
        let mut token = last.unwrap_or(self.single[usize::from(first)]);
        while !text.starts_with(self.bytes(token)) {
            token = self.prefix(token)?;
        }
        Some(token)
    }

    /// Whether the text of two tokens, one after the other, is encoded as these two: no merge would reach across
    /// the place between them before they are what they are.
    pub(super) fn is_stable_pair(&self, mut left: TokenId, mut right: TokenId) -> bool {
        // Merges from this rank on come too late to matter.
        let mut limit = TokenId::MAX;
        loop {
            if self.merge(left, right).is_some_and(|merged| merged < limit) {
                return false;
            }
            let (inner_left, inner_right) = (self.halves[left as usize].1, self.halves[right as usize].0);
            // The younger of the two is taken apart, as long as one of them was merged. Of merges of one rank the
            // left one comes first.
            match (inner_left != left, inner_right != right) {
                (false, false) => return true,
                (true, can_right) if left > right || !can_right => (limit, left) = (left, inner_left),
                _ => (limit, right) = (right + 1, inner_right),
            }
        }
    }

    /// What two tokens are merged to.
    fn merge(&self, left: TokenId, right: TokenId) -> Option<TokenId> {
        let left = left as usize;
        let merges = &self.merges[self.merges_of[left] as usize..self.merges_of[left + 1] as usize];
        let found = merges.binary_search_by_key(&right, |(right, _)| *right).ok()?;
        Some(merges[found].1)
    }
}

fn range(starts: &[u32], token: TokenId) -> std::ops::Range<usize> {
    let token = token as usize;
    starts[token] as usize..starts[token + 1] as usize
}

/// Merges by their left half: where each one's begin, and right half and merged token.
fn by_left(halves: &[(TokenId, TokenId)]) -> (Vec<u32>, Vec<(TokenId, TokenId)>) {
    let mut merges: Vec<(TokenId, TokenId, TokenId)> =
        (0..).zip(halves).skip(BYTE_TOKENS).map(|(token, &(left, right))| (left, right, token)).collect();
    merges.sort_unstable();
    let from = starts_of(halves.len(), merges.iter().map(|(left, ..)| *left as usize));
    (from, merges.into_iter().map(|(_, right, token)| (right, token)).collect())
}

/// The first eight bytes of a text, as a number of the same order. Few tokens are told apart by more.
fn key(text: &[u8]) -> u64 {
    let mut first = [0; 8];
    let length = text.len().min(8);
    first[..length].copy_from_slice(&text[..length]);
    u64::from_be_bytes(first)
}

/// All tokens in the order of their bytes, behind their keys.
fn sorted(bytes: &[u8], starts: &[u32]) -> (Vec<u64>, Vec<TokenId>) {
    let of = |token: TokenId| &bytes[range(starts, token)];
    let mut keyed: Vec<(u64, TokenId)> =
        (0..starts.len() as TokenId - 1).map(|token| (key(of(token)), token)).collect();
    keyed.sort_unstable_by(|(a, one), (b, other)| a.cmp(b).then_with(|| of(*one).cmp(of(*other))));
    keyed.into_iter().unzip()
}

/// Where the tokens that begin with each two bytes begin; one of a single byte counts as followed by zero.
fn by_first_two(sorted: &[TokenId], bytes: &[u8], starts: &[u32]) -> Vec<u32> {
    let pair = |token: &TokenId| match bytes[range(starts, *token)] {
        [first] => usize::from(first) << 8,
        [first, second, ..] => usize::from(first) << 8 | usize::from(second),
        [] => 0,
    };
    starts_of(1 << 16, sorted.iter().map(pair))
}

/// Where the items of each group begin, and where the last one's end; the groups come in order.
fn starts_of(groups: usize, items: impl Iterator<Item = usize>) -> Vec<u32> {
    let mut starts = vec![0; groups + 1];
    items.for_each(|group| starts[group + 1] += 1);
    for group in 0..groups {
        starts[group + 1] += starts[group];
    }
    starts
}

/// In the order of their bytes, what a token begins with stands before it, and nothing else between them.
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
