//! Cache of compiled functions for gates under development. A new build shares most functions with the previous one.
//!
//! Only commands for authors use it: hosts compile a component once, and gates must not share data. The functions are
//! fully optimized.

use std::{
    borrow::Cow,
    collections::HashMap,
    fs,
    path::PathBuf,
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use gatehouse_core::{hash::sha256_hex, lock};
use gatehouse_files::{Durability, write_private};
use wasmtime::CacheStore;

use crate::cache;

/// Builds after which an unused function is dropped.
const MAX_AGE: u64 = 3;

/// Maximum bytes of functions. Python's interpreter takes 30 MiB.
const MAX_BYTES: usize = 256 << 20;

/// Bytes of the hexadecimal digest at the start of the file.
const DIGEST_HEX_BYTES: usize = 64;

/// Compiled functions by the compiler's key, which covers function, compiler version and settings.
#[derive(Debug)]
pub(crate) struct FunctionCache {
    file: PathBuf,
    functions: Mutex<CachedFunctions>,
    build: AtomicU64,
}

#[derive(Debug, Default)]
struct CachedFunctions {
    by_key: HashMap<Vec<u8>, CachedFunction>,
    bytes: usize,
    /// True if the file lacks some functions.
    grown: bool,
}

#[derive(Debug)]
struct CachedFunction {
    code: Vec<u8>,
    used: u64,
}

impl FunctionCache {
    /// Reads the cache file. Blocks.
    pub(crate) fn open(file: PathBuf) -> Self {
        // A user with write access to the folder could replace the file, and its content is executed.
        let trusted = file.parent().is_some_and(cache::is_private);
        let bytes = fs::read(&file).ok().filter(|_| trusted);
        let functions = bytes.and_then(|bytes| {
            let functions = read(&bytes);
            if functions.is_none() {
                let file = file.display();
                tracing::warn!("{file} is damaged; the functions in it are compiled again");
            }
            functions
        });
        Self { file, functions: Mutex::new(functions.unwrap_or_default()), build: AtomicU64::new(0) }
    }

    /// Ends a build: drops functions that recent builds did not use and saves the rest. Blocks.
    pub(crate) fn end_build(&self) {
        let build = self.build.fetch_add(1, Ordering::Relaxed);
        let mut functions = lock(&self.functions);
        functions.by_key.retain(|_, function| function.used + MAX_AGE >= build);
        functions.bytes =
            functions.by_key.iter().map(|(key, function)| key.len() + function.code.len()).sum();
        if !std::mem::take(&mut functions.grown) {
            return;
        }
        let created = self.file.parent().map_or(Ok(()), cache::create_private);
        let written =
            created.and_then(|()| write_private(&self.file, &encode(&functions), Durability::Unsynced));
        if let Err(error) = written {
            tracing::warn!(file = %self.file.display(), %error, "cannot store compiled functions; the next command compiles them again");
        }
    }
}

impl CacheStore for FunctionCache {
    fn get(&self, key: &[u8]) -> Option<Cow<'_, [u8]>> {
        let mut functions = lock(&self.functions);
        let function = functions.by_key.get_mut(key)?;
        function.used = self.build.load(Ordering::Relaxed);
        Some(Cow::Owned(function.code.clone()))
    }

    fn insert(&self, key: &[u8], value: Vec<u8>) -> bool {
        let mut functions = lock(&self.functions);
        if functions.bytes + key.len() + value.len() > MAX_BYTES {
            return false;
        }
        functions.bytes += key.len() + value.len();
        functions.grown = true;
        let used = self.build.load(Ordering::Relaxed);
        functions.by_key.insert(key.to_vec(), CachedFunction { code: value, used });
        true
    }
}

/// Encodes the file: a digest of the rest, then for each function the lengths of key and code, the key and the code.
fn encode(functions: &CachedFunctions) -> Vec<u8> {
    let mut bytes = vec![0; DIGEST_HEX_BYTES];
    for (key, CachedFunction { code, .. }) in &functions.by_key {
        for part in [key, code] {
            bytes.extend((part.len() as u32).to_le_bytes());
        }
        bytes.extend_from_slice(key);
        bytes.extend_from_slice(code);
    }
    let digest = sha256_hex(&bytes[DIGEST_HEX_BYTES..]);
    bytes[..DIGEST_HEX_BYTES].copy_from_slice(digest.as_bytes());
    bytes
}

