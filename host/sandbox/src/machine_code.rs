//! Compiled components on disk: one file per component and engine, mapped into memory, never rewritten.
//!
//! What lies here is native code that the host will run, so the folder belongs to us alone (mode 0700),
//! files in it appear whole (temporary file and rename) and are never accepted from anywhere else. Each file ends with
//! a checksum, which is compared when the code is first mapped.
//! This is the one module of the host with unsafe code.

mod checksum;
mod packaged;

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

use crate::private_folders;

/// Another number whenever files have another form, which gives them other names.
const FORMAT_VERSION: u8 = 2;

/// The time of last use is noted at most this often.
const MIN_TOUCH_INTERVAL: Duration = Duration::from_secs(60);

/// A temporary file of this age belongs to a process that ended before it could rename it.
const MAX_TEMP_FILE_AGE: Duration = Duration::from_secs(3600);

/// The folder of compiled components.
pub(crate) struct MachineCode {
    folder: PathBuf,
    /// Folders of machine code that packages brought along.
    packaged: OnceLock<Vec<PathBuf>>,
    /// Damaged files that could not be removed.
    damaged: Mutex<BTreeSet<PathBuf>>,
    /// True once it was reported that the folder cannot be written.
    unwritable: AtomicBool,
}

impl MachineCode {
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self {
            folder,
            packaged: OnceLock::new(),
            damaged: Mutex::default(),
            unwritable: AtomicBool::new(false),
        }
    }

    /// The component of this digest if it was compiled before by an engine like this one: here, or for a package.
    pub(crate) fn load(&self, engine: &Engine, digest: &str) -> Option<Component> {
        self.load_own(engine, digest).or_else(|| self.load_packaged(engine, digest))
    }

    fn load_packaged(&self, engine: &Engine, digest: &str) -> Option<Component> {
        let folders = self.packaged.get_or_init(packaged::folders).iter();
        folders.map(|folder| folder.join(packaged::name(digest))).find_map(|path| {
            if !path.is_file() || !packaged::is_trusted(&path, path.parent()?) {
                return None;
            }
            match open(engine, digest, &path) {
                Ok(component) => Some(component),
                Err(why) => {
                    tracing::info!(path = %path.display(), "packaged machine code does not fit, so the gate is compiled: {why}");
                    None
                }
            }
        })
    }

    fn load_own(&self, engine: &Engine, digest: &str) -> Option<Component> {
        let path = self.path(engine, digest);
        // Who can write beside the folder can put another one in its place.
        let beside = self.folder.parent().is_none_or(private_folders::is_private);
        if !beside || !private_folders::is_private(&self.folder) || !path.exists() {
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
                tracing::warn!(path = %path.display(), "compiled gate is damaged (its checksum does not match) and is compiled again");
                if fs::remove_file(&path).is_err() {
                    lock(&self.damaged).insert(path);
                }
                None
            }
            Err(MachineCodeError::Unfit(why)) => {
                tracing::warn!(path = %path.display(), "compiled gate is unusable and will be made again: {why}");
                None
            }
        }
    }

    /// Compiles a component and stores the result. A folder that cannot be written costs the next start
    /// its speed, not this one its gate.
    pub(crate) fn compile(&self, engine: &Engine, digest: &str, wasm: &[u8]) -> wasmtime::Result<Component> {
        let code = engine.precompile_component(wasm)?;
        let path = self.path(engine, digest);
        let content = checksum::with_checksum(digest, code);
        let stored = self.store(&path, &content).map_err(|error| error.to_string());
        match stored.and_then(|()| open(engine, digest, &path).map_err(|why| why.to_string())) {
            Ok(component) => {
                lock(&self.damaged).remove(&path);
                Ok(component)
            }
            Err(why) => {
                if !self.unwritable.swap(true, Ordering::Relaxed) {
                    tracing::warn!(folder = %self.folder.display(), "compiled gates cannot be stored, so every start compiles them again: {why}");
                }
                from_memory(engine, &content)
            }
        }
    }

    /// Removes what was used longest ago, until the rest has at most `cap` bytes; what was used last stays
    /// in any case. Another host may have a file mapped: its mapping outlives the name, and what it loads
    /// anew it compiles anew.
    pub(crate) fn shrink(&self, cap: u64) {
        if !private_folders::is_private(&self.folder) {
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
        let mut kept = 0;
        for (place, (_, size, path)) in files.into_iter().enumerate() {
            kept += size;
            if kept > cap && place > 0 {
                let _ = fs::remove_file(path);
            }
        }
    }

    /// How many compiled components there are, and the bytes that they take.
    pub(crate) fn size(&self) -> (usize, u64) {
        let code = self.files().into_iter().filter(|(path, _)| is_code(path));
        code.fold((0, 0), |(files, bytes), (_, meta)| (files + 1, bytes + meta.len()))
    }

    /// Removes them all.
    pub(crate) fn clean(&self) -> std::io::Result<()> {
        for (path, _) in self.files() {
            match fs::remove_file(path) {
                // Another host was faster.
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                done => done?,
            }
        }
        Ok(())
    }

    /// What we put into the folder: compiled components, and temporary files on their way to be one.
    fn files(&self) -> Vec<(PathBuf, fs::Metadata)> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let files = entries.filter_map(|entry| Some((entry.path(), entry.metadata().ok()?)));
        let ours = |path: &Path| {
            is_code(path) || path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(".tmp"))
        };
        files.filter(|(path, meta)| meta.is_file() && ours(path)).collect()
    }

    fn store(&self, path: &Path, code: &[u8]) -> std::io::Result<()> {
        self.folder.parent().map_or(Ok(()), private_folders::create)?;
        private_folders::create(&self.folder)?;
        write_private(path, code, Durability::Synced)
    }

    fn path(&self, engine: &Engine, digest: &str) -> PathBuf {
        let mut hasher = DefaultHasher::new();
        FORMAT_VERSION.hash(&mut hasher);
        engine.precompile_compatibility_hash().hash(&mut hasher);
        self.folder.join(format!("{digest}-{:016x}.cwasm", hasher.finish()))
    }
}

