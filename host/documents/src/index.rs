//! Index run: compares a directory with the stored documents, then stores the differences in batches. An interrupted
//! run resumes with the next batch.

mod flow;

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    path::{Path, PathBuf},
    sync::Arc,
};

use gatehouse_core::{
    outcome::Fault,
    ports::{
        Llm,
        documents::{DocumentStore, RepositoryState},
    },
};
use tokio_util::sync::CancellationToken;

use crate::{
    clean::saturating_u32,
    converters::Converter,
    git::{GitCheckout, WorkTree, checkout},
    guide::{self, GuidePolicy},
    kinds::{self, FileKind},
    walk::{FolderListing, walk},
};

const MAX_REMOVED_PATHS: usize = 2_000;

const MAX_NAMED_PATHS: usize = 100;

#[derive(Debug, Clone)]
pub struct IndexSource {
    pub root: PathBuf,
    pub name: String,
    /// Origin without credentials. Defaults to the remote `origin` of a checkout.
    pub url: Option<String>,
}

#[derive(Clone, Default)]
pub struct Options {
    pub guide: GuidePolicy,
    /// Model for the guide. Without a model, or if it fails, the guide uses the content only.
    pub llm: Option<Arc<dyn Llm>>,
    /// Converters of files that are not text, best first.
    pub converters: Vec<Converter>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndexProgress {
    /// Files that were stored, unchanged or skipped.
    pub done: usize,
    pub total: usize,
}

pub type OnIndexProgress<'a> = &'a (dyn Fn(IndexProgress) + Send + Sync);

/// Files with a remark each.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileNotes {
    /// Number of files per remark.
    pub counts: BTreeMap<String, usize>,
    /// First 100 files, as (path, remark).
    pub named: Vec<(String, String)>,
}

impl FileNotes {
    pub fn total(&self) -> usize {
        self.counts.values().sum()
    }

