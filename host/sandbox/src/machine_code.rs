//! Compiled components on disk: one file per component and engine, mapped into memory, never rewritten.
//!
//! What lies here is native code that the host will run, so the folder belongs to us alone (mode 0700),
//! files in it appear whole (temporary file and rename) and are never accepted from anywhere else.
//! This is the one module of the host with unsafe code.

use std::{
    collections::BTreeSet,
    fs,
    hash::{DefaultHasher, Hash, Hasher},
    io::Write,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use wasmtime::{Engine, component::Component};

/// How long machine code is kept that no gate has any more.
const KEPT: Duration = Duration::from_secs(7 * 24 * 3600);

/// How much of that is kept: an interpreter that is built again and again leaves 40 MB each time.
const KEPT_BYTES: u64 = 512 << 20;

/// The time of last use is noted at most this often.
const NOTED: Duration = Duration::from_secs(24 * 3600);

/// The folder of compiled components.
pub(crate) struct MachineCode {
    folder: PathBuf,
}

impl MachineCode {
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// The component of this digest if it was compiled before by an engine like this one.
    pub(crate) fn load(&self, engine: &Engine, digest: &str) -> Option<Component> {
        let path = self.path(engine, digest);
        // Who can write beside the folder can put another one in its place.
        let beside = self.folder.parent().is_none_or(private);
        if !beside || !private(&self.folder) || !path.exists() {
            return None;
        }
        match map(engine, &path) {
            Ok(component) => {
                note_use(&path);
                Some(component)
            }
            Err(error) => {
                tracing::warn!(path = %path.display(), %error, "compiled gate is unusable and will be made again");
                None
            }
        }
    }

    /// Compiles a component and keeps the result. A folder that cannot be written costs the next start
    /// its speed, not this one its gate.
    pub(crate) fn compile(&self, engine: &Engine, digest: &str, wasm: &[u8]) -> wasmtime::Result<Component> {
        let code = engine.precompile_component(wasm)?;
        let path = self.path(engine, digest);
        match self.store(&path, &code) {
            Ok(()) => map(engine, &path),
            Err(error) => {
                tracing::warn!(folder = %self.folder.display(), %error, "compiled gates cannot be kept; every start will compile again");
                from_memory(engine, &code)
            }
        }
    }

    /// Removes what belongs to none of these components and was neither made nor used for [`KEPT`], and of
    /// the rest the oldest, beyond [`KEPT_BYTES`]. Other hosts may know other components, and an old version
    /// may be needed again: hence the wait.
    pub(crate) fn sweep(&self, digests: &BTreeSet<String>) {
        if !private(&self.folder) {
            return;
        }
        let mut idle = Vec::new();
        for entry in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
            let code = path.extension().is_some_and(|extension| extension == "cwasm");
            let known = name.split('-').next().is_some_and(|digest| digests.contains(digest));
            let meta = entry.metadata().and_then(|meta| Ok((meta.modified()?, meta.len())));
            if let Ok((used, size)) = meta
                && code
                && !known
            {
                idle.push((used.elapsed().unwrap_or_default(), size, path));
            }
        }
        idle.sort();
        let mut kept = 0;
        for (age, size, path) in idle {
            kept += size;
            if age > KEPT || kept > KEPT_BYTES {
                let _ = fs::remove_file(path);
            }
        }
    }

    fn store(&self, path: &Path, code: &[u8]) -> std::io::Result<()> {
        self.folder.parent().map_or(Ok(()), make_private)?;
        make_private(&self.folder)?;
        let mut file = tempfile::NamedTempFile::new_in(&self.folder)?;
        file.write_all(code)?;
        file.as_file().sync_data()?;
        file.persist(path)?;
        Ok(())
    }

    fn path(&self, engine: &Engine, digest: &str) -> PathBuf {
        let mut hasher = DefaultHasher::new();
        engine.precompile_compatibility_hash().hash(&mut hasher);
        self.folder.join(format!("{digest}-{:016x}.cwasm", hasher.finish()))
    }
}