/// Returns name and content of the file of machine code that packages bring along for a component.
pub(crate) fn packaged(engine: &Engine, digest: &str, wasm: &[u8]) -> wasmtime::Result<(String, Vec<u8>)> {
    let code = engine.precompile_component(wasm)?;
    Ok((packaged::name(digest), checksum::with_checksum(digest, code)))
}

/// Why a file of machine code is not used.
#[derive(Debug, thiserror::Error)]
enum MachineCodeError {
    /// Its checksum is another one.
    #[error("its checksum does not match")]
    Damaged,
    /// It cannot be read, or is not for this engine.
    #[error("{0}")]
    Unfit(String),
}

/// Maps a file whose checksum matches.
fn open(engine: &Engine, digest: &str, path: &Path) -> Result<Component, MachineCodeError> {
    if !checksum::is_whole(digest, path).map_err(|error| MachineCodeError::Unfit(error.to_string()))? {
        return Err(MachineCodeError::Damaged);
    }
    map(engine, path).map_err(|error| MachineCodeError::Unfit(format!("{error:#}")))
}

/// Whether a file is a compiled component.
fn is_code(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "cwasm")
}

/// Marks a file as used, for [`MachineCode::shrink`]. A file that cannot be marked is compiled again one day.
fn note_use(path: &Path) {
    let age = fs::metadata(path).and_then(|meta| meta.modified()).ok().and_then(|used| used.elapsed().ok());
    if age.is_some_and(|age| age > MIN_TOUCH_INTERVAL) {
        let _ = fs::File::open(path).and_then(|file| file.set_modified(SystemTime::now()));
    }
}

#[allow(unsafe_code, reason = "loading our own compiled code, see SAFETY")]
fn from_memory(engine: &Engine, code: &[u8]) -> wasmtime::Result<Component> {
    // SAFETY: the bytes come from this engine's compiler, in this process, a moment ago. What follows them is not
    // part of the ELF file that wasmtime reads.
    unsafe { Component::deserialize(engine, code) }
}

#[allow(unsafe_code, reason = "mapping our own compiled code, see SAFETY")]
fn map(engine: &Engine, path: &Path) -> wasmtime::Result<Component> {
    // SAFETY: the file was written whole by `store`, from bytes that this engine's compiler produced,
    // into a folder that only this user can write; it is replaced by rename only, so a mapping of it
    // never changes. Or it is of a package, which only those can write who can write this program. Its checksum was compared a moment ago. wasmtime itself checks version and configuration in the
    // file's header.
    unsafe { Component::deserialize_file(engine, path) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_used_longest_ago_makes_room() {
        let parent = tempfile::tempdir().expect("a folder");
        let code = MachineCode::new(parent.path().join("machine-code"));
        private_folders::create(&code.folder).expect("made");
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
