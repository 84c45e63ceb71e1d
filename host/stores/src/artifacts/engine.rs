//! What a store of artifacts has to be able to do. Cutting texts into blocks, packing and checking them, what becomes of an
//! artifact that is kept again, and putting in order what was found are done before and after, once for every engine.

use std::{ops::Range, sync::Arc};

use async_trait::async_trait;
use gatehouse_core::{
    outcome::Fault,
    ports::artifacts::{Artifact, ArtifactFilter},
    search::{ScoredCandidate, SearchQuery},
};
use sha2::{Digest as _, Sha256};

use super::{blocks::TextBlock, row::ArtifactRow};
use crate::{
    embedding::{VectorModel, VectorStore},
    engine::QueryVector,
};

/// The corpus that summaries of artifacts are.
pub(crate) const ARTIFACTS: &str = "artifact";

/// Whose artifacts are meant, and when: what is past its time then is not there. Milliseconds since 1970.
#[derive(Debug, Clone)]
pub(crate) struct OwnerScope {
    pub(crate) owner: String,
    pub(crate) now: i64,
}

/// A text on its way to an engine, with what is to be known of it.
pub(crate) struct NewArtifact {
    pub(crate) asker: OwnerScope,
    pub(crate) text: PackedText,
    /// As it is where the text is new to its owner; its id is the shortest one.
    pub(crate) row: ArtifactRow,
}

/// A text, packed.
pub(crate) struct PackedText {
    /// SHA-256.
    pub(crate) digest: Vec<u8>,
    /// Bytes as UTF-8.
    pub(crate) size: i64,
    pub(crate) lines: i64,
    pub(crate) characters: i64,
    /// In their order.
    pub(crate) blocks: Vec<TextBlock>,
}

/// The most that artifacts may take, and where that is set, for faults.
#[derive(Debug, Clone)]
pub(crate) struct StorageLimit {
    pub(crate) bytes: u64,
    pub(crate) setting: String,
}

impl StorageLimit {
    /// Passes where artifacts take so many bytes.
    ///
    /// # Errors
    /// `exhausted`, naming the setting.
    pub(crate) fn check(&self, bytes: u64) -> Result<(), Fault> {
        if bytes <= self.bytes {
            return Ok(());
        }
        let message = format!("Artifacts would take {bytes} bytes; all of them may take {}.", self.bytes);
        let hint = format!("Delete some that are pinned or no longer needed, or raise {}.", self.setting);
        Err(Fault::exhausted(message).hint(hint))
    }
}

/// What stands before a block of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BlockStart {
    pub(crate) characters: i64,
    /// Line feeds.
    pub(crate) feeds: i64,
}

/// Which part of a text is wanted: what its blocks must cover.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ArtifactSpan {
    Whole,
    /// Characters from the first number to before the second.
    Characters(i64, i64),
    /// Lines in the same way.
    Lines(i64, i64),
}

impl ArtifactSpan {
    /// The blocks that hold it.
    pub(crate) fn blocks(self, starts: &[BlockStart]) -> Range<usize> {
        let (first, end) = match self {
            Self::Whole => (0, starts.len()),
            Self::Characters(from, to) => (
                starts.partition_point(|start| start.characters <= from).saturating_sub(1),
                starts.partition_point(|start| start.characters < to),
            ),
            // The line begins after the feed that ends the one before it.
            Self::Lines(from, to) => (
                starts.partition_point(|start| start.feeds < from).saturating_sub(1),
                starts.partition_point(|start| start.feeds < to),
            ),
        };
        first..end.max(first)
    }
}

/// A stored text, or some blocks of it.
pub(crate) struct StoredText {
    pub(crate) digest: Vec<u8>,
    pub(crate) size: i64,
    pub(crate) lines: i64,
    pub(crate) characters: i64,
    /// Those that were asked for, in their order.
    pub(crate) blocks: Vec<TextBlock>,
}

/// What is looked for.
#[derive(Debug)]
pub(crate) struct ArtifactQuestion {
    pub(crate) asker: OwnerScope,
    pub(crate) query: SearchQuery,
    /// None where meaning has no part in it, or others than the engine keep the vectors.
    pub(crate) vector: Option<QueryVector>,
    /// What these found; empty where the engine keeps them itself.
    pub(crate) near: Vec<NearestItem>,
    /// How many are wanted.
    pub(crate) limit: usize,
    /// How many of the best in each way are looked at closely.
    pub(crate) pool: usize,
}

/// An item that others than the engine found to be near to a question. It counts only where it is of the asker, not past
/// its time, and still of this version.
#[derive(Debug, Clone)]
pub(crate) struct NearestItem {
    pub(crate) key: String,
    pub(crate) version: String,
    pub(crate) cosine: f32,
}

impl NearestItem {
    /// How near it is, where the artifact still has the summary that was compared.
    pub(crate) fn cosine_of(&self, row: &ArtifactRow) -> Option<f32> {
        (row.version_to_embed().as_ref() == Some(&self.version)).then_some(self.cosine)
    }
}

/// What the keys of an owner's items begin with. They end in the number of the artifact, which is never given twice.
pub(crate) fn item_prefix(owner: &str) -> String {
    let digits: String = Sha256::digest(owner).iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    format!("/{digits}/")
}

/// The key of an artifact's item.
pub(crate) fn item_key(owner: &str, number: i64) -> String {
    format!("{}{number}", item_prefix(owner))
}

/// The artifact that an item is of; a number that none has, where it is no key.
pub(crate) fn item_number(key: &str) -> i64 {
    key.rsplit_once('/').and_then(|(_, number)| number.parse().ok()).unwrap_or(-1)
}

