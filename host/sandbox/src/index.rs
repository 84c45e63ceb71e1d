//! What is known about gate files without reading them: path, size, times and inode give the digest,
//! digest and parameters give the listing. A start with an index that still fits reads no wasm at all.
//!
//! It is a cache: a missing, broken or outdated file means the gates are read again, nothing else. All hosts
//! of a user share it, so what is written is what others wrote meanwhile and what was learnt here.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
};

use gatehouse_core::{capability::RequestedCapabilities, source::Listing};
use gatehouse_files::{Durability, write_private};
use serde::{Deserialize, Serialize};

use crate::private_folders;

/// Another number whenever what is written here, or what makes it, changes its meaning.
const VERSION: &str = concat!("5/", env!("CARGO_PKG_VERSION"));

/// The most listings that are kept of one component.
const MAX_LISTINGS: usize = 32;

/// What the file system says about a file; any change of the content changes one of these.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileStamp {
    size: u64,
    modified_ns: i128,
    changed_ns: i128,
    inode: u64,
}

impl FileStamp {
    /// Of a file as it is now; follows links.
    pub fn read(file: &Path) -> std::io::Result<Self> {
        fs::metadata(file).map(|meta| Self::from_metadata(&meta))
    }

    /// Of a component in the program of this version.
    pub(crate) fn embedded(size: u64, version: u64) -> Self {
        Self { size, modified_ns: version.into(), changed_ns: 0, inode: 0 }
    }

    fn is_embedded(&self) -> bool {
        self.inode == 0
    }

    /// Bytes of the component.
    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    fn from_metadata(meta: &fs::Metadata) -> Self {
        let ns = |s: i64, n: i64| i128::from(s) * 1_000_000_000 + i128::from(n);
        Self {
            size: meta.len(),
            modified_ns: ns(meta.mtime(), meta.mtime_nsec()),
            changed_ns: ns(meta.ctime(), meta.ctime_nsec()),
            inode: meta.ino(),
        }
    }
}

/// What was learnt about one component.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct KnownComponent {
    pub(crate) ask: RequestedCapabilities,
    /// By the parameters' JSON text.
    pub(crate) listings: BTreeMap<String, Arc<Listing>>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct IndexContent {
    version: String,
    files: BTreeMap<PathBuf, (FileStamp, String)>,
    components: BTreeMap<String, KnownComponent>,
}

/// The index in memory, and where it is kept.
pub(crate) struct GateIndex {
    path: PathBuf,
    content: Mutex<IndexContent>,
    /// True once it was reported that it cannot be written.
    unwritable: AtomicBool,
}

impl GateIndex {
    pub(crate) fn open(path: PathBuf) -> Self {
        let content = IndexContent::read(&path);
        Self { path, content: Mutex::new(content), unwritable: AtomicBool::new(false) }
    }

    /// The digest of a file that is as it was when it was last read.
    pub(crate) fn digest(&self, file: &Path, stamp: &FileStamp) -> Option<String> {
        self.with(|c| c.files.get(file).filter(|(known, _)| known == stamp).map(|(_, digest)| digest.clone()))
    }

    /// What a component asks for.
    pub(crate) fn ask(&self, digest: &str) -> Option<RequestedCapabilities> {
        self.with(|c| c.components.get(digest).map(|known| known.ask.clone()))
    }

    /// What a component lists under these parameters.
    pub(crate) fn listing(&self, digest: &str, params: &str) -> Option<Arc<Listing>> {
        self.with(|c| c.components.get(digest).and_then(|known| known.listings.get(params)).cloned())
    }

    pub(crate) fn learn_file(&self, file: &Path, stamp: FileStamp, digest: &str, ask: RequestedCapabilities) {
        self.with(|c| {
            c.files.insert(file.to_owned(), (stamp, digest.to_owned()));
            c.components.entry(digest.to_owned()).or_default().ask = ask;
        });
        self.save();
    }

