//! Components embedded in the host's program. Each has a path of its own at which there is no file.

use std::{fs, io, path::Path};

use crate::{component_info::MAX_FILE, index::FileStamp};

#[derive(Debug, Clone, Copy)]
pub struct EmbeddedComponents {
    /// Returns the bytes of a component. `None` if the path is not of an embedded component.
    pub size: fn(&Path) -> Option<u64>,
    /// Identifies the set of components; differs between programs with different ones.
    pub version: u64,
    pub read: fn(&Path) -> io::Result<Vec<u8>>,
}

impl EmbeddedComponents {
    pub const NONE: Self = Self { size: |_| None, version: 0, read: |_| Err(io::ErrorKind::NotFound.into()) };

    pub(crate) fn stamp(&self, path: &Path) -> io::Result<FileStamp> {
        match (self.size)(path) {
            Some(size) => Ok(FileStamp::embedded(size, self.version)),
            None => FileStamp::read(path),
        }
    }

    /// Returns the stamp if the path can be a component. The error follows the file's name.
    pub(crate) fn checked_stamp(&self, path: &Path) -> Result<FileStamp, String> {
        if (self.size)(path).is_none() {
            let meta = fs::metadata(path).map_err(|error| error.to_string())?;
            if !meta.is_file() {
                return Err("is not a file".into());
            }
            if meta.len() > MAX_FILE {
                return Err(format!("is {} bytes; the limit is {MAX_FILE}", meta.len()));
            }
        }
        self.stamp(path).map_err(|error| error.to_string())
    }

    pub(crate) fn bytes(&self, path: &Path) -> io::Result<Vec<u8>> {
        if (self.size)(path).is_some() { (self.read)(path) } else { fs::read(path) }
    }
}
