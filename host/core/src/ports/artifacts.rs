//! Artifacts: texts that were too large to show, kept whole for a while. Each belongs to a principal, and no
//! method gives one principal what another one keeps.

use std::time::Duration;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

pub use crate::page::MatchQuality;
use crate::{call::Principal, outcome::Fault};

/// What ids begin with.
pub const ID_PREFIX: &str = "art-";

/// A text to keep.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ArtifactDraft {
    /// The text itself.
    pub text: String,
    /// Its media type.
    pub mime_type: String,
    /// The tool that it is the result of, as the client calls it.
    pub tool: Option<String>,
    /// Whose tool that is: a gate or a server.
    pub source: Option<String>,
    /// The preset that it came through.
    pub preset: String,
    /// What stands in it, in short. Searches go by it.
    pub summary: Option<String>,
    /// In any order, each once or more.
    pub tags: Vec<String>,
    /// How long it is kept; none for as long as the store is set to.
    pub ttl: Option<Duration>,
}

/// What is known of an artifact. Times are milliseconds since 1970-01-01T00:00:00Z.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Artifact {
    /// [`ID_PREFIX`] and the first hexadecimal digits of the SHA-256 of the text: 12 of them, more where two texts of
    /// one principal share those.
    pub id: String,
    /// Bytes of the text.
    pub size: u64,
    /// Its lines.
    pub lines: u64,
    /// Its media type.
    pub mime_type: String,
    /// The tool that it is the result of.
    pub tool: Option<String>,
    /// Whose tool that is.
    pub source: Option<String>,
    /// The preset that it came through.
    pub preset: String,
    /// What stands in it, in short.
    pub summary: Option<String>,
    /// Sorted, each once.
    pub tags: Vec<String>,
    /// When it was first kept.
    pub created: u64,
    /// When it is gone; none where it is pinned.
    pub expires: Option<u64>,
}

/// Which part of a text.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ArtifactPart {
    /// All of it.
    Whole,
    /// Characters (Unicode scalar values).
    Characters(TextRange),
    /// Lines, without the end of the last one.
    Lines(TextRange),
    /// The value at a JSON pointer (RFC 6901), as it stands in the text.
    Pointer(String),
}

/// So many units from an offset, which counts from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TextRange {
    /// Units before it.
    pub offset: u64,
    /// The most units in it.
    pub count: u64,
}

/// A part of a text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ArtifactSlice {
    /// The part.
    pub text: String,
    /// What there is in all, in the unit that was asked in; characters for a pointer and for the whole.
    pub total: u64,
    /// Where the next piece begins, where there is one.
    pub next: Option<u64>,
}

/// What a list of artifacts goes by.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ArtifactFilter {
    /// All of them.
    pub tags: Vec<String>,
    /// Words that summary, tool, source or tags hold, all of them, whatever their case. Empty for any.
    pub words: String,
}

/// An artifact that a search found.
#[derive(Debug, Clone, PartialEq)]
pub struct ArtifactHit {
    /// Which one.
    pub artifact: Artifact,
    /// 0 to 1, comparable within one search.
    pub score: f64,
    /// How well its summary answers, whatever the other hits.
    pub fit: MatchQuality,
}

/// What changes about an artifact.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ArtifactChanges {
    /// Another summary.
    pub summary: Option<String>,
    /// Further tags.
    pub add_tags: Vec<String>,
    /// Whether it stays until it is deleted; taken back, its time begins anew.
    pub pinned: Option<bool>,
}

/// A store of artifacts. What is past its time is gone for every method at once, on disk with the next sweep. A store
/// that cannot be reached is an `unavailable` fault that names it; an unknown id, one of somebody else, and one past its
/// time are the same `not-found`.
#[async_trait]
pub trait ArtifactService: Send + Sync {
    /// Keeps a text. The same text of the same principal again is the same artifact: its time begins anew, tags are
    /// added, and tool, source and summary are the new ones where they are given. `exhausted`, and nothing is kept, where all
    /// artifacts would then be more than the cap, or the disk is full.
    async fn put(&self, owner: &Principal, draft: ArtifactDraft) -> Result<Artifact, Fault>;

    /// What is known of each, in the order of the ids.
    async fn info(&self, owner: &Principal, ids: &[String]) -> Result<Vec<Option<Artifact>>, Fault>;

    /// A part of the text. A pointer to nothing is a `not-found` fault that says how far it leads; one into
    /// what is no JSON is `invalid-arguments`.
    async fn read(&self, owner: &Principal, id: &str, part: &ArtifactPart) -> Result<ArtifactSlice, Fault>;

    /// Those that match, newest first.
    async fn recent(
        &self,
        owner: &Principal,
        filter: &ArtifactFilter,
        limit: usize,
    ) -> Result<Vec<Artifact>, Fault>;

    /// Those whose summaries answer a question best.
    async fn search(&self, owner: &Principal, query: &str, limit: usize) -> Result<Vec<ArtifactHit>, Fault>;

    /// Changes what is known of an artifact.
    async fn change(&self, owner: &Principal, id: &str, changes: ArtifactChanges) -> Result<Artifact, Fault>;

    /// Deletes an artifact; false where there was none.
    async fn delete(&self, owner: &Principal, id: &str) -> Result<bool, Fault>;
}
