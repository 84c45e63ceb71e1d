//! Pipeline from the directory to the store. Files are read on all CPUs; one batch is stored while the next is read.

use std::{collections::HashMap, path::Path, sync::Arc};

use futures_util::{FutureExt as _, StreamExt as _, future, stream};
use gatehouse_core::{
    outcome::Fault,
    ports::documents::{DocumentStore, NewFile, RepositoryState},
};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::UnseenPaths;
use crate::{
    clean::saturating_u32,
    convert_file::{FileOutcome, NewDocument, convert_file},
    guide::{self, GuideFacts},
    report::{IndexProgress, IndexRunReport, OnIndexProgress},
};

/// Smaller batches cost more commits. Larger ones use more memory, and lose more work if the process is killed.
const MAX_BATCH_BYTES: usize = 4 << 20;

const MAX_BATCH_FILES: usize = 500;

pub(super) struct IndexRun<'a> {
    pub(super) store: &'a dyn DocumentStore,
    pub(super) state: &'a mut RepositoryState,
    pub(super) report: &'a mut IndexRunReport,
    pub(super) progress: OnIndexProgress<'a>,
    pub(super) cancel: &'a CancellationToken,
}

pub(super) struct IndexRunOutcome {
    /// Stored paths without a document in the directory.
    pub(super) unseen: UnseenPaths,
    pub(super) facts: Vec<GuideFacts>,
}

#[derive(Default)]
struct FileBatch {
    files: Vec<NewFile>,
    bytes: usize,
    /// Number of files, with any outcome.
    seen: usize,
    statuses: Vec<(String, Result<FileStatus, &'static str>)>,
    facts: Vec<GuideFacts>,
    notes: Vec<(String, String)>,
}

enum FileStatus {
    Unchanged,
    /// The stored version stays, for this reason.
    Unreadable(&'static str),
    New,
}

impl IndexRun<'_> {
    /// Reads all files and stores those whose hash is not `known`.
    pub(super) async fn store_files(
        self,
        root: &Path,
        files: Vec<String>,
        known: HashMap<String, String>,
    ) -> Result<IndexRunOutcome, Fault> {
        let total = files.len();
        (self.progress)(IndexProgress { done: 0, total });
        let mut unseen: UnseenPaths = known.keys().cloned().collect();
        let known = Arc::new(known);
        let (batches, mut stored) = mpsc::channel::<FileBatch>(1);
        let reading = read_all(root, files, Arc::clone(&known), batches, self.cancel).map(Ok);
        let storing = async {
            let (mut done, mut facts) = (0, Vec::new());
            while let Some(mut batch) = stored.recv().await {
                let files = std::mem::take(&mut batch.files);
                if !files.is_empty() {
                    let changed = saturating_u32(files.len());
                    for file in &files {
                        self.report.bytes += file.text.len() as u64;
                        self.report.tokens += u64::from(file.tokens);
                    }
                    self.store.change(&self.state.repository.name, files, Vec::new()).await?;
                    self.state.changed_since_guide = self.state.changed_since_guide.saturating_add(changed);
                    self.store.put_state(self.state).await?;
                }
                done += batch.seen;
                facts.append(&mut batch.facts);
                for (path, status) in batch.statuses {
                    record_status(self.report, &mut unseen, path, status);
                }
                batch.notes.into_iter().for_each(|(path, note)| self.report.noted.add(path, note));
                (self.progress)(IndexProgress { done, total });
            }
            Ok::<_, Fault>(facts)
        };
        let ((), facts) = future::try_join(reading, storing).await?;
        self.report.cancelled = self.cancel.is_cancelled();
        Ok(IndexRunOutcome { unseen, facts })
    }
}

/// Counts the status of a file. Paths that remain in `unseen` are removed at the end.
fn record_status(
    report: &mut IndexRunReport,
    unseen: &mut UnseenPaths,
    path: String,
    status: Result<FileStatus, &'static str>,
) {
    match status {
        Err(why) => report.skipped.add(path, why),
        Ok(status) => {
            let was_known = unseen.remove(&path);
            match status {
                FileStatus::Unchanged => report.unchanged += 1,
                FileStatus::New if was_known => report.updated += 1,
                FileStatus::New => report.added += 1,
                FileStatus::Unreadable(why) => report.skipped.add(path, why),
            }
        }
    }
}

async fn read_all(
    root: &Path,
    files: Vec<String>,
    known: Arc<HashMap<String, String>>,
    batches: mpsc::Sender<FileBatch>,
    cancel: &CancellationToken,
) {
    let processors = std::thread::available_parallelism().map_or(2, usize::from);
    let stride = files.len().div_ceil(guide::MAX_FACTS).max(1);
    let root: Arc<Path> = root.into();
    let jobs = files.into_iter().enumerate().map(|(index, path)| {
        let (root, known) = (Arc::clone(&root), Arc::clone(&known));
        let with_facts = index % stride == 0;
        async move {
            let work = path.clone();
            let job = move || convert_file(&root, &work, known.get(&work).map(String::as_str), with_facts);
            (path, tokio::task::spawn_blocking(job).await)
        }
    });
    let mut read = stream::iter(jobs).buffered(processors);
    let mut batch = FileBatch::default();
    while let Some((path, produced)) = read.next().await {
        if cancel.is_cancelled() {
            break;
        }
        // A panic while one file is read must not end the run.
        batch.add(
            path,
            produced.unwrap_or(FileOutcome::Unreadable("could not be read because of a bug in Gatehouse")),
        );
        if (batch.bytes >= MAX_BATCH_BYTES || batch.seen >= MAX_BATCH_FILES)
            && batches.send(std::mem::take(&mut batch)).await.is_err()
        {
            return;
        }
    }
    // Sending fails only if the storing future returned an error.
    batches.send(batch).await.unwrap_or_default();
}

impl FileBatch {
    fn add(&mut self, path: String, produced: FileOutcome) {
        self.seen += 1;
        let status = match produced {
            FileOutcome::Gone => return,
            FileOutcome::Unchanged => Ok(FileStatus::Unchanged),
            FileOutcome::Unreadable(why) => Ok(FileStatus::Unreadable(why)),
            FileOutcome::Skipped(why) => Err(why),
            FileOutcome::New(document) => {
                let NewDocument { file, facts, note } = *document;
                self.bytes += file.text.len();
                self.facts.extend(facts);
                self.notes.extend(note.map(|note| (path.clone(), note)));
                self.files.push(file);
                Ok(FileStatus::New)
            }
        };
        self.statuses.push((path, status));
    }
}
