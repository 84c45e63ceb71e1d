//! What writing pages did, and how many there are.

use serde::{Deserialize, Serialize};

use super::PageType;

/// A link to a page that does not exist.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct UnresolvedLink {
    /// Id of the page that declares it.
    pub page: String,
    /// The edge as declared.
    pub edge: String,
    /// The id that does not exist.
    pub target: String,
}

/// An edge of an unknown kind; its links are kept as `related`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct UnknownEdge {
    /// As it is written.
    pub edge: String,
    /// How many links are declared with it.
    pub links: u32,
    /// The first page that declares one, by id.
    pub page: String,
}

/// Pages that now follow another file than before, because two folders hold the same ids.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TakenOverPages {
    /// The wiki folder that they came from; none where a caller wrote them.
    pub from: Option<String>,
    /// Their ids, sorted.
    pub pages: Vec<String>,
}

/// Where a page lives that a caller wrote.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct PageLocation {
    /// Its id.
    pub page: String,
    /// Its file, whole path; none where it lives in the store alone.
    pub file: Option<String>,
}

/// What writing pages did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexReport {
    /// Pages that were not there before.
    pub added: u32,
    /// Pages whose text or header changed.
    pub updated: u32,
    /// Pages that are as they were.
    pub unchanged: u32,
    /// Pages that are gone.
    pub removed: u32,
    /// Links that the pages of this run declare.
    pub links: u32,
    /// Those of them that point nowhere, sorted.
    pub unresolved_links: Vec<UnresolvedLink>,
    /// Files left out, each with the reason.
    pub skipped: Vec<String>,
    /// Edges of the pages of this run that are none of the known ones, sorted.
    pub unknown_edges: Vec<UnknownEdge>,
    /// Pages of this run that another folder, or a caller, held before, by where they came from.
    pub taken_over: Vec<TakenOverPages>,
    /// Where the pages of this run live; empty where a folder was indexed.
    pub written: Vec<PageLocation>,
}

/// What a patch did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PatchReport {
    /// The page.
    pub id: String,
    /// Fields whose value is now another one.
    pub changed: Vec<String>,
    /// The file that was rewritten, as an absolute path.
    pub file: Option<String>,
    /// The file that the page came from and that was left as it is, because it lies outside the allowed
    /// wiki folders; indexing it again brings its text back.
    pub kept_file: Option<String>,
    /// The page's date afterwards.
    pub last_updated: Option<String>,
    /// Links of the page that point nowhere.
    pub unresolved_links: Vec<UnresolvedLink>,
    /// Its edges that are none of the known ones, sorted.
    pub unknown_edges: Vec<UnknownEdge>,
}

/// How much an engine holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EngineStatistics {
    /// Name of the engine, `sqlite` for example.
    pub engine: String,
    /// Pages.
    pub pages: u32,
    /// Links that resolve.
    pub links: u32,
    /// Pages per type, in the order of [`PageType::ALL`], without the types that have none.
    pub by_type: Vec<(PageType, u32)>,
}
