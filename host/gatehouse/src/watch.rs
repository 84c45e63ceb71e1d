//! Watches directories for changes. It does not watch files, because editors and build tools replace files, and a watch
//! on a file would stay with the old one.

use std::{
    collections::{BTreeMap, BTreeSet},
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    time::Duration,
};

use notify::{
    Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher,
    event::{AccessKind, AccessMode, ModifyKind},
};
use tokio::sync::mpsc;

/// Time without events before a change counts. One save causes several events.
const QUIET_PERIOD: Duration = Duration::from_millis(50);

/// Same, if the last event ended a save: a file was closed or moved.
const SAVED_QUIET_PERIOD: Duration = Duration::from_millis(10);

/// Maximum wait for a quiet period, for directories that change all the time.
const MAX_QUIET_WAIT: Duration = Duration::from_millis(200);

pub(crate) struct DirectoryWatcher {
    watcher: RecommendedWatcher,
    events: mpsc::UnboundedReceiver<Duration>,
    /// By path, with the identity of the watched directory.
    folders: BTreeMap<PathBuf, Option<DirectoryId>>,
    complained: BTreeSet<PathBuf>,
}

impl DirectoryWatcher {
    /// Fails if the system has no more watches.
    pub(crate) fn new() -> notify::Result<Self> {
        let (sender, events) = mpsc::unbounded_channel();
        let watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
            if let Some(quiet) = event.ok().and_then(|event| quiet_period(event.kind)) {
                let _ = sender.send(quiet);
            }
        })?;
        Ok(Self { watcher, events, folders: BTreeMap::new(), complained: BTreeSet::new() })
    }

    /// Watches exactly these directories. A directory that is missing or cannot be watched is logged once and tried
    /// again at the next call.
    pub(crate) fn watch_only(&mut self, wanted: &BTreeSet<PathBuf>) {
        // A directory that was replaced or created again needs a new watch.
        self.folders.retain(|folder, known| {
            let stays = wanted.contains(folder) && known.is_some() && identity(folder) == *known;
            if !stays {
                let _ = self.watcher.unwatch(folder);
            }
            stays
        });
        for folder in wanted.iter().filter(|folder| !self.folders.contains_key(*folder)).collect::<Vec<_>>() {
            match self.watcher.watch(folder, RecursiveMode::NonRecursive) {
                Ok(()) => {
                    self.complained.remove(folder);
                    self.folders.insert(folder.clone(), identity(folder));
                }
                Err(error) if self.complained.insert(folder.clone()) => {
                    tracing::warn!(folder = %folder.display(), %error, "cannot watch directory; checking it every 30 \
                    s instead");
                }
                Err(_) => {}
            }
        }
    }

    pub(crate) async fn next_change(&mut self) {
        let Some(mut quiet) = self.events.recv().await else {
            // The watcher ended; the caller's timer still works.
            return std::future::pending().await;
        };
        let restless = tokio::time::Instant::now() + MAX_QUIET_WAIT;
        while tokio::time::Instant::now() < restless {
            match tokio::time::timeout(quiet, self.events.recv()).await {
                Ok(Some(next)) => quiet = next,
                Ok(None) | Err(_) => return,
            }
        }
    }
}

type DirectoryId = (u64, u64);

fn identity(folder: &Path) -> Option<DirectoryId> {
    let meta = std::fs::metadata(folder).ok()?;
    Some((meta.dev(), meta.ino()))
}

/// Returns the quiet period after an event. `None` if it is not a change, such as a read, which this host also causes.
fn quiet_period(kind: EventKind) -> Option<Duration> {
    match kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write)) => Some(SAVED_QUIET_PERIOD),
        EventKind::Modify(ModifyKind::Name(_)) | EventKind::Remove(_) => Some(SAVED_QUIET_PERIOD),
        EventKind::Access(_) => None,
        _ => Some(QUIET_PERIOD),
    }
}
