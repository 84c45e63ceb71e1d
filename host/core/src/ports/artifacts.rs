//! Artifacts: large texts that are stored for a limited time.
//!
//! Each belongs to a principal, and no method gives a principal access to another's artifacts.

use std::time::Duration;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

pub use crate::page::MatchQuality;
use crate::{Fault, Principal, reply_view::ReplyView};

pub const ID_PREFIX: &str = "art-";

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ArtifactDraft {
    pub text: String,
    /// Structured data of the same reply, a JSON value, if the text is not the same value.
    pub data: Option<String>,
    pub mime_type: String,
    /// The exposed name of the tool that produced the text.
    pub tool: Option<String>,
    /// The gate or server of that tool.
    pub source: Option<String>,
    pub preset: String,
    /// A summary of the text, used by searches.
    pub summary: Option<String>,
    pub tags: Vec<String>,
    /// Time to live. `None` for the store's default.
    pub ttl: Option<Duration>,
    /// Maximum bytes of the owner's texts, this one included. `None` for no limit.
    pub owner_limit: Option<u64>,
}

/// Metadata of an artifact. Times are milliseconds since 1970-01-01T00:00:00Z.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Artifact {
    /// [`ID_PREFIX`] and the first 12 hexadecimal digits of the SHA-256 of what is stored. More digits if two
    /// texts of one principal collide.
    pub id: String,
    pub size: u64,
    pub lines: u64,
    pub mime_type: String,
    pub tool: Option<String>,
    pub source: Option<String>,
    pub preset: String,
    pub summary: Option<String>,
    /// Sorted, without duplicates.
    pub tags: Vec<String>,
    pub created: u64,
    /// When it expires. `None` if it is pinned.
    pub expires: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ArtifactPart {
    Whole,
    /// Characters (Unicode scalar values).
    Characters(TextRange),
    /// Lines, without the line ending of the last one.
    Lines(TextRange),
    /// The value at a JSON pointer (RFC 6901) into the data, as written there.
    Pointer(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TextRange {
    /// Zero-based start.
    pub offset: u64,
    pub count: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ArtifactSlice {
    pub text: String,
    /// Total size in the requested unit; characters for a pointer or the whole text.
    pub total: u64,
    /// Offset of the next slice. `None` at the end.
    pub next: Option<u64>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ArtifactFilter {
    pub tags: Vec<String>,
    /// Words that the summary, tool, source or tags must contain, ignoring case. Empty matches all.
    pub words: String,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ArtifactHit {
    pub artifact: Artifact,
    /// Score from 0 to 1, comparable within one search.
    pub score: f64,
    pub fit: MatchQuality,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ArtifactChanges {
    pub summary: Option<String>,
    pub add_tags: Vec<String>,
    /// True to store it until it is deleted. False restarts its time to live.
    pub pinned: Option<bool>,
}

/// A store of artifacts.
///
/// Expired artifacts are invisible immediately, and leave the disk with the next sweep. If the store is unreachable,
/// methods fail with `unavailable` and its name. Unknown, foreign and expired ids all give the same `not-found`.
#[async_trait]
pub trait ArtifactService: Send + Sync {
    /// Stores a text.
    ///
    /// If the principal already stored the same text, this restarts its time to live, adds the tags, and replaces tool,
    /// source and summary if given. If the store is full, the owner that holds the most loses artifacts. Fails with
    /// `exhausted` if that is this one, if its own limit is reached, or if the disk is full.
    async fn put(&self, owner: &Principal, draft: ArtifactDraft) -> Result<Artifact, Fault>;

    /// Returns the bytes of all texts of an owner.
    async fn owner_bytes(&self, owner: &Principal) -> Result<u64, Fault>;

    /// Returns the metadata of each id, in order.
    async fn info(&self, owner: &Principal, ids: &[String]) -> Result<Vec<Option<Artifact>>, Fault>;

    /// Reads a part of the text.
    ///
    /// Fails with `not-found` if the pointer leads nowhere; the fault names the part of the pointer that exists. Fails
    /// with `invalid-arguments` if the text has no data.
    async fn read(&self, owner: &Principal, id: &str, part: &ArtifactPart) -> Result<ArtifactSlice, Fault>;

    /// Reads the data of a text, or of the data stored with it. The view has no text.
    async fn view(&self, owner: &Principal, id: &str) -> Result<ReplyView<'static>, Fault>;

    async fn recent(
        &self,
        owner: &Principal,
        filter: &ArtifactFilter,
        limit: usize,
    ) -> Result<Vec<Artifact>, Fault>;

    async fn search(&self, owner: &Principal, query: &str, limit: usize) -> Result<Vec<ArtifactHit>, Fault>;

    async fn change(&self, owner: &Principal, id: &str, changes: ArtifactChanges) -> Result<Artifact, Fault>;

    /// Deletes an artifact. Returns false if it does not exist.
    async fn delete(&self, owner: &Principal, id: &str) -> Result<bool, Fault>;
}
