//! Says that something changed in some folders. Folders are watched, not files: editors and build tools
//! put new files in the place of old ones, and a watch on a file would stay with the old one.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    time::Duration,
};

use notify::{
    Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher,
    event::{AccessKind, AccessMode, ModifyKind},
};
use tokio::sync::mpsc;

/// Nothing may have changed for so long before a change counts: one save is several events.
const QUIET_PERIOD: Duration = Duration::from_millis(50);

/// The same where the last event was the end of a save: a file closed, or moved to its place.
const SAVED_QUIET_PERIOD: Duration = Duration::from_millis(10);

/// A folder that changes all the time is looked at after so long all the same.
const MAX_QUIET_WAIT: Duration = Duration::from_millis(200);

/// Watched folders.
pub(crate) struct DirectoryWatcher {
    watcher: RecommendedWatcher,
    events: mpsc::UnboundedReceiver<Duration>,
    /// By path, each with what tells it from another folder of that path.
    folders: BTreeMap<PathBuf, Option<DirectoryId>>,
    /// Folders of which it was said that they cannot be watched.
    complained: BTreeSet<PathBuf>,
}

impl DirectoryWatcher {
    /// Watches nothing yet. Fails where the system has no more watches to give.
    pub(crate) fn new() -> notify::Result<Self> {
        let (sender, events) = mpsc::unbounded_channel();
        let watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
            if let Some(quiet) = event.ok().and_then(|event| quiet_period(event.kind)) {
                let _ = sender.send(quiet);
            }
        })?;
        Ok(Self { watcher, events, folders: BTreeMap::new(), complained: BTreeSet::new() })
    }

    /// Watches these folders and no others. One that cannot be watched, or is not there yet, is said once
    /// and tried again next time.
    pub(crate) fn watch_only(&mut self, wanted: &BTreeSet<PathBuf>) {
        // A folder that was put in the place of another, or made again, is not the one that is watched.
        let stays = |(folder, known): (&PathBuf, &Option<DirectoryId>)| {
            wanted.contains(folder) && known.is_some() && identity(folder) == *known
        };
        let gone: Vec<PathBuf> =
            self.folders.iter().filter(|entry| !stays(*entry)).map(|(folder, _)| folder.clone()).collect();
        for folder in gone {
            let _ = self.watcher.unwatch(&folder);
            self.folders.remove(&folder);
        }
        for folder in wanted.iter().filter(|folder| !self.folders.contains_key(*folder)).collect::<Vec<_>>() {
            match self.watcher.watch(folder, RecursiveMode::NonRecursive) {
                Ok(()) => {
                    self.complained.remove(folder);
                    self.folders.insert(folder.clone(), identity(folder));
                }
                Err(error) if self.complained.insert(folder.clone()) => {
                    tracing::warn!(folder = %folder.display(), %error, "cannot be watched; it is looked at every 30 s instead");
                }
                Err(_) => {}
            }
        }
    }

    /// Waits until something changed and then was quiet for a moment.
    pub(crate) async fn next_change(&mut self) {
        let Some(mut quiet) = self.events.recv().await else {
            // The watcher is gone; only the clock is left.
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

/// Device and inode.
type DirectoryId = (u64, u64);

fn identity(folder: &Path) -> Option<DirectoryId> {
    let meta = std::fs::metadata(folder).ok()?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        Some((meta.dev(), meta.ino()))
    }
    #[cfg(not(unix))]
    Some((0, u64::from(meta.is_dir())))
}

/// How long to wait after an event; none for what is not a change. That a file was read is none, by us least of
/// all.
fn quiet_period(kind: EventKind) -> Option<Duration> {
    match kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write)) => Some(SAVED_QUIET_PERIOD),
        EventKind::Modify(ModifyKind::Name(_)) | EventKind::Remove(_) => Some(SAVED_QUIET_PERIOD),
        EventKind::Access(_) => None,
        _ => Some(QUIET_PERIOD),
    }
}