/// Marks a file as used, for [`MachineCode::sweep`]. A file that cannot be marked is compiled again one day.
fn note_use(path: &Path) {
    let age = fs::metadata(path).and_then(|meta| meta.modified()).ok().and_then(|used| used.elapsed().ok());
    if age.is_some_and(|age| age > NOTED) {
        let _ = fs::File::open(path).and_then(|file| file.set_modified(SystemTime::now()));
    }
}

/// Makes a folder that only this user can read and write. One that others could write to is emptied of
/// machine code first, for nobody knows who put it there; one of somebody else is an error.
pub(crate) fn make_private(folder: &Path) -> std::io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)?;
    if private(folder) {
        return Ok(());
    }
    for entry in
        fs::read_dir(folder)?.flatten().filter(|e| e.path().extension().is_some_and(|x| x == "cwasm"))
    {
        fs::remove_file(entry.path())?;
    }
    #[cfg(unix)]
    fs::set_permissions(folder, std::os::unix::fs::PermissionsExt::from_mode(0o700))?;
    if private(folder) { Ok(()) } else { Err(std::io::Error::other("the folder belongs to another user")) }
}

/// Whether the folder is ours and nobody else can write into it.
pub(crate) fn private(folder: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        // This process's own entry belongs to its effective user.
        let me = fs::metadata("/proc/self").map(|own| own.uid());
        fs::metadata(folder)
            .is_ok_and(|meta| meta.mode() & 0o077 == 0 && me.as_ref().map_or(true, |me| meta.uid() == *me))
    }
    #[cfg(not(unix))]
    folder.exists()
}

#[allow(unsafe_code, reason = "loading our own compiled code, see SAFETY")]
fn from_memory(engine: &Engine, code: &[u8]) -> wasmtime::Result<Component> {
    // SAFETY: the bytes come from this engine's compiler, in this process, a moment ago.
    unsafe { Component::deserialize(engine, code) }
}

#[allow(unsafe_code, reason = "mapping our own compiled code, see SAFETY")]
fn map(engine: &Engine, path: &Path) -> wasmtime::Result<Component> {
    // SAFETY: the file was written whole by `store`, from bytes that this engine's compiler produced,
    // into a folder that only this user can write; it is replaced by rename only, so a mapping of it
    // never changes. wasmtime itself checks version and configuration in the file's header.
    unsafe { Component::deserialize_file(engine, path) }
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_folder_that_was_open_to_others_is_emptied_before_it_is_used() {
        let parent = tempfile::tempdir().expect("a folder");
        let folder = parent.path().join("machine-code");
        fs::create_dir(&folder).expect("made");
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).expect("opened");
        fs::write(folder.join("planted.cwasm"), b"not ours").expect("planted");
        make_private(&folder).expect("ours now");
        assert!(private(&folder) && !folder.join("planted.cwasm").exists());
    }

    #[test]
    fn what_nobody_used_for_long_is_swept_but_for_what_gates_have() {
        let parent = tempfile::tempdir().expect("a folder");
        let folder = parent.path().join("machine-code");
        make_private(&folder).expect("made");
        for name in ["known-1.cwasm", "gone-1.cwasm", "recent-1.cwasm", "other.txt"] {
            let file = fs::File::create(folder.join(name)).expect("made");
            let age = if name.starts_with("recent") { Duration::ZERO } else { 2 * KEPT };
            file.set_modified(SystemTime::now() - age).expect("aged");
        }
        MachineCode::new(folder.clone()).sweep(&["known".to_owned()].into());
        let mut left: Vec<_> =
            fs::read_dir(&folder).expect("read").flatten().map(|e| e.file_name()).collect();
        left.sort();
        assert_eq!(left, ["known-1.cwasm", "other.txt", "recent-1.cwasm"]);
    }
}
