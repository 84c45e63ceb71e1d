//! The cache folder: compiled gates and the index of gate files. All hosts of a user share it, regardless of their
//! configuration. Only this user can access it, because the host runs and trusts its content.

use std::{
    fs, io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use gatehouse_core::InvalidValue;

use crate::{
    component_info::ComponentInfo,
    engine,
    machine_code::{self, MachineCode},
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheSize {
    pub components: usize,
    /// Bytes of components and of the functions that `gates dev` caches.
    pub bytes: u64,
}

impl CacheSize {
    /// Measures the cache in this folder. Blocks.
    pub fn from_folder(cache: &Path) -> Self {
        let (components, bytes) = machine_code(cache).size();
        let functions = fs::metadata(functions(cache)).map_or(0, |meta| meta.len());
        Self { components, bytes: bytes + functions }
    }
}

/// Removes compiled gates and the index. Running hosts are not affected. Blocks.
pub fn clean(cache: &Path) -> io::Result<()> {
    machine_code(cache).clean()?;
    remove(&index(cache))?;
    remove(&functions(cache))
}

/// Removes a file, unless another host already removed it.
pub(crate) fn remove(file: &Path) -> io::Result<()> {
    match fs::remove_file(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

/// Compiles components for a package, for every processor of this architecture. Returns file names and contents; hosts
/// look for them in `machine-code` next to the program or in `../lib/gatehouse`. Blocks.
pub fn for_package(components: &[Vec<u8>]) -> Result<Vec<(String, Vec<u8>)>, InvalidValue> {
    let compiler = |error: wasmtime::Error| InvalidValue::from(format!("{error:#}"));
    let engine = engine::portable().map_err(compiler)?;
    let compile = |wasm: &Vec<u8>| {
        let info = ComponentInfo::read(wasm).map_err(|error| error.to_string())?;
        machine_code::packaged(&engine, &info.digest, wasm).map_err(compiler)
    };
    components.iter().map(compile).collect()
}

pub(crate) fn machine_code(cache: &Path) -> MachineCode {
    MachineCode::new(cache.join("machine-code"))
}

pub(crate) fn functions(cache: &Path) -> PathBuf {
    cache.join("functions")
}

pub(crate) fn index(cache: &Path) -> PathBuf {
    cache.join("gates.json")
}

/// Creates a folder that only this user can access. Removes machine code from one that others could write. Fails if
/// another user owns it.
pub(crate) fn create_private(folder: &Path) -> io::Result<()> {
    gatehouse_files::make_private(folder)?;
    if is_private(folder) {
        return Ok(());
    }
    for entry in
        fs::read_dir(folder)?.flatten().filter(|e| e.path().extension().is_some_and(|x| x == "cwasm"))
    {
        fs::remove_file(entry.path())?;
    }
    fs::set_permissions(folder, std::os::unix::fs::PermissionsExt::from_mode(0o700))?;
    if is_private(folder) { Ok(()) } else { Err(io::Error::other("the folder belongs to another user")) }
}

pub(crate) fn is_private(folder: &Path) -> bool {
    let me = rustix::process::geteuid().as_raw();
    fs::metadata(folder).is_ok_and(|meta| meta.mode() & 0o077 == 0 && meta.uid() == me)
}

#[cfg(test)]
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
        assert!(!is_private(&folder));
        create_private(&folder).expect("ours now");
        assert!(is_private(&folder) && !folder.join("planted.cwasm").exists());
    }

    #[test]
    fn a_folder_of_somebody_else_is_not_ours() {
        let parent = tempfile::tempdir().expect("a folder");
        let folder = parent.path().join("machine-code");
        create_private(&folder).expect("made");
        assert!(is_private(&folder));
        // Only root can change a folder's owner.
        if std::os::unix::fs::chown(&folder, Some(12_345), None).is_ok() {
            assert!(!is_private(&folder));
        }
    }
}
