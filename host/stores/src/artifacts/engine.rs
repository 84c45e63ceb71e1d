//! Values that the tables of artifacts take and return.

use std::ops::Range;

use gatehouse_core::{
    hash::sha256_hex,
    outcome::Fault,
    ports::artifacts::Artifact,
    search::{ScoredCandidate, SearchQuery},
};

use super::{blocks::TextBlock, row::ArtifactRow};
use crate::engine::QueryVector;

pub(crate) const ARTIFACTS: &str = "artifact";

/// Owner of the artifacts, and the current time in Unix milliseconds, at which expired artifacts do not exist.
#[derive(Debug, Clone)]
pub(crate) struct OwnerScope {
    pub(crate) owner: String,
    pub(crate) now: i64,
}

pub(crate) struct NewArtifact {
    pub(crate) scope: OwnerScope,
    pub(crate) text: PackedText,
    /// Row to insert if the text is new to its owner, with its shortest id.
    pub(crate) row: ArtifactRow,
    /// Maximum bytes of the owner's texts. `None` for no limit.
    pub(crate) owner_limit: Option<u64>,
}

/// Artifacts and bytes of an owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct OwnerHolding {
    pub(crate) artifacts: u64,
    /// Bytes of the texts.
    pub(crate) bytes: u64,
}

impl OwnerHolding {
    /// Estimated bytes of the metadata of an artifact.
    const ROW_BYTES: u64 = 4_096;

    /// Returns the space that owners are compared by.
    pub(crate) fn space(self) -> u64 {
        self.bytes + self.artifacts * Self::ROW_BYTES
    }

    pub(crate) fn remove(&mut self, size: i64) {
        self.artifacts = self.artifacts.saturating_sub(1);
        self.bytes = self.bytes.saturating_sub(size.unsigned_abs());
    }

    /// Fails with `exhausted` if this exceeds the limit of the owner.
    pub(crate) fn check(self, limit: Option<u64>) -> Result<(), Fault> {
        let Some(limit) = limit.filter(|limit| self.bytes > *limit) else { return Ok(()) };
        let message =
            format!("this caller's artifacts would take {} bytes; its quota leaves {limit}", self.bytes);
        let hint =
            "Delete artifacts and values that are no longer needed, or ask the host's operator for more.";
        Err(Fault::exhausted(message).hint(hint))
    }
}

/// Returns the owner that holds the most, if that is more than `own`.
pub(crate) fn largest_other<K: Copy + Eq>(holdings: &[(K, OwnerHolding)], own: K) -> Option<K> {
    let space_of =
        |key: K| holdings.iter().find(|(owner, _)| *owner == key).map_or(0, |(_, held)| held.space());
    let other_owners = holdings.iter().filter(|(key, _)| *key != own);
    let (largest, held) = other_owners.max_by_key(|(_, held)| held.space())?;
    (held.artifacts > 0 && held.space() > space_of(own)).then_some(*largest)
}

/// A compressed text, or the requested blocks of one.
pub(crate) struct PackedText {
    /// SHA-256.
    pub(crate) digest: Vec<u8>,
    pub(crate) size: i64,
    pub(crate) lines: i64,
    pub(crate) characters: i64,
    pub(crate) blocks: Vec<TextBlock>,
}

/// Position of a block: characters and line feeds before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BlockStart {
    pub(crate) characters: i64,
    pub(crate) line_feeds: i64,
}

/// Part of a text that the loaded blocks must cover.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ArtifactSpan {
    Whole,
    /// Half-open range of characters.
    Characters(i64, i64),
    /// Half-open range of lines.
    Lines(i64, i64),
}

impl ArtifactSpan {
    pub(crate) fn blocks(self, starts: &[BlockStart]) -> Range<usize> {
        let (first, end) = match self {
            Self::Whole => (0, starts.len()),
            Self::Characters(from, to) => (
                starts.partition_point(|start| start.characters <= from).saturating_sub(1),
                starts.partition_point(|start| start.characters < to),
            ),
            Self::Lines(from, to) => (
                starts.partition_point(|start| start.line_feeds < from).saturating_sub(1),
                starts.partition_point(|start| start.line_feeds < to),
            ),
        };
        first..end.max(first)
    }
}

