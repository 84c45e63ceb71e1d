//! Cached facts about gate files: stamp to digest, digest and parameters to listing. With a current index, the host
//! starts without reading any wasm. Components that are embedded in the program are indexed like files.
//!
//! If the file is missing or outdated, the gates are read again. All hosts of a user share it, so a write merges the
//! entries of other hosts.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
};

use gatehouse_core::{InvalidValue, capability::RequestedCapabilities, source::Listing};
use gatehouse_files::{Durability, write_private};
use serde::{Deserialize, Serialize};

use crate::{
    cache,
    component_info::{MAX_FILE, too_large},
};

/// Format version. Increase it when the content, or the code that produces it, changes its meaning.
const VERSION: &str = concat!("5/", env!("CARGO_PKG_VERSION"));

const MAX_LISTINGS: usize = 32;

/// File metadata. Any change of the content changes at least one field.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileStamp {
    size: u64,
    modified_ns: i128,
    changed_ns: i128,
    inode: u64,
}

impl FileStamp {
    pub fn read(file: &Path) -> io::Result<Self> {
        let meta = fs::metadata(file)?;
        let ns = |s: i64, n: i64| i128::from(s) * 1_000_000_000 + i128::from(n);
        Ok(Self {
            size: meta.len(),
            modified_ns: ns(meta.mtime(), meta.mtime_nsec()),
            changed_ns: ns(meta.ctime(), meta.ctime_nsec()),
            inode: meta.ino(),
        })
    }

    /// Returns the stamp of an embedded component. `version` identifies the set of components.
    pub(crate) fn embedded(size: u64, version: u64) -> Self {
        Self { size, modified_ns: version.into(), changed_ns: 0, inode: 0 }
    }

    fn is_embedded(&self) -> bool {
        self.inode == 0
    }

    pub(crate) fn size(&self) -> u64 {
        self.size
    }
}

/// Components embedded in the host's program. Each has a path of its own at which there is no file.
#[derive(Debug, Clone, Copy)]
pub struct EmbeddedComponents {
    /// Returns the bytes of a component. `None` if the path is not of an embedded component.
    pub size: fn(&Path) -> Option<u64>,
    /// Identifies the set of components; differs between programs with different ones.
    pub version: u64,
    pub read: fn(&Path) -> io::Result<Vec<u8>>,
}

impl EmbeddedComponents {
    pub const NONE: Self = Self { size: |_| None, version: 0, read: |_| Err(io::ErrorKind::NotFound.into()) };

    pub(crate) fn stamp(&self, path: &Path) -> io::Result<FileStamp> {
        match (self.size)(path) {
            Some(size) => Ok(FileStamp::embedded(size, self.version)),
            None => FileStamp::read(path),
        }
    }

    /// Returns the stamp if the path can be a component. The error follows the file's name.
    pub(crate) fn checked_stamp(&self, path: &Path) -> Result<FileStamp, InvalidValue> {
        if (self.size)(path).is_none() {
            let meta = fs::metadata(path).map_err(|error| error.to_string())?;
            if !meta.is_file() {
                return Err("is not a file".into());
            }
            if meta.len() > MAX_FILE {
                return Err(too_large(meta.len()).into());
            }
        }
        self.stamp(path).map_err(|error| error.to_string().into())
    }

    pub(crate) fn bytes(&self, path: &Path) -> io::Result<Vec<u8>> {
        if (self.size)(path).is_some() { (self.read)(path) } else { fs::read(path) }
    }
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct KnownComponent {
    pub(crate) ask: RequestedCapabilities,
    /// By parameters, as JSON text.
    pub(crate) listings: BTreeMap<String, Arc<Listing>>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct IndexContent {
    version: String,
    files: BTreeMap<PathBuf, (FileStamp, String)>,
    components: BTreeMap<String, KnownComponent>,
}

pub(crate) struct GateIndex {
    path: PathBuf,
    content: Mutex<IndexContent>,
    /// True once a failed write has been logged.
    unwritable: AtomicBool,
}

impl GateIndex {
    pub(crate) fn open(path: PathBuf) -> Self {
        let content = IndexContent::read(&path);
        Self { path, content: Mutex::new(content), unwritable: AtomicBool::new(false) }
    }

    /// Returns digest and requests of a file. `None` if the file has changed or is not in the index.
    pub(crate) fn known(&self, file: &Path, stamp: &FileStamp) -> Option<(String, RequestedCapabilities)> {
        self.with(|c| {
            let (_, digest) = c.files.get(file).filter(|(saved_stamp, _)| saved_stamp == stamp)?;
            Some((digest.clone(), c.components.get(digest)?.ask.clone()))
        })
    }

    pub(crate) fn listing(&self, digest: &str, params: &str) -> Option<Arc<Listing>> {
        self.with(|c| c.components.get(digest).and_then(|component| component.listings.get(params)).cloned())
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
            // Presets change over time, so a full map holds mostly stale listings.
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
            tracing::warn!(path = %self.path.display(), %error, "cannot store the gate index; the next start reads every gate");
        }
    }

    fn write(&self) -> io::Result<()> {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        cache::create_private(folder)?;
        // Held until the end, so that hosts do not lose each other's entries. Without file locks the last write wins,
        // and lost entries are read again.
        let lock = fs::File::create(self.path.with_extension("lock"))?;
        let _ = lock.lock();
        let saved_content = IndexContent::read(&self.path);
        let bytes = self.with(|content| {
            content.add(saved_content);
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
    /// Reads the file. Empty if it is missing, invalid, of another version or not private to this user.
    fn read(path: &Path) -> Self {
        let bytes = fs::read(path).ok().filter(|_| path.parent().is_some_and(cache::is_private));
        let content = bytes.and_then(|bytes| serde_json::from_slice::<Self>(&bytes).ok());
        content.filter(|content| content.version == VERSION).unwrap_or_default()
    }

    /// Adds missing entries, and replaces entries that no longer match their file.
    fn add(&mut self, other: Self) {
        for (file, theirs) in other.files {
            // For embedded components, this program's own entries win.
            let is_current = self.files.get(&file).is_some_and(|ours| {
                *ours == theirs
                    || ours.0.is_embedded()
                    || FileStamp::read(&file).is_ok_and(|now| now != theirs.0)
            });
            if !is_current {
                self.files.insert(file, theirs);
            }
        }
        for (digest, theirs) in other.components {
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
        let known = |file: &PathBuf| both.known(file, &FileStamp::read(file).expect("a stamp")).is_some();
        assert!(files.iter().all(known));
        fs::write(&files[0], "longer").expect("written");
        let now = FileStamp::read(&files[0]).expect("a stamp");
        two.learn_file(&files[0], now.clone(), "later", RequestedCapabilities::default());
        one.learn_file(
            &files[1],
            FileStamp::read(&files[1]).expect("a stamp"),
            "b",
            RequestedCapabilities::default(),
        );
        let known = GateIndex::open(path).known(&files[0], &now);
        assert_eq!(known.map(|(digest, _)| digest).as_deref(), Some("later"));
    }
}
