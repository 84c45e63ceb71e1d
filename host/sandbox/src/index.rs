//! What is known about gate files without reading them: path, size, times and inode give the digest,
//! digest and parameters give the listing. A start with an index that still fits reads no wasm at all.
//!
//! It is a cache: a missing, broken or outdated file means the gates are read again, nothing else.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::Write,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use gatehouse_core::{capability::Ask, source::Listing};
use serde::{Deserialize, Serialize};

use crate::machine_code;

/// Another number whenever what is written here, or what makes it, changes its meaning.
const VERSION: &str = concat!("3/", env!("CARGO_PKG_VERSION"));

/// What the file system says about a file; any change of the content changes one of these.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamp {
    size: u64,
    modified_ns: i128,
    changed_ns: i128,
    inode: u64,
}

impl Stamp {
    /// Of a file as it is now; follows links.
    pub fn read(file: &Path) -> std::io::Result<Self> {
        fs::metadata(file).map(|meta| Self::of(&meta))
    }

    pub(crate) fn of(meta: &fs::Metadata) -> Self {
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt;
            let ns = |s: i64, n: i64| i128::from(s) * 1_000_000_000 + i128::from(n);
            Self {
                size: meta.len(),
                modified_ns: ns(meta.mtime(), meta.mtime_nsec()),
                changed_ns: ns(meta.ctime(), meta.ctime_nsec()),
                inode: meta.ino(),
            }
        }
        #[cfg(not(unix))]
        {
            let since = |t: std::io::Result<std::time::SystemTime>| {
                t.ok()
                    .and_then(|t| t.duration_since(std::time::UNIX_EPOCH).ok())
                    .map_or(0, |d| d.as_nanos() as i128)
            };
            Self {
                size: meta.len(),
                modified_ns: since(meta.modified()),
                changed_ns: since(meta.created()),
                inode: 0,
            }
        }
    }
}

/// What was learnt about one component.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Known {
    pub(crate) ask: Ask,
    /// By the parameters' JSON text.
    pub(crate) listings: BTreeMap<String, Arc<Listing>>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Content {
    version: String,
    files: BTreeMap<PathBuf, (Stamp, String)>,
    components: BTreeMap<String, Known>,
}

/// The index in memory, and where it is kept.
pub(crate) struct Index {
    path: PathBuf,
    content: Mutex<Content>,
}

impl Index {
    pub(crate) fn open(path: PathBuf) -> Self {
        let ours = path.parent().is_some_and(machine_code::private);
        let read = fs::read(&path)
            .ok()
            .filter(|_| ours)
            .and_then(|bytes| serde_json::from_slice::<Content>(&bytes).ok());
        let content = read.filter(|c| c.version == VERSION).unwrap_or_default();
        Self { path, content: Mutex::new(content) }
    }

    /// The digest of a file that is as it was when it was last read.
    pub(crate) fn digest(&self, file: &Path, stamp: &Stamp) -> Option<String> {
        self.with(|c| c.files.get(file).filter(|(known, _)| known == stamp).map(|(_, digest)| digest.clone()))
    }

    /// What a component asks for.
    pub(crate) fn ask(&self, digest: &str) -> Option<Ask> {
        self.with(|c| c.components.get(digest).map(|known| known.ask.clone()))
    }

    /// What a component lists under these parameters.
    pub(crate) fn listing(&self, digest: &str, params: &str) -> Option<Arc<Listing>> {
        self.with(|c| c.components.get(digest).and_then(|known| known.listings.get(params)).cloned())
    }

    /// The components of all files that are known.
    pub(crate) fn digests(&self) -> BTreeSet<String> {
        self.with(|c| c.files.values().map(|(_, digest)| digest.clone()).collect())
    }

    pub(crate) fn learn_file(&self, file: &Path, stamp: Stamp, digest: &str, ask: Ask) {
        self.with(|c| {
            c.files.insert(file.to_owned(), (stamp, digest.to_owned()));
            c.components.entry(digest.to_owned()).or_default().ask = ask;
        });
        self.save();
    }

    pub(crate) fn learn_listing(&self, digest: &str, params: &str, listing: Arc<Listing>) {
        self.with(|c| {
            let listings = &mut c.components.entry(digest.to_owned()).or_default().listings;
            // Presets come and go; a component that was asked a hundred ways keeps none of the old answers.
            if listings.len() >= 32 {
                listings.clear();
            }
            listings.insert(params.to_owned(), listing);
        });
        self.save();
    }

    fn with<T>(&self, f: impl FnOnce(&mut Content) -> T) -> T {
        f(&mut self.content.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn save(&self) {
        let bytes = self.with(|content| {
            content.version = VERSION.into();
            content.files.retain(|file, _| file.exists());
            let used: Vec<String> = content.files.values().map(|(_, digest)| digest.clone()).collect();
            content.components.retain(|digest, _| used.contains(digest));
            serde_json::to_vec(content)
        });
        let written = bytes.map_err(std::io::Error::other).and_then(|bytes| {
            let folder = self.path.parent().unwrap_or(Path::new("."));
            machine_code::make_private(folder)?;
            let mut file = tempfile::NamedTempFile::new_in(folder)?;
            file.write_all(&bytes)?;
            file.persist(&self.path)?;
            Ok(())
        });
        if let Err(error) = written {
            tracing::warn!(path = %self.path.display(), %error, "the gate index cannot be kept; the next start reads every gate");
        }
    }
}