/// Parses a file. `None` if its digest does not match, because damaged code must not be executed.
fn read(bytes: &[u8]) -> Option<CachedFunctions> {
    let (digest, mut rest) = bytes.split_at_checked(DIGEST_HEX_BYTES)?;
    if digest != sha256_hex(rest).as_bytes() {
        return None;
    }
    let mut functions = CachedFunctions { bytes: rest.len(), ..CachedFunctions::default() };
    while !rest.is_empty() {
        let key = length(&mut rest)?;
        let code = length(&mut rest)?;
        let (key, after) = rest.split_at_checked(key)?;
        let (code, after) = after.split_at_checked(code)?;
        functions.by_key.insert(key.to_vec(), CachedFunction { code: code.to_vec(), used: 0 });
        rest = after;
    }
    Some(functions)
}

fn length(bytes: &mut &[u8]) -> Option<usize> {
    let (length, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(u32::from_le_bytes(*length) as usize)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn folder() -> (tempfile::TempDir, PathBuf) {
        let parent = tempfile::tempdir().expect("a folder");
        let file = parent.path().join("cache/functions");
        (parent, file)
    }

    fn has(cache: &FunctionCache, key: &[u8]) -> bool {
        cache.get(key).is_some()
    }

    #[test]
    fn functions_outlive_the_command() {
        let (_parent, file) = folder();
        let cache = FunctionCache::open(file.clone());
        assert!(!has(&cache, b"key") && cache.insert(b"key", b"code".to_vec()));
        cache.insert(b"empty", vec![]);
        cache.end_build();
        let cache = FunctionCache::open(file);
        assert_eq!(cache.get(b"key").as_deref(), Some(&b"code"[..]));
        assert_eq!(cache.get(b"empty").as_deref(), Some(&b""[..]));
    }

    #[test]
    fn the_compiler_finds_the_functions_of_the_build_before() {
        let (_parent, file) = folder();
        let cache = Arc::new(FunctionCache::open(file));
        let capacity = crate::capacity::InstanceCapacity::new(crate::capacity::SystemLimits::default());
        let runtime = crate::engine::WasmRuntime::new(&capacity, Some(Arc::clone(&cache) as _));
        let engine = runtime.expect("an engine").engine;
        // A function without parameters or results, and a section that distinguishes builds.
        let build = |version: u8| {
            let mut module =
                b"\0asm\x01\0\0\0\x01\x04\x01\x60\0\0\x03\x02\x01\0\x0a\x04\x01\x02\0\x0b".to_vec();
            module.extend([0, 3, 1, b'v', version]);
            engine.precompile_module(&module).expect("compiled");
        };
        build(1);
        let known = lock(&cache.functions).by_key.len();
        assert!(known > 0 && lock(&cache.functions).grown);
        cache.end_build();
        build(2);
        let functions = lock(&cache.functions);
        assert_eq!((functions.by_key.len(), functions.grown), (known, false));
        assert!(functions.by_key.values().all(|function| function.used == 1));
    }

    #[test]
    fn a_file_with_a_changed_bit_is_not_used() {
        let (_parent, file) = folder();
        let cache = FunctionCache::open(file.clone());
        cache.insert(b"key", b"code".to_vec());
        cache.end_build();
        let whole = fs::read(&file).expect("written");
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 1;
            assert!(read(&bytes).is_none(), "byte {at}");
        }
        (0..whole.len()).for_each(|len| assert!(read(&whole[..len]).is_none(), "{len}"));
        assert!(read(&whole).is_some());
    }

    #[test]
    fn a_file_in_a_folder_that_others_can_write_is_not_used() {
        let (_parent, file) = folder();
        let cache = FunctionCache::open(file.clone());
        cache.insert(b"key", b"code".to_vec());
        cache.end_build();
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o777);
        fs::set_permissions(file.parent().expect("a folder"), open).expect("opened");
        assert!(!has(&FunctionCache::open(file), b"key"));
    }

    #[test]
    fn functions_of_older_builds_make_room() {
        let (_parent, file) = folder();
        let cache = FunctionCache::open(file);
        cache.insert(b"old", b"code".to_vec());
        cache.insert(b"used", b"code".to_vec());
        for _ in 0..=MAX_AGE {
            cache.end_build();
            assert!(has(&cache, b"used"));
        }
        assert!(lock(&cache.functions).by_key.contains_key(&b"old"[..]));
        cache.end_build();
        assert!(!has(&cache, b"old") && has(&cache, b"used"));
        assert!(!cache.insert(b"large", vec![0; MAX_BYTES]), "no more than there is room for");
    }
}
