//! Reports wiki files that changed after they were indexed.
//!
//! Nothing watches the directories. Each search compares them with the store, reads only files that changed since the
//! last comparison, and does not wait long. The comparison includes directories that tools may not access, because the
//! operator indexed them, but names only files in allowed ones.

use std::{
    collections::{HashMap, HashSet},
    path::Path,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use gatehouse_core::lock;

use super::WikiKnowledge;
use crate::{
    engine::{PageEngine, PageHead, PageScope},
    wiki::{
        WikiRoots,
        file::{FileFingerprint, read_text},
        folder, ids,
        record::{file_hash, is_store_only},
    },
};

/// Maximum time that a search waits. A slower comparison serves a later search.
const MAX_WAIT: Duration = Duration::from_millis(150);

/// Comparisons take at most `1 / MAX_TIME_SHARE` of the time.
const MAX_TIME_SHARE: u32 = 20;

/// Larger stores are not compared.
const MAX_PAGES: usize = 20_000;

const MAX_NAMED_FILES: usize = 3;

#[derive(Default)]
pub(super) struct FileChangeTracker {
    /// Locked by the running comparison.
    seen: tokio::sync::Mutex<ComparisonState>,
    changed: Mutex<ChangedFiles>,
}

#[derive(Default)]
struct ChangedFiles {
    count: usize,
    /// Sorted files in allowed directories.
    named: Vec<String>,
}

/// Hashes of the files that were read, by path.
type FileHashes = HashMap<String, (FileFingerprint, String)>;

#[derive(Default)]
struct ComparisonState {
    hashes: FileHashes,
    /// Earliest time of the next comparison.
    next: Option<Instant>,
}

impl WikiKnowledge {
    pub(super) async fn newer_files(&self) -> Option<String> {
        let (engine, roots, newer) = (Arc::clone(&self.engine), self.roots.clone(), Arc::clone(&self.newer));
        let compared = tokio::spawn(compare(engine, roots, Arc::clone(&newer)));
        // Dropping the handle leaves the task running.
        let _ = tokio::time::timeout(MAX_WAIT, compared).await;
        note(&lock(&newer.changed))
    }
}

fn note(changed: &ChangedFiles) -> Option<String> {
    let files = match changed.count {
        0 => return None,
        1 => "1 wiki file".to_owned(),
        count => format!("{count} wiki files"),
    };
    let mut named =
        changed.named.iter().take(MAX_NAMED_FILES).map(|file| ids::shorten(file)).collect::<Vec<_>>();
    if !named.is_empty() && named.len() < changed.count {
        named.push("…".into());
    }
    let named = if named.is_empty() { String::new() } else { format!(" ({})", named.join(", ")) };
    Some(format!(
        "{files} changed after indexing{named}; to search the new text, index again with kg_index or `gatehouse kg index`."
    ))
}

async fn compare(engine: Arc<dyn PageEngine>, roots: WikiRoots, newer: Arc<FileChangeTracker>) {
    let Ok(mut seen) = newer.seen.try_lock() else { return };
    let started = Instant::now();
    if seen.next.is_some_and(|next| started < next) {
        return;
    }
    // If the engine is down, the search itself fails.
    let Ok(heads) = engine.heads(&PageScope::All).await else { return };
    if heads.len() <= MAX_PAGES {
        let hashes = std::mem::take(&mut seen.hashes);
        let compared = tokio::task::spawn_blocking(move || changed_files(&roots, &heads, hashes)).await;
        if let Ok((changed, hashes)) = compared {
            *lock(&newer.changed) = changed;
            seen.hashes = hashes;
        }
    } else {
        *lock(&newer.changed) = ChangedFiles::default();
    }
    seen.next = Some(Instant::now() + started.elapsed() * MAX_TIME_SHARE);
}

/// Returns files that were added, changed or removed since they were indexed.
fn changed_files(roots: &WikiRoots, heads: &[PageHead], mut known: FileHashes) -> (ChangedFiles, FileHashes) {
    let stored: HashSet<String> = heads.iter().map(|page| ids::key(&page.id)).collect();
    let mut wikis: HashMap<&str, HashMap<&str, &PageHead>> = HashMap::new();
    for page in heads {
        if let Some(origin) = &page.origin {
            wikis.entry(&origin.root).or_default().insert(&origin.file, page);
        }
    }
    let (mut all, mut hashes) = (ChangedFiles::default(), FileHashes::new());
    for (root, mut pages) in wikis {
        // A directory replaced by a link could lead anywhere.
        let real = Path::new(root);
        if real.canonicalize().ok().as_deref() != Some(real) {
            continue;
        }
        let Ok(files) = folder::list(real) else { continue };
        let mut changed = Vec::new();
        for file in files {
            let page = pages.remove(&*file.relative);
            let is_same = match page {
                // An edit only in the store differs from the file on purpose.
                Some(page) if is_store_only(&page.hash) => true,
                Some(page) => {
                    let path = real.join(&file.relative);
                    let name = path.display().to_string();
                    let before = known.remove(&name).filter(|(state, _)| state.is_unchanged(&path));
                    let (state, hash) = match before {
                        Some((state, hash)) => (Some(state), Some(hash)),
                        None => {
                            // Read the state before the file, so that the next comparison sees a change in between.
                            let state = FileFingerprint::capture(&path);
                            let text = read_text(real, &path).ok();
                            (state, text.map(|text| file_hash(text.as_bytes())))
                        }
                    };
                    // Indexing again would not change the page of an unreadable file either.
                    let is_same = hash.as_ref().is_none_or(|hash| *hash == page.hash);
                    hashes.extend(state.zip(hash).map(|read| (name, read)));
                    is_same
                }
                None => stored.contains(&ids::key(&ids::join(file.page_type, &file.stem))),
            };
            if !is_same {
                changed.push(file.relative);
            }
        }
        let removed = pages.values().filter(|page| !is_store_only(&page.hash));
        changed.extend(removed.filter_map(|page| Some(page.origin.as_ref()?.file.clone())));
        all.count += changed.len();
        if roots.resolve(real).is_ok() {
            all.named.extend(changed);
        }
    }
    all.named.sort();
    (all, hashes)
}
