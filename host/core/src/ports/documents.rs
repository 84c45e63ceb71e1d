//! Document repositories: [`DocumentReader`] for searching and reading, [`DocumentStore`] for indexing.
//!
//! Engines implement both. Nothing here opens a file.

use std::time::Duration;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::Fault;
pub use crate::page::{MatchQuality, SearchResult};

/// An indexed directory or git checkout.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repository {
    pub id: String,
    /// Unique name, used by tools.
    pub name: String,
    /// Origin, without credentials.
    pub url: Option<String>,
    /// The indexed commit. `None` if it is not a git checkout.
    pub commit: Option<String>,
    pub kind: Option<String>,
    pub file_count: u32,
    /// Markdown about the contents and how to search them. `None` if not requested or not written yet.
    pub navigation_guide: Option<String>,
    /// RFC 3339, in UTC.
    pub created_at: Option<String>,
    pub updated_at: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SearchMode {
    /// Matches the words of the query.
    Text,
    /// Matches the meaning of the query.
    Semantic,
}

/// Lines of a document, counted from 1, inclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineRange {
    pub first: u32,
    pub last: u32,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DocumentHit {
    /// Path within the repository, with `/`.
    pub path: String,
    pub score: f64,
    pub fit: MatchQuality,
    /// Tokens (o200k_base) of the whole document.
    pub tokens: u32,
    pub best: Option<LineRange>,
}

pub type DocumentSearchResult = SearchResult<DocumentHit>;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Document {
    pub repository: String,
    pub path: String,
    pub text: String,
    /// The range of `text`. Both 0 if it is empty.
    pub lines: LineRange,
    pub total_lines: u32,
    pub total_tokens: u32,
    /// The source format if the text was converted (`HTML`, `notebook`). Lines refer to the text.
    pub made_from: Option<String>,
    /// Page, sheet, slide or section of a converted document that the first line continues.
    pub part: Option<String>,
}

/// Document repositories.
///
/// Methods fail with `unavailable` and the engine's name and address if it is unreachable. An empty result is never a
/// fault.
#[async_trait]
pub trait DocumentReader: Send + Sync {
    /// Returns all repositories, by name. Includes navigation guides if `guides` is set.
    async fn repositories(&self, guides: bool) -> Result<Vec<Repository>, Fault>;

    /// Finds documents. Any text is a valid query; `limit` is at least 1.
    ///
    /// # Errors
    ///
    /// `not-found` with similar names if the repository does not exist.
    async fn search(
        &self,
        repository: &str,
        query: &str,
        mode: SearchMode,
        limit: usize,
    ) -> Result<DocumentSearchResult, Fault>;

    /// Reads a document or a range of its lines.
    ///
    /// # Errors
    ///
    /// `not-found` with similar names if the repository or path does not exist; `invalid-arguments` if the range starts
    /// after the last line or ends before it starts.
    async fn read(&self, repository: &str, path: &str, lines: Option<LineRange>) -> Result<Document, Fault>;
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RepositoryState {
    pub repository: Repository,
    /// The absolute source directory. `None` if another program manages the repository.
    pub root: Option<String>,
    /// Files added, changed and removed since the navigation guide was written.
    pub changed_since_guide: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileHead {
    pub path: String,
    /// Hexadecimal SHA-256 of the file's bytes and of the conversion. Changes if either does.
    pub hash: String,
}

/// A part of a document with its own vector.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentChunk {
    /// Start in the text, in bytes.
    pub start: usize,
    /// End in the text, in bytes, exclusive.
    pub end: usize,
    pub lines: LineRange,
    /// Enclosing headings, outermost first, joined by ` > `. Empty if there are none.
    pub heading: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewFile {
    pub head: FileHead,
    pub text: String,
    pub made_from: Option<String>,
    /// Headings or defined names: words that describe the file.
    pub headings: Vec<String>,
    pub lines: u32,
    pub tokens: u32,
    pub chunks: Vec<DocumentChunk>,
}

/// A store for indexed documents.
///
/// Each method is atomic, so an interrupted run resumes. If two runs overlap, the last write wins. Faults are those of
/// [`DocumentReader`], and `denied` if the database belongs to another program and is read-only.
#[async_trait]
pub trait DocumentStore: DocumentReader {
    /// Returns a repository with its guide. `None` if the name is unknown.
    async fn state(&self, repository: &str) -> Result<Option<RepositoryState>, Fault>;

    /// Creates or updates a repository's metadata. The store sets id, dates and file count.
    async fn put_state(&self, state: &RepositoryState) -> Result<(), Fault>;

    async fn heads(&self, repository: &str) -> Result<Vec<FileHead>, Fault>;

    async fn change(&self, repository: &str, put: Vec<NewFile>, remove: Vec<String>) -> Result<(), Fault>;

    /// Removes a repository and its contents. Returns false if the name is unknown.
    async fn remove(&self, repository: &str) -> Result<bool, Fault>;

    /// Waits until stored chunks have vectors. Returns false on failure or after `limit`.
    async fn wait_for_vectors(&self, limit: Duration) -> bool;
}
