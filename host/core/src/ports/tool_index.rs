//! What is known of the tools of servers, kept over restarts, and the search over them.

use std::sync::Arc;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

pub use crate::page::MatchQuality;
use crate::{
    definition::DefinitionKind,
    outcome::Fault,
    ports::servers::RefreshReport,
    source::Listing,
    tool::{ToolId, ToolSpec},
    tool_policy::ToolPromise,
};

/// What tools are for, as far as their server's tags or their words tell. The last is everything else.
pub const CATEGORIES: [&str; 9] =
    ["files", "code", "web", "data", "messages", "documents", "cloud", "memory", "other"];

/// What becomes of a definition that is not the one that was first seen: of a tool, a prompt, a template, or the server's
/// instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChangePolicy {
    /// It is served, and a warning says what changed.
    #[default]
    Warn,
    /// It is held back until somebody approves it by its digest. So is what the server adds after its first listing.
    Quarantine,
}

/// What a server lists, on its way into the index.
#[derive(Debug, Clone)]
pub struct IndexedListing {
    /// The server.
    pub server: Arc<str>,
    /// Its tags, which may name a category.
    pub tags: Vec<String>,
    /// What it lists, cleaned and checked.
    pub listing: Arc<Listing>,
    /// What becomes of definitions that changed.
    pub on_change: ChangePolicy,
}

/// What the index knows of a server. Times are milliseconds since 1970-01-01T00:00:00Z.
#[derive(Debug, Clone)]
pub struct KnownListing {
    /// What it listed last: all its tools, and of the rest what is not held back, with the instructions that were approved.
    pub listing: Arc<Listing>,
    /// When that last changed; none where it is as it was first seen.
    pub last_change: Option<u64>,
    /// Of each tool: its category, and when it last changed.
    pub tools: Arc<Vec<KnownTool>>,
    /// Number of definitions that are held back.
    pub quarantined: usize,
}

/// What the index knows of one tool beside what its server says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownTool {
    /// The server's own name for it.
    pub name: Arc<str>,
    /// SHA-256 of its canonical definition, hexadecimal.
    pub digest: String,
    /// One of [`CATEGORIES`].
    pub category: &'static str,
    /// When its definition last changed; none where it is as it was first seen.
    pub last_change: Option<u64>,
    /// Why it is held back, where it is.
    pub quarantine_reason: Option<String>,
}

/// A definition that waits for a review: it is held back, or it is a tool that counts as stricter than its server says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PendingChange {
    /// The server.
    pub server: String,
    /// What is defined.
    pub kind: DefinitionKind,
    /// Its name among those of its kind.
    pub name: String,
    /// SHA-256 of the new definition, by which it is approved.
    pub digest: String,
    /// As it was when it was approved, or first seen; canonical JSON. `None` if it is new.
    pub before: Option<String>,
    /// As it is now.
    pub now: String,
    /// True if it is not served until it is approved.
    pub held_back: bool,
    /// What a tool counts as until it is approved, if that is not what the server says.
    pub counts_as: Option<ToolPromise>,
    /// What the server says of a tool.
    pub says: Option<ToolPromise>,
}

impl PendingChange {
    /// Returns the name by which it is approved.
    pub fn label(&self) -> String {
        self.kind.label(&self.name)
    }
}

/// What is looked for.
#[derive(Debug, Clone, Default)]
pub struct ToolSearchRequest {
    /// In any words.
    pub query: String,
    /// The most hits.
    pub limit: usize,
    /// 0 to 1; hits below are left out.
    pub min_score: f64,
}

/// A tool that answers.
#[derive(Debug, Clone)]
pub struct ToolHit {
    /// Whose tool, and its own name.
    pub id: ToolId,
    /// As its server declares it.
    pub spec: Arc<ToolSpec>,
    /// 0 to 1, comparable within one search.
    pub score: f64,
    /// How well it answers, whatever the other hits.
    pub fit: MatchQuality,
}

/// What a search found.
#[derive(Debug, Clone, Default)]
pub struct ToolSearchResult {
    /// Best first; they end where they stop covering the question. The same question gives the same order.
    pub hits: Vec<ToolHit>,
    /// Words of the question that no tool has that may be found.
    pub unmatched_terms: Vec<String>,
    /// What kept tools from being found, in a sentence.
    pub note: Option<String>,
}

/// Whether a tool may be found.
pub type ToolFilter<'a> = &'a (dyn Fn(&ToolId) -> bool + Send + Sync);

/// The index. Servers are served from it, so a store that cannot be used is no fault: what servers list is kept in memory
/// meanwhile, and only an approval is refused, as `unavailable`. A fault says nothing of the server.
#[async_trait]
pub trait ToolIndex: Send + Sync {
    /// Writes what a server lists: only what changed, unless `force`. Vectors are made in the background.
    async fn put(&self, listing: IndexedListing, force: bool) -> Result<RefreshReport, Fault>;

    /// What is known of a server.
    async fn known(&self, server: &str) -> Result<Option<KnownListing>, Fault>;

    /// Forgets a server.
    async fn forget(&self, server: &str) -> Result<(), Fault>;

    /// Searches those tools that `may_find` lets through; the others leave no trace in what comes back.
    async fn search(
        &self,
        question: &ToolSearchRequest,
        may_find: ToolFilter<'_>,
    ) -> Result<ToolSearchResult, Fault>;

    /// Changes that wait, by server, kind and name.
    async fn pending_changes(&self) -> Result<Vec<PendingChange>, Fault>;

    /// Approves a change by its label and the digest of the new definition. `false` if none with this digest waits.
    async fn approve(&self, server: &str, label: &str, digest: &str) -> Result<bool, Fault>;

    /// Another number than before where anything that is listed or held back changed, whichever process changed it.
    async fn generation(&self) -> Result<i64, Fault>;
}
