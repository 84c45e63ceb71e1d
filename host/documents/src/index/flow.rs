//! Pipeline from the directory to the store. Files are read on all CPUs; one batch is stored while the next is read.

use std::{
    collections::HashMap,
    mem::take,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use futures_util::{FutureExt as _, StreamExt as _, future, stream};
use gatehouse_core::{
    outcome::Fault,
    ports::documents::{DocumentStore, RepositoryState},
};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::{IndexProgress, IndexRunReport, OnIndexProgress, UnseenPaths};
use crate::{
    clean::saturating_u32,
    convert_file::{NewDocument, NoDocument, convert_file},
    converters::Converter,
    guide::{self, GuideFacts},
};

/// Smaller batches cost more commits. Larger ones use more memory, and lose more work if the process is killed.
const MAX_BATCH_BYTES: usize = 4 << 20;

const MAX_BATCH_FILES: usize = 500;

/// Conversions take seconds, which a killed process should not lose.
const MAX_BATCH_AGE: Duration = Duration::from_secs(5);

pub(super) struct IndexRun<'a> {
    pub(super) store: &'a dyn DocumentStore,
    pub(super) state: &'a mut RepositoryState,
    pub(super) report: &'a mut IndexRunReport,
    pub(super) progress: OnIndexProgress<'a>,
    pub(super) cancel: &'a CancellationToken,
}

type FileBatch = Vec<(String, Result<NewDocument, NoDocument>)>;

impl IndexRun<'_> {
    /// Reads all files and stores those whose hash is not in `stored_hashes`. Returns the stored paths without a document
    /// in the directory, and facts of the new documents.
    pub(super) async fn store_files(
        self,
        root: &Path,
        files: Vec<String>,
        stored_hashes: HashMap<String, String>,
        converters: &[Converter],
    ) -> Result<(UnseenPaths, Vec<GuideFacts>), Fault> {
        let total = files.len();
        (self.progress)(IndexProgress { done: 0, total });
        let mut unseen: UnseenPaths = stored_hashes.keys().cloned().collect();
        let stored_hashes = Arc::new(stored_hashes);
        let (batches, mut stored) = mpsc::channel::<FileBatch>(1);
        let on_read = |done| (self.progress)(IndexProgress { done, total });
        let reading = read_all(
            root,
            files,
            Arc::clone(&stored_hashes),
            converters.into(),
            batches,
            &on_read,
            self.cancel,
        )
        .map(Ok);
        let storing = async {
            let mut facts = Vec::new();
            while let Some(batch) = stored.recv().await {
                let mut files = Vec::new();
                for (path, read) in batch {
                    let document = record(self.report, &mut unseen, path, read);
                    let Some(NewDocument { file, facts: file_facts, .. }) = document else { continue };
                    self.report.bytes += file.text.len() as u64;
                    self.report.tokens += u64::from(file.tokens);
                    facts.extend(file_facts);
                    files.push(file);
                }
                if !files.is_empty() {
                    let changed = saturating_u32(files.len());
                    self.store.change(&self.state.repository.name, files, Vec::new()).await?;
                    self.state.changed_since_guide = self.state.changed_since_guide.saturating_add(changed);
                    self.store.put_state(self.state).await?;
                }
            }
            Ok::<_, Fault>(facts)
        };
        let ((), facts) = future::try_join(reading, storing).await?;
        self.report.cancelled = self.cancel.is_cancelled();
        Ok((unseen, facts))
    }
}

/// Counts a file, and returns its new document. Paths that remain in `unseen` are removed at the end.
fn record(
    report: &mut IndexRunReport,
    unseen: &mut UnseenPaths,
    path: String,
    read: Result<NewDocument, NoDocument>,
) -> Option<NewDocument> {
    match read {
        Err(NoDocument::Gone) => {}
        Err(NoDocument::Skipped(reason)) => report.skipped.add(path, reason),
        Err(NoDocument::Unchanged) => {
            unseen.remove(&path);
            report.unchanged += 1;
        }
        Err(NoDocument::Unreadable(reason)) => {
            unseen.remove(&path);
            report.skipped.add(path, reason);
        }
        Ok(mut document) => {
            let count = if unseen.remove(&path) { &mut report.updated } else { &mut report.added };
            *count += 1;
            for note in take(&mut document.notes) {
                report.noted.add(path.clone(), note);
            }
            return Some(document);
        }
    }
    None
}

async fn read_all(
    root: &Path,
    files: Vec<String>,
    stored_hashes: Arc<HashMap<String, String>>,
    converters: Arc<[Converter]>,
    batches: mpsc::Sender<FileBatch>,
    on_read: &(dyn Fn(usize) + Sync),
    cancel: &CancellationToken,
) {
    let processors = std::thread::available_parallelism().map_or(2, usize::from);
    let stride = files.len().div_ceil(guide::MAX_FACTS).max(1);
    let root: Arc<Path> = root.into();
    let jobs = files.into_iter().enumerate().map(|(index, path)| {
        let (root, stored_hashes, converters) =
            (Arc::clone(&root), Arc::clone(&stored_hashes), Arc::clone(&converters));
        let with_facts = index % stride == 0;
        let cancel = cancel.clone();
        async move {
            let work = path.clone();
            let job = move || {
                let stored_hash = stored_hashes.get(&work).map(String::as_str);
                convert_file(&root, &work, stored_hash, with_facts, (&converters, &cancel))
            };
            (path, tokio::task::spawn_blocking(job).await)
        }
    });
    let mut read = stream::iter(jobs).buffered(processors);
    let (mut batch, mut bytes, mut done) = (FileBatch::new(), 0, 0);
    let mut sent = Instant::now();
    while let Some((path, produced)) = read.next().await {
        if cancel.is_cancelled() {
            break;
        }
        // A panic while one file is read must not end the run.
        let bug = Err(NoDocument::Unreadable("could not be read because of a bug in Gatehouse".into()));
        let produced = produced.unwrap_or(bug);
        bytes += produced.as_ref().map_or(0, |document| document.file.text.len());
        batch.push((path, produced));
        done += 1;
        on_read(done);
        if bytes >= MAX_BATCH_BYTES || batch.len() >= MAX_BATCH_FILES || sent.elapsed() >= MAX_BATCH_AGE {
            (bytes, sent) = (0, Instant::now());
            if batches.send(take(&mut batch)).await.is_err() {
                return;
            }
        }
    }
    // Sending fails only if the storing future returned an error.
    batches.send(batch).await.unwrap_or_default();
}
