//! Reads the text of one wiki file. Rejects files that are too large, not text, or outside the wiki.

use std::{
    fs,
    io::Read as _,
    path::{Path, PathBuf},
};

pub(crate) const MAX_FILE_BYTES: u64 = 4 * 1024 * 1024;

/// Reason that a file was not read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ReadError {
    Outside,
    /// The file is inside, but invalid. Contains the reason.
    Invalid(String),
}

pub(crate) fn read_text(root: &Path, path: &Path) -> Result<String, ReadError> {
    let because = |error: std::io::Error| ReadError::Invalid(format!("cannot be read: {error}"));
    let real: PathBuf = path.canonicalize().map_err(because)?;
    if !real.starts_with(root) {
        return Err(ReadError::Outside);
    }
    // Check before opening: opening a named pipe would block.
    let about = fs::metadata(&real).map_err(because)?;
    if !about.is_file() {
        return Err(ReadError::Invalid("not a file".into()));
    }
    let file = fs::File::open(&real).map_err(because)?;
    let mut bytes = Vec::new();
    // Read one extra byte to detect a file that is growing.
    file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(because)?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        let mib = MAX_FILE_BYTES / 1024 / 1024;
        return Err(ReadError::Invalid(format!("larger than {mib} MiB ({} bytes)", about.len())));
    }
    if let Some(at) = bytes.iter().position(|byte| *byte == 0) {
        return Err(ReadError::Invalid(format!("not text: NUL at byte {at}")));
    }
    String::from_utf8(bytes).map_err(|error| {
        ReadError::Invalid(format!("not UTF-8 from byte {}", error.utf8_error().valid_up_to()))
    })
}