    pub(crate) fn add(&mut self, path: String, reason: impl Into<String>) {
        let reason = reason.into();
        *self.counts.entry(reason.clone()).or_default() += 1;
        if self.named.len() < MAX_NAMED_PATHS {
            self.named.push((path, reason));
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum GuideOutcome {
    /// The stored guide is current, or none was requested.
    #[default]
    Unchanged,
    Written {
        by: String,
    },
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IndexRunReport {
    pub added: usize,
    pub updated: usize,
    pub unchanged: usize,
    pub removed: usize,
    pub skipped: FileNotes,
    /// Files that were read with a caveat, such as another encoding.
    pub noted: FileNotes,
    pub bytes: u64,
    /// In o200k_base tokens.
    pub tokens: u64,
    pub guide: GuideOutcome,
    /// True if the run was cancelled. The next run resumes after the stored batches.
    pub cancelled: bool,
}

/// A directory and its files, before any is read.
pub struct FolderScan {
    source: IndexSource,
    /// Canonical.
    root: PathBuf,
    git: GitCheckout,
    listing: FolderListing,
}

impl FolderScan {
    /// Lists the files of a source.
    ///
    /// # Errors
    /// - `not-found` or `denied` if the directory does not exist or cannot be read
    /// - `invalid-arguments` if it is not a directory
    /// - `exhausted` if it has too many files
    pub async fn new(source: IndexSource, cancel: &CancellationToken) -> Result<Self, Fault> {
        let (root, git, listing) = scan_folder(source.root.clone(), cancel.clone()).await?;
        Ok(Self { source, root, git, listing })
    }

    /// Returns true if a file has an extension that only a converter can read.
    pub fn needs_converter(&self) -> bool {
        self.listing.files.iter().any(|path| kinds::needs_converter(path))
    }
}

/// Updates the stored repository to match the directory. Must be called inside a Tokio runtime, because files are
/// converted on its blocking threads.
///
/// # Errors
/// - `invalid-arguments` if the repository belongs to another directory that still exists
/// - errors of the store
pub async fn index(
    store: &dyn DocumentStore,
    scan: FolderScan,
    options: Options,
    progress: OnIndexProgress<'_>,
    cancel: CancellationToken,
) -> Result<IndexRunReport, Fault> {
    let FolderScan { source, root, git, listing: walked } = scan;
    let mut report = IndexRunReport {
        skipped: walked.skipped,
        noted: walked.noted,
        cancelled: cancel.is_cancelled(),
        ..IndexRunReport::default()
    };
    if report.cancelled {
        return Ok(report);
    }
    let mut state = load_or_create_state(store, &source, &root, &git).await?;
    let name = state.repository.name.clone();
    let heads = store.heads(&name).await?;
    let stored_hashes: HashMap<String, String> =
        heads.into_iter().map(|head| (head.path, head.hash)).collect();
    let run = flow::IndexRun { store, state: &mut state, report: &mut report, progress, cancel: &cancel };
    let (unseen, facts) = run.store_files(&root, walked.files, stored_hashes, &options.converters).await?;
    if report.cancelled {
        return Ok(report);
    }
    let removed_paths: Vec<String> =
        unseen.into_iter().filter(|path| !is_within(path, &walked.unreadable)).collect();
    for part in removed_paths.chunks(MAX_REMOVED_PATHS) {
        store.change(&name, Vec::new(), part.to_vec()).await?;
        report.removed += part.len();
        state.changed_since_guide = state.changed_since_guide.saturating_add(saturating_u32(part.len()));
        store.put_state(&state).await?;
    }
    // The commit is stored only after all documents are.
    state.repository.commit = git.commit;
    finish(store, &options, state, facts, &mut report).await?;
    Ok(report)
}

/// Returns the canonical directory, its checkout, and its files.
async fn scan_folder(
    root: PathBuf,
    cancel: CancellationToken,
) -> Result<(PathBuf, GitCheckout, FolderListing), Fault> {
    run_blocking(move || {
        let display_path = root.display().to_string();
        let root = root.canonicalize().map_err(|error| {
            let message = format!("cannot read '{display_path}': {error}");
            let missing = error.kind() == std::io::ErrorKind::NotFound;
            if missing { Fault::not_found(message) } else { Fault::denied(message) }
        })?;
        if !root.is_dir() {
            return Err(Fault::invalid(format!("'{display_path}' is not a directory"))
                .hint("Name the directory that contains it."));
        }
        std::fs::read_dir(&root)
            .map_err(|error| Fault::denied(format!("cannot read '{display_path}': {error}")))?;
        let git = checkout(&root);
        let work_tree = WorkTree::containing(&root);
        let walked = walk(&root, work_tree.as_ref(), &|| cancel.is_cancelled())?;
        Ok((root, git.unwrap_or_default(), walked))
    })
    .await?
}

async fn run_blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Fault> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|_| Fault::internal("failed to read the directory because of a bug in Gatehouse"))
}

async fn load_or_create_state(
    store: &dyn DocumentStore,
    source: &IndexSource,
    root: &Path,
    git: &GitCheckout,
) -> Result<RepositoryState, Fault> {
    let stored = store.state(&source.name).await?;
    let is_new = stored.is_none();
    let mut state = stored.unwrap_or_default();
    let here = root.display().to_string();
    if let Some(other) = state.root.as_ref().filter(|other| **other != here) {
        let other_path = PathBuf::from(other);
        if run_blocking(move || other_path.is_dir()).await? {
            let message = format!("repository '{}' was created from '{other}'", state.repository.name);
            return Err(Fault::invalid(message)
                .hint("Choose another name for this directory, or remove that repository first."));
        }
    }
    state.root = Some(here);
    state.repository.url = source.url.clone().or_else(|| git.url.clone());
    if is_new {
        state.repository.name.clone_from(&source.name);
        store.put_state(&state).await?;
    }
    Ok(state)
}

/// Stores the final state, with a new guide if one is due.
async fn finish(
    store: &dyn DocumentStore,
    options: &Options,
    mut state: RepositoryState,
    facts: Vec<guide::GuideFacts>,
    report: &mut IndexRunReport,
) -> Result<(), Fault> {
    let name = state.repository.name.clone();
    let paths: Vec<String> = store.heads(&name).await?.into_iter().map(|head| head.path).collect();
    state.repository.kind = Some(kind_of(&paths).to_owned());
    state.repository.file_count = saturating_u32(paths.len());
    store.put_state(&state).await?;
    if options.guide.is_due(&state) && !paths.is_empty() {
        let written = guide::write(store, &state, &paths, facts, options.llm.as_ref()).await?;
        state.repository.navigation_guide = Some(written.text);
        state.changed_since_guide = 0;
        store.put_state(&state).await?;
        report.guide = GuideOutcome::Written { by: written.author_line };
    }
    Ok(())
}

fn kind_of(paths: &[String]) -> &'static str {
    use FileKind::{AsciiDoc, Converted, Data, Markdown, Plain, Rst, Source};
    if paths.iter().filter(|path| path.ends_with(".ipynb")).count() * 2 >= paths.len() {
        return "notebooks";
    }
    // Stored files without a kind of their own were converted.
    let kinds: Vec<FileKind> = paths.iter().map(|path| kinds::kind(path).unwrap_or(Converted)).collect();
    // The first that reaches its percentage of the documents.
    let names: [(usize, &[FileKind], &str); 3] = [
        (60, &[Markdown, Rst, AsciiDoc, Converted, Plain], "documentation"),
        (30, &[Source], "source code"),
        (60, &[Data], "data"),
    ];
    let count = |group: &[FileKind]| kinds.iter().filter(|kind| group.contains(kind)).count();
    let name = names.iter().find(|(percent, group, _)| count(group) * 100 >= kinds.len() * percent);
    name.map_or("mixed", |(.., name)| name)
}

/// Returns true if the path is in or equal to one of `folders`. The empty path contains all paths.
fn is_within(path: &str, folders: &[String]) -> bool {
    folders.iter().any(|folder| {
        let rest = path.strip_prefix(folder.as_str());
        folder.is_empty() || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    })
}

/// Stored paths that this run has not seen yet.
pub(crate) type UnseenPaths = HashSet<String>;

#[cfg(test)]
mod tests;