    pub(crate) fn learn_listing(&self, digest: &str, params: &str, listing: Arc<Listing>) {
        self.with(|c| {
            let listings = &mut c.components.entry(digest.to_owned()).or_default().listings;
            // Presets come and go; a component that was asked in many ways keeps none of the old answers.
            if listings.len() >= MAX_LISTINGS {
                listings.clear();
            }
            listings.insert(params.to_owned(), listing);
        });
        self.save();
    }

    fn with<T>(&self, f: impl FnOnce(&mut IndexContent) -> T) -> T {
        f(&mut gatehouse_core::lock(&self.content))
    }

    fn save(&self) {
        if let Err(error) = self.write()
            && !self.unwritable.swap(true, Ordering::Relaxed)
        {
            tracing::warn!(path = %self.path.display(), %error, "the gate index cannot be stored; the next start reads every gate");
        }
    }

    fn write(&self) -> std::io::Result<()> {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        private_folders::create(folder)?;
        // Held until this ends, so that two hosts do not each write what the other does not know. Where the file
        // system has no locks the last one wins, and what it does not know is learnt again.
        let lock = fs::File::create(self.path.with_extension("lock"))?;
        let _ = lock.lock();
        let others = IndexContent::read(&self.path);
        let bytes = self.with(|content| {
            content.add(others);
            content.version = VERSION.into();
            content.files.retain(|file, (stamp, _)| stamp.is_embedded() || file.exists());
            let used: BTreeSet<&String> = content.files.values().map(|(_, digest)| digest).collect();
            content.components.retain(|digest, _| used.contains(digest));
            serde_json::to_vec(content)
        })?;
        write_private(&self.path, &bytes, Durability::Unsynced)
    }
}

impl IndexContent {
    /// What the file says, if it is ours and we can read it.
    fn read(path: &Path) -> Self {
        let bytes = fs::read(path).ok().filter(|_| path.parent().is_some_and(private_folders::is_private));
        let content = bytes.and_then(|bytes| serde_json::from_slice::<Self>(&bytes).ok());
        content.filter(|content| content.version == VERSION).unwrap_or_default()
    }

    /// Takes over what it does not know, and of what it knows otherwise, what fits the file as it is.
    fn add(&mut self, others: Self) {
        for (file, theirs) in others.files {
            // Of components in programs, those of this one count.
            let known = self.files.get(&file).is_some_and(|ours| {
                *ours == theirs
                    || ours.0.is_embedded()
                    || FileStamp::read(&file).is_ok_and(|now| now != theirs.0)
            });
            if !known {
                self.files.insert(file, theirs);
            }
        }
        for (digest, theirs) in others.components {
            let ours = self
                .components
                .entry(digest)
                .or_insert_with(|| KnownComponent { ask: theirs.ask, ..KnownComponent::default() });
            for (params, listing) in theirs.listings {
                if ours.listings.len() < MAX_LISTINGS {
                    ours.listings.entry(params).or_insert(listing);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_hosts_keep_what_both_learn() {
        let place = tempfile::tempdir().expect("a folder");
        let (path, files) =
            (place.path().join("cache/gates.json"), ["a", "b"].map(|name| place.path().join(name)));
        let (one, two) = (GateIndex::open(path.clone()), GateIndex::open(path.clone()));
        for (index, file) in [&one, &two].into_iter().zip(&files) {
            fs::write(file, "x").expect("written");
            let stamp = FileStamp::read(file).expect("a stamp");
            index.learn_file(file, stamp, &file.display().to_string(), RequestedCapabilities::default());
        }
        let both = GateIndex::open(path.clone());
        let known = |file: &PathBuf| both.digest(file, &FileStamp::read(file).expect("a stamp")).is_some();
        assert!(files.iter().all(known));
        // One of them has seen a later content of a file.
        fs::write(&files[0], "longer").expect("written");
        let now = FileStamp::read(&files[0]).expect("a stamp");
        two.learn_file(&files[0], now.clone(), "later", RequestedCapabilities::default());
        one.learn_file(
            &files[1],
            FileStamp::read(&files[1]).expect("a stamp"),
            "b",
            RequestedCapabilities::default(),
        );
        assert_eq!(GateIndex::open(path).digest(&files[0], &now).as_deref(), Some("later"));
    }
}