#[derive(Debug)]
pub(crate) struct ArtifactQuestion {
    pub(crate) scope: OwnerScope,
    pub(crate) query: SearchQuery,
    /// `None` if the search uses words only, or if another store searches the vectors.
    pub(crate) vector: Option<QueryVector>,
    /// Results of the other vector store. Empty if the engine searches vectors itself.
    pub(crate) near: Vec<NearestItem>,
    pub(crate) limit: usize,
    /// Number of best candidates, by words and by vector each, to score in full.
    pub(crate) pool: usize,
}

/// Result of a separate vector store. Counts only if the owner's artifact still has this version.
#[derive(Debug, Clone)]
pub(crate) struct NearestItem {
    pub(crate) key: String,
    pub(crate) version: String,
    pub(crate) cosine: f32,
}

impl NearestItem {
    /// Returns the similarity. `None` if the summary has changed since it was embedded.
    pub(crate) fn cosine_if_current(&self, row: &ArtifactRow) -> Option<f32> {
        (row.version_to_embed().as_ref() == Some(&self.version)).then_some(self.cosine)
    }
}

/// Returns the key prefix of an owner's items. A key ends with the artifact's row number, which is never reused.
pub(crate) fn item_prefix(owner: &str) -> String {
    format!("/{}/", &sha256_hex(owner)[..32])
}

/// Returns the vector store key of an artifact.
pub(crate) fn item_key(owner: &str, number: i64) -> String {
    format!("{}{number}", item_prefix(owner))
}

/// Returns the artifact number in a key, or -1, which no artifact has, for an invalid key.
pub(crate) fn item_number(key: &str) -> i64 {
    key.rsplit_once('/').and_then(|(_, number)| number.parse().ok()).unwrap_or(-1)
}

/// An artifact with both scores. The key of the candidate is its id.
#[derive(Debug)]
pub(crate) struct ArtifactCandidate {
    pub(crate) scored: ScoredCandidate<String>,
    pub(crate) artifact: Artifact,
    /// The text that the search compared with the question, next to the tool, the source and the tags.
    pub(crate) body: String,
}

/// The best artifacts by words and by meaning.
#[derive(Debug, Default)]
pub(crate) struct ArtifactCandidates {
    pub(crate) candidates: Vec<ArtifactCandidate>,
    /// Number of artifacts with a text to embed but no vector of the question's model.
    pub(crate) without_vector: usize,
    /// Reason that the engine searched by words only.
    pub(crate) words_only_reason: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_needs_only_the_blocks_that_it_touches() {
        let starts = [(0, 0), (10, 2), (20, 2), (30, 5)]
            .map(|(characters, line_feeds)| BlockStart { characters, line_feeds });
        for (span, blocks) in [
            (ArtifactSpan::Whole, 0..4),
            (ArtifactSpan::Characters(0, 10), 0..1),
            (ArtifactSpan::Characters(9, 11), 0..2),
            (ArtifactSpan::Characters(10, 20), 1..2),
            (ArtifactSpan::Characters(35, 99), 3..4),
            (ArtifactSpan::Characters(99, 99), 3..4),
            (ArtifactSpan::Lines(0, 1), 0..1),
            // The second feed is in the first block, and the end of the third line is in the third block.
            (ArtifactSpan::Lines(2, 3), 0..3),
            (ArtifactSpan::Lines(3, 5), 2..3),
            (ArtifactSpan::Lines(0, 99), 0..4),
        ] {
            assert_eq!(span.blocks(&starts), blocks, "{span:?}");
        }
        assert_eq!(ArtifactSpan::Whole.blocks(&[]), 0..0);
        assert_eq!(ArtifactSpan::Lines(3, 9).blocks(&[]), 0..0);
    }

    #[test]
    fn the_owner_that_holds_the_most_makes_room_unless_it_is_the_one_that_asks() {
        let held = |artifacts, bytes| OwnerHolding { artifacts, bytes };
        let holdings = [("ann", held(1, 9_000)), ("bob", held(3, 100)), ("eve", held(0, 0))];
        assert_eq!(largest_other(&holdings, "eve"), Some("ann"));
        assert_eq!(largest_other(&holdings, "bob"), Some("ann"), "many small artifacts count too");
        assert_eq!(largest_other(&holdings, "ann"), None);
        assert_eq!(largest_other(&holdings[..1], "ann"), None);
    }
}
