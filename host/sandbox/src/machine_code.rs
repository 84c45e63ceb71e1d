//! Compiled components on disk, one file per component and engine, mapped into memory and never modified.
//!
//! The host runs this code, so the folder is private (mode 0700), files are replaced only by rename, and other files
//! are rejected unless a package installed them. A checksum is verified before mapping. No other module of the host
//! uses unsafe code.

mod files;

use std::{
    collections::BTreeSet,
    fs,
    hash::{DefaultHasher, Hash, Hasher},
    path::{Path, PathBuf},
    sync::{
        Mutex, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, SystemTime},
};

use gatehouse_core::lock;
use gatehouse_files::{Durability, write_private};
use wasmtime::{Engine, component::Component};

use crate::cache;

/// Part of each file's name. Increase it when the file format changes.
const FORMAT_VERSION: u8 = 2;

/// Minimum time between two updates of a file's last use.
const MIN_TOUCH_INTERVAL: Duration = Duration::from_secs(60);

/// Age at which a temporary file must belong to a process that has ended.
const MAX_TEMP_FILE_AGE: Duration = Duration::from_secs(3600);

#[derive(Default)]
pub(crate) struct MachineCode {
    folder: PathBuf,
    packaged: OnceLock<Vec<PathBuf>>,
    damaged: Mutex<BTreeSet<PathBuf>>,
    /// True once a failed write has been logged.
    unwritable: AtomicBool,
}

impl MachineCode {
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self { folder, ..Self::default() }
    }

    /// Returns the component if a compatible engine compiled it, here or for a package.
    pub(crate) fn load(&self, engine: &Engine, digest: &str) -> Option<Component> {
        self.load_own(engine, digest).or_else(|| self.load_packaged(engine, digest))
    }

    fn load_packaged(&self, engine: &Engine, digest: &str) -> Option<Component> {
        let folders = self.packaged.get_or_init(files::packaged_folders).iter();
        folders.map(|folder| folder.join(files::packaged_name(digest))).find_map(|path| {
            if !path.is_file() || !files::is_trusted(&path, path.parent()?) {
                return None;
            }
            match open(engine, digest, &path) {
                Ok(component) => Some(component),
                Err(reason) => {
                    tracing::info!(path = %path.display(), "packaged machine code does not match this engine; compiling the gate: {reason}");
                    None
                }
            }
        })
    }

    fn load_own(&self, engine: &Engine, digest: &str) -> Option<Component> {
        let path = self.path(engine, digest);
        // A user with write access to the parent could replace the folder.
        let beside = self.folder.parent().is_none_or(cache::is_private);
        if !beside || !cache::is_private(&self.folder) || !path.exists() {
            return None;
        }
        if lock(&self.damaged).contains(&path) {
            return None;
        }
        match open(engine, digest, &path) {
            Ok(component) => {
                note_use(&path);
                Some(component)
            }
            Err(MachineCodeError::Damaged) => {
                tracing::warn!(path = %path.display(), "compiled gate is damaged (its checksum does not match); compiling it again");
                if fs::remove_file(&path).is_err() {
                    lock(&self.damaged).insert(path);
                }
                None
            }
            Err(MachineCodeError::Unfit(reason)) => {
                tracing::warn!(path = %path.display(), "compiled gate is unusable; compiling it again: {reason}");
                None
            }
        }
    }

    /// Compiles a component and stores the machine code. If storing fails, the next start compiles again.
    pub(crate) fn compile(&self, engine: &Engine, digest: &str, wasm: &[u8]) -> wasmtime::Result<Component> {
        let code = engine.precompile_component(wasm)?;
        let path = self.path(engine, digest);
        let content = files::with_checksum(digest, code);
        let stored = self.store(&path, &content).map_err(|error| error.to_string());
        match stored.and_then(|()| open(engine, digest, &path).map_err(|reason| reason.to_string())) {
            Ok(component) => {
                lock(&self.damaged).remove(&path);
                Ok(component)
            }
            Err(reason) => {
                if !self.unwritable.swap(true, Ordering::Relaxed) {
                    tracing::warn!(folder = %self.folder.display(), "cannot store compiled gates; every start compiles them again: {reason}");
                }
                from_memory(engine, &content)
            }
        }
    }

    /// Removes the least recently used files until `cap` bytes remain, but never the last one. Other hosts keep their
    /// mappings.
    pub(crate) fn shrink(&self, cap: u64) {
        if !cache::is_private(&self.folder) {
            return;
        }
        let mut files = Vec::new();
        for (path, meta) in self.files() {
            let age = meta.modified().ok().and_then(|used| used.elapsed().ok()).unwrap_or_default();
            if is_code(&path) {
                files.push((age, meta.len(), path));
            } else if age > MAX_TEMP_FILE_AGE {
                let _ = fs::remove_file(path);
            }
        }
        files.sort();
        let mut total_size = 0;
        for (place, (_, size, path)) in files.into_iter().enumerate() {
            total_size += size;
            if total_size > cap && place > 0 {
                let _ = fs::remove_file(path);
            }
        }
    }

    pub(crate) fn size(&self) -> (usize, u64) {
        let code = self.files().into_iter().filter(|(path, _)| is_code(path));
        code.fold((0, 0), |(files, bytes), (_, meta)| (files + 1, bytes + meta.len()))
    }

    pub(crate) fn clean(&self) -> std::io::Result<()> {
        self.files().iter().try_for_each(|(path, _)| cache::remove(path))
    }

    fn files(&self) -> Vec<(PathBuf, fs::Metadata)> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let files = entries.filter_map(|entry| Some((entry.path(), entry.metadata().ok()?)));
        let ours = |path: &Path| {
            is_code(path) || path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(".tmp"))
        };
        files.filter(|(path, meta)| meta.is_file() && ours(path)).collect()
    }

    fn store(&self, path: &Path, code: &[u8]) -> std::io::Result<()> {
        self.folder.parent().map_or(Ok(()), cache::create_private)?;
        cache::create_private(&self.folder)?;
        write_private(path, code, Durability::Synced)
    }

    fn path(&self, engine: &Engine, digest: &str) -> PathBuf {
        let mut hasher = DefaultHasher::new();
        FORMAT_VERSION.hash(&mut hasher);
        engine.precompile_compatibility_hash().hash(&mut hasher);
        self.folder.join(format!("{digest}-{:016x}.cwasm", hasher.finish()))
    }
}

