//! Compiled components on disk: one file per component and engine, mapped into memory, never rewritten.
//!
//! What lies here is native code that the host will run, so the folder belongs to us alone (mode 0700),
//! files in it appear whole (temporary file and rename) and are never accepted from anywhere else.
//! This is the one module of the host with unsafe code.

use std::{
    fs,
    hash::{DefaultHasher, Hash, Hasher},
    io::Write,
    path::{Path, PathBuf},
};

use wasmtime::{Engine, component::Component};

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
        if !private(&self.folder) || !path.exists() {
            return None;
        }
        match map(engine, &path) {
            Ok(component) => Some(component),
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
                Component::new(engine, wasm)
            }
        }
    }

    fn store(&self, path: &Path, code: &[u8]) -> std::io::Result<()> {
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

/// Makes the folder, ours alone. Fails where it belongs to somebody else.
pub(crate) fn make_private(folder: &Path) -> std::io::Result<()> {
    fs::create_dir_all(folder)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        if !private(folder) {
            fs::set_permissions(folder, fs::Permissions::from_mode(0o700))?;
        }
    }
    Ok(())
}

/// Whether nobody else can write into the folder.
fn private(folder: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::metadata(folder).is_ok_and(|meta| meta.permissions().mode() & 0o077 == 0)
    }
    #[cfg(not(unix))]
    folder.exists()
}

#[allow(unsafe_code, reason = "mapping our own compiled code, see SAFETY")]
fn map(engine: &Engine, path: &Path) -> wasmtime::Result<Component> {
    // SAFETY: the file was written whole by `store`, from bytes that this engine's compiler produced,
    // into a folder that only this user can write; it is replaced by rename only, so a mapping of it
    // never changes. wasmtime itself checks version and configuration in the file's header.
    unsafe { Component::deserialize_file(engine, path) }
}
