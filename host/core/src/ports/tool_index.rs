//! A persistent index of the tools of servers, with search.

use std::sync::Arc;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

pub use crate::page::{MatchQuality, SearchResult};
use crate::{
    Effect, Fault, Listing, ToolId, ToolSpec, definition::DefinitionKind, ports::servers::RefreshReport,
    tool_policy::ToolPromise,
};

/// Tool categories, chosen by the server's tags or the tool's words. The last is for all other tools.
pub const CATEGORIES: [&str; 9] =
    ["files", "code", "web", "data", "messages", "documents", "cloud", "memory", "other"];

/// Policy for changed definitions: of tools, prompts, templates and the server's instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChangePolicy {
    /// Serve the new definition, and log a warning with the changes.
    #[default]
    Warn,
    /// Quarantine it until it is approved by its digest. Also applies to definitions added after the first listing.
    Quarantine,
}

#[derive(Debug, Clone)]
pub struct IndexedListing {
    pub server: Arc<str>,
    /// Tags of the server, which may name a category.
    pub tags: Vec<String>,
    pub listing: Arc<Listing>,
    pub on_change: ChangePolicy,
}

/// An indexed listing. Times are milliseconds since 1970-01-01T00:00:00Z.
#[derive(Debug, Clone)]
pub struct KnownListing {
    /// The last listing: all tools, other definitions except quarantined ones, and the approved instructions.
    pub listing: Arc<Listing>,
    /// When the listing last changed. `None` if it never did.
    pub last_change: Option<u64>,
    pub tools: Arc<Vec<KnownTool>>,
    pub quarantined: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownTool {
    pub name: Arc<str>,
    /// Hexadecimal SHA-256 of its canonical definition.
    pub digest: String,
    /// One of [`CATEGORIES`].
    pub category: &'static str,
    pub last_change: Option<u64>,
    pub quarantine_reason: Option<String>,
    /// True if a person declared the effect of this definition.
    pub is_declared: bool,
}

/// A definition to review: quarantined, or a tool that is treated as stricter than its server declares.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PendingChange {
    pub server: String,
    pub kind: DefinitionKind,
    pub name: String,
    pub digest: String,
    /// The approved or first definition, as canonical JSON. `None` if it is new.
    pub before: Option<String>,
    pub now: String,
    /// True if it is not served until it is approved.
    pub held_back: bool,
    /// The promise used until approval. `None` if it is the server's.
    pub counts_as: Option<ToolPromise>,
    /// The promise that the server declares for a tool.
    pub says: Option<ToolPromise>,
    /// The effect that a person declared for an earlier definition. It no longer counts.
    pub outdated_effect: Option<Effect>,
}

impl PendingChange {
    pub fn label(&self) -> String {
        self.kind.label(&self.name)
    }
}

/// The effect that a person declares for one definition of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeclaredEffect {
    /// The server's own name of the tool.
    pub tool: String,
    pub digest: String,
    pub effect: Effect,
}

#[derive(Debug, Clone, Default)]
pub struct ToolSearchRequest {
    pub query: String,
    pub limit: usize,
    pub min_score: f64,
}

#[derive(Debug, Clone)]
pub struct ToolHit {
    /// The server and its own name of the tool.
    pub id: ToolId,
    pub spec: Arc<ToolSpec>,
    /// Score from 0 to 1, comparable within one search.
    pub score: f64,
    pub fit: MatchQuality,
}

/// Tools that match a query, without hits that no longer do.
pub type ToolSearchResult = SearchResult<ToolHit>;

pub type ToolFilter<'a> = &'a (dyn Fn(&ToolId) -> bool + Send + Sync);

/// The tool index.
///
/// If a file fails, listings stay in memory and only approvals fail, with `unavailable`. If a server of a database fails,
/// listings stay as they were last read, and changes fail. A fault is never about the MCP server.
#[async_trait]
pub trait ToolIndex: Send + Sync {
    /// Stores a listing. Writes only changes, unless `force` is set. Vectors are computed in the background.
    async fn put(&self, listing: IndexedListing, force: bool) -> Result<RefreshReport, Fault>;

    async fn known(&self, server: &str) -> Result<Option<KnownListing>, Fault>;

    /// Removes a server with all that is stored about it.
    async fn forget(&self, server: &str) -> Result<(), Fault>;

    /// Returns how a server was last connected, as [`ToolIndex::set_connection_start`] stored it. An index that is not
    /// persistent stores nothing.
    async fn connection_start(&self, _server: &str) -> Result<Option<String>, Fault> {
        Ok(None)
    }

    /// Stores how a server was connected, or that this is unknown.
    async fn set_connection_start(&self, _server: &str, _start: Option<String>) -> Result<(), Fault> {
        Ok(())
    }

    /// Searches the tools that `may_find` accepts. Others do not affect the results.
    async fn search(
        &self,
        question: &ToolSearchRequest,
        may_find: ToolFilter<'_>,
    ) -> Result<ToolSearchResult, Fault>;

    /// Returns changes to review, by server, kind and name.
    async fn pending_changes(&self) -> Result<Vec<PendingChange>, Fault>;

    /// Approves a change by its label and the digest of the new definition. Returns false if no such change is pending.
    async fn approve(&self, server: &str, label: &str, digest: &str) -> Result<bool, Fault>;

    /// Sets the effects of tools of a server, in place of its hints. Each counts until the definition changes. Changes
    /// nothing and returns false if a tool no longer has its digest. An index that is not persistent never has it.
    async fn declare_effects(&self, _server: &str, _declared: Vec<DeclaredEffect>) -> Result<bool, Fault> {
        Ok(false)
    }

    /// Takes back all declared effects of a server, because another program may have its name now.
    async fn drop_declared_effects(&self, _server: &str) -> Result<(), Fault> {
        Ok(())
    }

    /// Returns a number that changes whenever any process changes a listed or quarantined definition.
    async fn generation(&self) -> Result<i64, Fault>;
}