/// What may answer a question: the best by words and by meaning, each with its scores in both ways. The key of one is
/// its id.
#[derive(Debug, Default)]
pub(crate) struct ArtifactCandidates {
    pub(crate) candidates: Vec<(ScoredCandidate<String>, Artifact)>,
    /// Artifacts with a summary that has no vector of the question's model.
    pub(crate) without_vector: usize,
    /// Why meaning had no part in it, where the engine is why.
    pub(crate) words_alone: Option<String>,
}

/// How a store of artifacts is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ArtifactEngineHealth {
    /// Its name, `sqlite` for example.
    pub engine: &'static str,
    /// Where it is: a file or an address, without credentials.
    pub address: String,
    /// Version of the schema there, and the newest that this binary knows; none where nothing has been stored yet.
    pub schema: Option<(i64, i64)>,
    /// How many there are, those that are past their time and still on disk among them.
    pub artifacts: u32,
    /// Bytes that they take.
    pub bytes: u64,
    /// Summaries that have no vector of the model yet.
    pub waiting: u32,
    /// Why it can keep, or search, no vectors, where it cannot.
    pub no_vectors: Option<String>,
}

/// What an engine does to the row of an artifact, inside its transaction.
pub(crate) type RowEdit = Box<dyn FnOnce(&mut ArtifactRow) -> Result<(), Fault> + Send>;

/// A store for artifacts. What is past its time is not there for any method, but on disk until it is swept. Faults are
/// `unavailable` and name the engine and its address.
#[async_trait]
pub(crate) trait ArtifactEngine: Send + Sync {
    /// Keeps a text, all of it or nothing: once for every owner, and once where the owner has it already, whose row is then
    /// [renewed](ArtifactRow::renew). What is past its time makes room first where the cap would be passed.
    ///
    /// # Errors
    /// `exhausted` where it does not fit all the same, or the disk is full.
    async fn put(&self, new: NewArtifact, cap: &StorageLimit) -> Result<Artifact, Fault>;

    /// What is known of each, in the order of the ids.
    async fn info(&self, asker: &OwnerScope, ids: &[String]) -> Result<Vec<Option<Artifact>>, Fault>;

    /// The blocks of a text that hold a span.
    async fn read(
        &self,
        asker: &OwnerScope,
        id: &str,
        span: ArtifactSpan,
    ) -> Result<Option<StoredText>, Fault>;

    /// Those that match, newest first. The words are in lower case and compared with
    /// [what a row is found by](ArtifactRow::words).
    async fn recent(
        &self,
        asker: &OwnerScope,
        filter: &ArtifactFilter,
        limit: usize,
    ) -> Result<Vec<Artifact>, Fault>;

    /// What may answer a question.
    async fn candidates(&self, question: &Arc<ArtifactQuestion>) -> Result<ArtifactCandidates, Fault>;

    /// Changes the row of an artifact; none where there is no such one. A summary that changes loses its vectors.
    async fn change(&self, asker: &OwnerScope, id: &str, edit: RowEdit) -> Result<Option<Artifact>, Fault>;

    /// Deletes an artifact, and its text where nobody else has it.
    async fn delete(&self, asker: &OwnerScope, id: &str) -> Result<bool, Fault>;

    /// Deletes some of what is past its time by now, and says how many; 0 where none is left. Makes no database.
    async fn sweep(&self, now: i64) -> Result<u64, Fault>;

    /// Gives the place of what was deleted back to the disk.
    async fn reclaim_space(&self) -> Result<(), Fault> {
        Ok(())
    }

    /// What is embedded of artifacts, by the keys that the engine gave their items; none where it is gone.
    async fn texts_to_embed(&self, keys: &[String]) -> Result<Vec<Option<String>>, Fault>;

    /// A name that no other store of artifacts has, made with it.
    async fn identity(&self) -> Result<String, Fault>;

    /// Where it keeps the vectors of summaries.
    fn vectors(&self) -> Arc<dyn VectorStore>;

    /// Whether it can be reached, and how far the vectors of this model are; changes nothing there.
    async fn health(&self, model: Option<&VectorModel>) -> Result<ArtifactEngineHealth, Fault>;

    /// Ends the use of it, for hosts that stop.
    async fn close(&self) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_is_held_by_the_blocks_that_it_touches_and_no_others() {
        let starts =
            [(0, 0), (10, 2), (20, 2), (30, 5)].map(|(characters, feeds)| BlockStart { characters, feeds });
        for (span, blocks) in [
            (ArtifactSpan::Whole, 0..4),
            (ArtifactSpan::Characters(0, 10), 0..1),
            (ArtifactSpan::Characters(9, 11), 0..2),
            (ArtifactSpan::Characters(10, 20), 1..2),
            (ArtifactSpan::Characters(35, 99), 3..4),
            (ArtifactSpan::Characters(99, 99), 3..4),
            (ArtifactSpan::Lines(0, 1), 0..1),
            // The second feed is in the first block, and where the third line ends is not known before the third block.
            (ArtifactSpan::Lines(2, 3), 0..3),
            (ArtifactSpan::Lines(3, 5), 2..3),
            (ArtifactSpan::Lines(0, 99), 0..4),
        ] {
            assert_eq!(span.blocks(&starts), blocks, "{span:?}");
        }
        assert_eq!(ArtifactSpan::Whole.blocks(&[]), 0..0);
        assert_eq!(ArtifactSpan::Lines(3, 9).blocks(&[]), 0..0);
    }
}
