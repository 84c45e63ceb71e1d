//! What is known of the tools of servers, kept over restarts, and the search over them.

use std::sync::Arc;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

pub use crate::page::Fit;
use crate::{
    outcome::Fault,
    ports::servers::RefreshReport,
    source::Listing,
    tool::{ToolId, ToolSpec},
    tool_policy::Promise,
};

/// What tools are for, as far as their server's tags or their words tell. The last is everything else.
pub const CATEGORIES: [&str; 9] =
    ["files", "code", "web", "data", "messages", "documents", "cloud", "memory", "other"];

/// What becomes of a tool that is not what it was when it was first seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnChange {
    /// It is served, and a warning says what changed.
    #[default]
    Warn,
    /// It is held back until somebody approves it by its digest.
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
    /// What becomes of tools that changed.
    pub on_change: OnChange,
}

/// What the index knows of a server. Times are milliseconds since 1970-01-01T00:00:00Z.
#[derive(Debug, Clone)]
pub struct KnownListing {
    /// What it listed last.
    pub listing: Arc<Listing>,
    /// When that last changed; none where it is as it was first seen.
    pub last_change: Option<u64>,
    /// Of each tool: its category, and when it last changed.
    pub tools: Arc<Vec<KnownTool>>,
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
    pub held: Option<String>,
}

/// A changed tool that waits for a review: it is held back, or it counts as stricter than its server says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HeldTool {
    /// The server.
    pub server: String,
    /// The tool.
    pub tool: String,
    /// SHA-256 of the new definition, by which it is approved.
    pub digest: String,
    /// As it was when it was approved, or first seen; canonical JSON.
    pub before: String,
    /// As it is now.
    pub now: String,
    /// True if it is neither listed nor called until it is approved.
    pub held_back: bool,
    /// What it counts as until it is approved, if that is not what the server says.
    pub counts_as: Option<Promise>,
    /// What the server says.
    pub says: Promise,
}

/// What is looked for.
#[derive(Debug, Clone, Default)]
pub struct ToolQuestion {
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
    pub fit: Fit,
}

/// What a search found.
#[derive(Debug, Clone, Default)]
pub struct ToolsFound {
    /// Best first; they end where they stop covering the question. The same question gives the same order.
    pub hits: Vec<ToolHit>,
    /// Words of the question that no tool has that may be found.
    pub unmatched_terms: Vec<String>,
    /// What kept tools from being found, in a sentence.
    pub note: Option<String>,
}

/// Whether a tool may be found.
pub type MayFind<'a> = &'a (dyn Fn(&ToolId) -> bool + Send + Sync);

/// The index. A store that cannot be reached is an `unavailable` fault that names it.
#[async_trait]
pub trait ToolIndex: Send + Sync {
    /// Writes what a server lists: only what changed, unless `force`. Vectors are made in the background.
    async fn put(&self, listing: IndexedListing, force: bool) -> Result<RefreshReport, Fault>;

    /// What is known of a server.
    async fn known(&self, server: &str) -> Result<Option<KnownListing>, Fault>;

    /// Forgets a server.
    async fn forget(&self, server: &str) -> Result<(), Fault>;

    /// Searches those tools that `may_find` lets through; the others leave no trace in what comes back.
    async fn search(&self, question: &ToolQuestion, may_find: MayFind<'_>) -> Result<ToolsFound, Fault>;

    /// Changes that wait, by server and tool.
    async fn held(&self) -> Result<Vec<HeldTool>, Fault>;

    /// Approves a change by the digest of the new definition; false where none with this digest waits.
    async fn approve(&self, server: &str, tool: &str, digest: &str) -> Result<bool, Fault>;

    /// Another number than before where anything that is listed or held back changed, whichever process changed it.
    async fn generation(&self) -> Result<i64, Fault>;
}
