//! Repositories of documents as the host sees them: what gates search and read ([`DocumentReader`]), and what indexing
//! writes ([`DocumentStore`]). Engines implement both; nothing here opens a file.

use std::time::Duration;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::outcome::Fault;
pub use crate::page::MatchQuality;

/// A folder or checkout that was indexed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repository {
    /// Stays the same for as long as the repository does.
    pub id: String,
    /// What tools call it; unique.
    pub name: String,
    /// Where it comes from, without credentials.
    pub url: Option<String>,
    /// The commit that was indexed, where it is a git checkout.
    pub commit: Option<String>,
    /// What it is, in a word or two.
    pub kind: Option<String>,
    /// Documents in it.
    pub file_count: u32,
    /// What is in it and how to search it, as markdown; none where it was not asked for or is not written yet.
    pub navigation_guide: Option<String>,
    /// RFC 3339, in UTC.
    pub created_at: Option<String>,
    /// As `created_at`.
    pub updated_at: Option<String>,
}

/// What a search goes by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SearchMode {
    /// The words of the query.
    Text,
    /// What the query means.
    Semantic,
}

/// Lines of a document, from 1, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineRange {
    /// The first.
    pub first: u32,
    /// The last.
    pub last: u32,
}

/// One document that a search found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DocumentHit {
    /// Within its repository, with `/`.
    pub path: String,
    /// 0 to 1, comparable within one search.
    pub score: f64,
    /// How well it answers, whatever the other hits.
    pub fit: MatchQuality,
    /// Tokens (o200k_base) of the whole document.
    pub tokens: u32,
    /// Where in it the best answer stands, where that is known.
    pub best: Option<LineRange>,
}

/// What a search of documents found, best first; the same query gives the same order.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct DocumentSearchResult {
    /// At most as many as were asked for.
    pub hits: Vec<DocumentHit>,
    /// Words of the query that occur in no document of the repository.
    pub unmatched_terms: Vec<String>,
    /// What the caller should know of how these were found.
    pub note: Option<String>,
}

/// A document, or a part of one, as text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Document {
    /// Name of the repository, as it is spelled there.
    pub repository: String,
    /// Within the repository.
    pub path: String,
    /// The lines that were asked for.
    pub text: String,
    /// Which lines those are; both 0 where it has none.
    pub lines: LineRange,
    /// Lines of the whole document.
    pub total_lines: u32,
    /// Tokens (o200k_base) of the whole document.
    pub total_tokens: u32,
    /// What the text was made of, where it is not the file itself (`HTML`, `notebook`); lines are those of the text.
    pub made_from: Option<String>,
}

/// Repositories of documents. Every method faults with `unavailable` and the engine's name and address when the engine
/// cannot be reached; "nothing found" is never a fault.
#[async_trait]
pub trait DocumentReader: Send + Sync {
    /// Every repository, by name; without `guides`, their navigation guides are left out.
    async fn repositories(&self, guides: bool) -> Result<Vec<Repository>, Fault>;

    /// Finds documents. Any text is a valid query; `limit` is at least 1.
    ///
    /// # Errors
    /// `not-found` with the nearest names where there is no such repository.
    async fn search(
        &self,
        repository: &str,
        query: &str,
        mode: SearchMode,
        limit: usize,
    ) -> Result<DocumentSearchResult, Fault>;

    /// A document, whole or only these lines of it.
    ///
    /// # Errors
    /// `not-found` with the nearest names where there is no such repository or path; `invalid-arguments` where the
    /// lines begin beyond the end, or end before they begin.
    async fn read(&self, repository: &str, path: &str, lines: Option<LineRange>) -> Result<Document, Fault>;
}

/// A repository as indexing knows it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RepositoryState {
    /// What everybody sees.
    pub repository: Repository,
    /// The folder it was read from, absolute; none where another program keeps it.
    pub root: Option<String>,
    /// Files added, changed and removed since the navigation guide was written.
    pub changed_since_guide: u32,
}

/// What is known of a stored file without reading it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileHead {
    /// Within the repository, with `/`.
    pub path: String,
    /// SHA-256 of the file's bytes and of how they were read, in hex: another reading has another one.
    pub hash: String,
}

/// A part of a document that is searched by meaning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentChunk {
    /// Bytes of the document's text: from, and up to.
    pub start: usize,
    /// As `start`.
    pub end: usize,
    /// Its lines.
    pub lines: LineRange,
    /// The headings that lead to it, outermost first, parted by ` > `; empty where there are none.
    pub heading: String,
}

/// A file to be stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewFile {
    /// What it is called, and the version of it.
    pub head: FileHead,
    /// Its text.
    pub text: String,
    /// What the text was made of, where it is not the file itself.
    pub made_from: Option<String>,
    /// Its headings, or the names it defines: the words that tell what it is about.
    pub headings: Vec<String>,
    /// Lines of the text.
    pub lines: u32,
    /// Tokens (o200k_base) of the text.
    pub tokens: u32,
    /// In the order of the text.
    pub chunks: Vec<DocumentChunk>,
}

/// Where indexing keeps what it read. Each method is all or nothing, so a run that is killed goes on where it was; two
/// runs at once end with what the last one read. Faults as [`DocumentReader`] does; `denied` where the database belongs to
/// another program and is only read.
#[async_trait]
pub trait DocumentStore: DocumentReader {
    /// A repository, with its guide; none where there is none of this name.
    async fn state(&self, repository: &str) -> Result<Option<RepositoryState>, Fault>;

    /// Stores what is known of a repository; makes one of a new name. Its id, its dates and its number of files are the store's.
    async fn put_state(&self, state: &RepositoryState) -> Result<(), Fault>;

    /// Every file of a repository, by path.
    async fn heads(&self, repository: &str) -> Result<Vec<FileHead>, Fault>;

    /// Stores files in the place of their older selves, and removes others.
    async fn change(&self, repository: &str, put: Vec<NewFile>, remove: Vec<String>) -> Result<(), Fault>;

    /// Removes a repository with all that is kept of it; false where there is none of this name.
    async fn remove(&self, repository: &str) -> Result<bool, Fault>;

    /// Waits until what is stored has its vectors; false where that fails or takes longer than this.
    async fn wait_for_vectors(&self, limit: Duration) -> bool;
}
