//! Reads the text of one file of a wiki. Refuses what is too large, is no text, or lies outside the wiki.

use std::{
    fs,
    io::Read as _,
    path::{Path, PathBuf},
};

/// Larger files are left out.
pub(crate) const MAX_FILE_BYTES: u64 = 4 * 1024 * 1024;

/// Why a file was not read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ReadError {
    /// It lies outside the wiki folder.
    Outside,
    /// It lies inside, and this is wrong with it.
    Invalid(String),
}

pub(crate) fn read_text(root: &Path, path: &Path) -> Result<String, ReadError> {
    let because = |error: std::io::Error| ReadError::Invalid(format!("cannot be read: {error}"));
    let real: PathBuf = path.canonicalize().map_err(because)?;
    if !real.starts_with(root) {
        return Err(ReadError::Outside);
    }
    // Asked before it is opened: opening a named pipe would wait for a writer.
    let about = fs::metadata(&real).map_err(because)?;
    if !about.is_file() {
        return Err(ReadError::Invalid("not a file".into()));
    }
    let file = fs::File::open(&real).map_err(because)?;
    let mut bytes = Vec::new();
    // One byte more than allowed, so that a file that grows meanwhile is noticed too.
    file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(because)?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        let mib = MAX_FILE_BYTES / 1024 / 1024;
        return Err(ReadError::Invalid(format!("larger than {mib} MiB ({} bytes)", about.len())));
    }
    if let Some(at) = bytes.iter().position(|byte| *byte == 0) {
        return Err(ReadError::Invalid(format!("not text: a NUL at byte {at}")));
    }
    String::from_utf8(bytes).map_err(|error| {
        ReadError::Invalid(format!("not UTF-8 from byte {}", error.utf8_error().valid_up_to()))
    })
}
