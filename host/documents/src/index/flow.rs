//! Files flow from the folder to the store: read on every processor, gathered in parts, stored one part after the
//! other, while the next one is being read.

use std::{collections::HashMap, path::Path, sync::Arc};

use futures_util::{StreamExt as _, future, stream};
use gatehouse_core::{
    outcome::Fault,
    ports::documents::{DocumentStore, NewFile, RepositoryState},
};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::{UnseenPaths, count};
use crate::{
    guide::{self, GuideFacts},
    produce::{NewDocument, ProduceOutcome, produce},
    report::{IndexProgress, IndexRunReport, OnIndexProgress},
};

/// Bytes of text that are stored at once, about. Smaller parts cost more commits, larger ones more memory and, after a
/// kill, more to do again.
const MAX_BATCH_BYTES: usize = 4 << 20;

/// Files that are stored at once, and after how many progress is told.
const MAX_BATCH_FILES: usize = 500;

/// A run that goes on.
pub(super) struct IndexRun<'a> {
    pub(super) store: &'a dyn DocumentStore,
    pub(super) state: &'a mut RepositoryState,
    pub(super) report: &'a mut IndexRunReport,
    pub(super) progress: OnIndexProgress<'a>,
    pub(super) cancel: &'a CancellationToken,
}

/// What came of it beside what is stored.
pub(super) struct IndexRunOutcome {
    /// Paths that are stored and have no document any more.
    pub(super) unseen: UnseenPaths,
    /// What the guide counts of files that are new or changed.
    pub(super) facts: Vec<GuideFacts>,
}

/// What was read and is to be stored together.
#[derive(Default)]
struct FileBatch {
    files: Vec<NewFile>,
    bytes: usize,
    /// Files that this part is about, whatever became of them.
    seen: usize,
    done: Vec<(String, Result<FileStatus, &'static str>)>,
    facts: Vec<GuideFacts>,
    notes: Vec<(String, String)>,
}

/// What became of a file that may stay stored.
enum FileStatus {
    Unchanged,
    /// What is stored stays, and why it is not what the file is now.
    Unreadable(&'static str),
    New,
}

impl IndexRun<'_> {
    /// Reads and stores every file that differs from what is known.
    pub(super) async fn store_files(
        self,
        root: &Path,
        files: Vec<String>,
        known: HashMap<String, String>,
    ) -> Result<IndexRunOutcome, Fault> {
        let total = files.len();
        (self.progress)(IndexProgress { done: 0, total });
        let mut left: UnseenPaths = known.keys().cloned().collect();
        let known = Arc::new(known);
        let (parts, mut stored) = mpsc::channel::<FileBatch>(1);
        let reading = read_all(root, files, Arc::clone(&known), parts, self.cancel);
        let reading = async {
            reading.await;
            Ok(())
        };
        let storing = async {
            let (mut done, mut facts) = (0, Vec::new());
            while let Some(mut part) = stored.recv().await {
                let files = std::mem::take(&mut part.files);
                if !files.is_empty() {
                    let changed = count(files.len());
                    for file in &files {
                        self.report.bytes += file.text.len() as u64;
                        self.report.tokens += u64::from(file.tokens);
                    }
                    self.store.change(&self.state.repository.name, files, Vec::new()).await?;
                    self.state.changed_since_guide = self.state.changed_since_guide.saturating_add(changed);
                    self.store.put_state(self.state).await?;
                }
                done += part.seen;
                facts.append(&mut part.facts);
                for (path, became) in part.done {
                    record_status(self.report, &mut left, path, became);
                }
                part.notes.into_iter().for_each(|(path, note)| self.report.noted.add(path, note));
                (self.progress)(IndexProgress { done, total });
            }
            Ok::<_, Fault>(facts)
        };
        let ((), facts) = future::try_join(reading, storing).await?;
        self.report.cancelled = self.cancel.is_cancelled();
        Ok(IndexRunOutcome { unseen: left, facts })
    }
}

/// Counts what became of a file. What stays in `left` is removed from the store in the end.
fn record_status(
    report: &mut IndexRunReport,
    left: &mut UnseenPaths,
    path: String,
    became: Result<FileStatus, &'static str>,
) {
    match became {
        Err(why) => report.skipped.add(path, why),
        Ok(kept) => {
            let was_known = left.remove(&path);
            match kept {
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
    parts: mpsc::Sender<FileBatch>,
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
            let job = move || produce(&root, &work, known.get(&work).map(String::as_str), with_facts);
            (path, tokio::task::spawn_blocking(job).await)
        }
    });
    let mut read = stream::iter(jobs).buffered(processors);
    let mut part = FileBatch::default();
    while let Some((path, produced)) = read.next().await {
        if cancel.is_cancelled() {
            break;
        }
        // A reader that gives up on a file takes nothing else with it.
        part.add(
            path,
            produced.unwrap_or(ProduceOutcome::Unreadable("could not be read: a mistake of Gatehouse")),
        );
        if (part.bytes >= MAX_BATCH_BYTES || part.seen >= MAX_BATCH_FILES)
            && parts.send(std::mem::take(&mut part)).await.is_err()
        {
            return;
        }
    }
    // The store has failed already where nobody takes it.
    parts.send(part).await.unwrap_or_default();
}

impl FileBatch {
    fn add(&mut self, path: String, produced: ProduceOutcome) {
        self.seen += 1;
        let became = match produced {
            ProduceOutcome::Gone => return,
            ProduceOutcome::Unchanged => Ok(FileStatus::Unchanged),
            ProduceOutcome::Unreadable(why) => Ok(FileStatus::Unreadable(why)),
            ProduceOutcome::Skipped(why) => Err(why),
            ProduceOutcome::New(document) => {
                let NewDocument { file, facts, note } = *document;
                self.bytes += file.text.len();
                self.facts.extend(facts);
                self.notes.extend(note.map(|note| (path.clone(), note)));
                self.files.push(file);
                Ok(FileStatus::New)
            }
        };
        self.done.push((path, became));
    }
}