/// Compiles a component for a package. Returns the name and content of the file.
pub(crate) fn packaged(engine: &Engine, digest: &str, wasm: &[u8]) -> wasmtime::Result<(String, Vec<u8>)> {
    let code = engine.precompile_component(wasm)?;
    Ok((files::packaged_name(digest), files::with_checksum(digest, code)))
}

#[derive(Debug, thiserror::Error)]
enum MachineCodeError {
    #[error("its checksum does not match")]
    Damaged,
    /// Unreadable, or compiled for another engine.
    #[error("{0}")]
    Unfit(String),
}

/// Verifies the checksum and maps the file.
fn open(engine: &Engine, digest: &str, path: &Path) -> Result<Component, MachineCodeError> {
    if !files::is_whole(digest, path).map_err(|error| MachineCodeError::Unfit(error.to_string()))? {
        return Err(MachineCodeError::Damaged);
    }
    map(engine, path).map_err(|error| MachineCodeError::Unfit(format!("{error:#}")))
}

fn is_code(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "cwasm")
}

/// Updates a file's last use for [`MachineCode::shrink`]. On failure, the file may be removed early.
fn note_use(path: &Path) {
    let age = fs::metadata(path).and_then(|meta| meta.modified()).ok().and_then(|used| used.elapsed().ok());
    if age.is_some_and(|age| age > MIN_TOUCH_INTERVAL) {
        let _ = fs::File::open(path).and_then(|file| file.set_modified(SystemTime::now()));
    }
}

#[allow(unsafe_code, reason = "loading our own compiled code, see SAFETY")]
fn from_memory(engine: &Engine, code: &[u8]) -> wasmtime::Result<Component> {
    // SAFETY: this engine's compiler just produced the bytes in this process. The checksum after them is not part of
    // the ELF file that wasmtime reads.
    unsafe { Component::deserialize(engine, code) }
}

#[allow(unsafe_code, reason = "mapping our own compiled code, see SAFETY")]
fn map(engine: &Engine, path: &Path) -> wasmtime::Result<Component> {
    // SAFETY: `store` wrote code from this engine's compiler into a folder that only this user can write, and replaces
    // files only by rename, so the mapping never changes. Only users who can write this program can write a package's
    // file. The checksum was just verified, and wasmtime checks version and configuration in the header.
    unsafe { Component::deserialize_file(engine, path) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_used_longest_ago_makes_room() {
        let parent = tempfile::tempdir().expect("a folder");
        let code = MachineCode::new(parent.path().join("machine-code"));
        cache::create_private(&code.folder).expect("made");
        for (name, hours) in
            [("a.cwasm", 3), ("b.cwasm", 2), ("c.cwasm", 1), ("other.txt", 9), (".tmpx", 9), (".tmpy", 0)]
        {
            let file = fs::File::create(code.folder.join(name)).expect("made");
            file.set_len(100).expect("grown");
            file.set_modified(SystemTime::now() - Duration::from_secs(hours * 3600)).expect("aged");
        }
        let left = || {
            let entries = fs::read_dir(&code.folder).expect("read").flatten();
            let mut names: Vec<_> = entries.map(|e| e.file_name().to_string_lossy().into_owned()).collect();
            names.sort();
            names.join(" ")
        };
        code.shrink(300);
        assert_eq!((left().as_str(), code.size()), (".tmpy a.cwasm b.cwasm c.cwasm other.txt", (3, 300)));
        code.shrink(299);
        assert_eq!(left(), ".tmpy b.cwasm c.cwasm other.txt");
        note_use(&code.folder.join("b.cwasm"));
        code.shrink(0);
        assert_eq!(left(), ".tmpy b.cwasm other.txt", "the one that was used last stays");
        code.clean().expect("cleaned");
        assert_eq!(left(), "other.txt");
    }
}
