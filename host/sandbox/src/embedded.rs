//! Components in the host's own program. Each has a path, as those in files have, under which there is no file.

use std::{fs, io, path::Path};

use crate::{component_info::MAX_FILE, index::FileStamp};

/// The components in the program.
#[derive(Debug, Clone, Copy)]
pub struct EmbeddedComponents {
    /// Returns the bytes that a component has. `None` if the path is a file's.
    pub size: fn(&Path) -> Option<u64>,
    /// Another number for each set of components.
    pub version: u64,
    /// Returns a component.
    pub read: fn(&Path) -> io::Result<Vec<u8>>,
}

impl EmbeddedComponents {
    /// No component.
    pub const NONE: Self = Self { size: |_| None, version: 0, read: |_| Err(io::ErrorKind::NotFound.into()) };

    /// What a component is known by: in the program, or in the file of this path.
    pub(crate) fn stamp(&self, path: &Path) -> io::Result<FileStamp> {
        match (self.size)(path) {
            Some(size) => Ok(FileStamp::embedded(size, self.version)),
            None => FileStamp::read(path),
        }
    }

    /// What the file of this path is known by, or the component in the program. The error says why it is no component.
    pub(crate) fn checked_stamp(&self, path: &Path) -> Result<FileStamp, String> {
        if (self.size)(path).is_none() {
            let meta = fs::metadata(path).map_err(|error| error.to_string())?;
            if !meta.is_file() {
                return Err("is not a file".into());
            }
            if meta.len() > MAX_FILE {
                return Err(format!("has {} bytes, the most is {MAX_FILE}", meta.len()));
            }
        }
        self.stamp(path).map_err(|error| error.to_string())
    }

    /// Reads a component.
    pub(crate) fn bytes(&self, path: &Path) -> io::Result<Vec<u8>> {
        if (self.size)(path).is_some() { (self.read)(path) } else { fs::read(path) }
    }
}
