//! The cache folder: compiled gates and the index of gate files. All hosts of a user share it, regardless of their
//! configuration.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use crate::{
    component_info::{ComponentInfo, NotAGate},
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
    for file in [index(cache), functions(cache)] {
        match fs::remove_file(file) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// Reason a component is not compiled for a package.
#[derive(Debug, thiserror::Error)]
pub enum PackageError {
    #[error(transparent)]
    NotAGate(#[from] NotAGate),
    #[error("{0}")]
    Compiler(String),
}

/// Compiles components for a package, for every processor of this architecture. Returns file names and contents; hosts
/// look for them in `machine-code` next to the program or in `../lib/gatehouse`. Blocks.
pub fn for_package(components: &[Vec<u8>]) -> Result<Vec<(String, Vec<u8>)>, PackageError> {
    let compiler = |error: wasmtime::Error| PackageError::Compiler(format!("{error:#}"));
    let engine = engine::portable().map_err(compiler)?;
    let compile = |wasm: &Vec<u8>| {
        let digest = ComponentInfo::read(wasm)?.digest;
        machine_code::packaged(&engine, &digest, wasm).map_err(compiler)
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
