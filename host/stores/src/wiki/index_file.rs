//! The index file that `KG_INDEX_PATH` names. It contains the engine and the directory of a wiki.
//!
//! Reading does not open the engine. Writing never overwrites a file of another kind.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use gatehouse_core::outcome::Fault;
use gatehouse_files::write_atomic;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

const VERSION: &str = "1.0";

/// Name of the engine `weaviate-neo4j` in index files of other programs.
const FOREIGN_WEAVIATE_NEO4J: &str = "kg_graph_search";

const MAX_BYTES: u64 = 1024 * 1024;

pub const SEARCH_BACKENDS: &[&str] = &["sqlite", "weaviate-neo4j", "postgres"];

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct IndexFile {
    /// Format version, `1.0`.
    pub version: String,
    /// Creation time of the index (RFC 3339, UTC).
    pub created_at: String,
    /// Wiki directory; absolute after reading.
    pub data_source: String,
    pub search_backend: String,
    /// Location of the pages in the engine, in an engine-specific format.
    #[serde(default)]
    pub backend_refs: Map<String, Value>,
    #[serde(default)]
    pub page_count: u64,
}

impl IndexFile {
    /// Creates an index file of the current version.
    pub fn new(
        created_at: String,
        data_source: String,
        search_backend: &str,
        refs: Map<String, Value>,
        page_count: u64,
    ) -> Self {
        let (version, search_backend) = (VERSION.into(), search_backend.to_owned());
        Self { version, created_at, data_source, search_backend, backend_refs: refs, page_count }
    }

    /// Reads an index file. A relative `data_source` is relative to the file's directory.
    ///
    /// # Errors
    ///
    /// The fault names the file and the problem, and its hint the command that writes a new file.
    pub fn read(path: &Path) -> Result<Self, Fault> {
        let display_path = path.display();
        let hint = format!(
            "Recreate it with `gatehouse kg index DIR --save-to {display_path}`, or unset KG_INDEX_PATH."
        );
        let bytes = read_bounded(path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => {
                Fault::not_found(format!("index file '{display_path}' does not exist")).hint(hint.clone())
            }
            _ => Fault::not_found(format!("cannot read index file '{display_path}': {error}"))
                .hint(hint.clone()),
        })?;
        let wrong = |problem: String| {
            Fault::invalid(format!("index file '{display_path}' {problem}")).hint(hint.clone())
        };
        let value: Value =
            serde_json::from_slice(&bytes).map_err(|error| wrong(format!("is not JSON: {error}")))?;
        let version = value.get("version").and_then(Value::as_str).unwrap_or("none").to_owned();
        if version != VERSION {
            return Err(wrong(format!("has version '{version}'; expected '{VERSION}'")));
        }
        let mut index: Self =
            serde_json::from_value(value).map_err(|error| wrong(format!("is not an index file: {error}")))?;
        if index.search_backend == FOREIGN_WEAVIATE_NEO4J {
            index.search_backend = "weaviate-neo4j".into();
        }
        if !SEARCH_BACKENDS.contains(&index.search_backend.as_str()) {
            let backends = SEARCH_BACKENDS.join(", ");
            return Err(wrong(format!(
                "has an unknown search_backend '{}'; expected one of {backends}",
                index.search_backend
            )));
        }
        let source = Path::new(&index.data_source);
        if source.is_relative() {
            let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
            let absolute = std::path::absolute(folder.join(source))
                .map_err(|e| wrong(format!("has an invalid data_source: {e}")))?;
            index.data_source = absolute.to_string_lossy().into_owned();
        }
        Ok(index)
    }

    pub fn wiki(&self) -> PathBuf {
        PathBuf::from(&self.data_source)
    }

    /// Writes the file atomically.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be written. An existing file is then unchanged.
    pub fn write(&self, path: &Path) -> Result<(), Fault> {
        may_overwrite(path)?;
        let cannot = |cause: String| {
            Fault::unavailable(format!("cannot write index file '{}': {cause}", path.display()))
                .hint("Check the folder's permissions and the free space.")
        };
        let mut text = serde_json::to_vec_pretty(self).map_err(|error| cannot(error.to_string()))?;
        text.push(b'\n');
        write_atomic(path, &text).map_err(|error| cannot(error.to_string()))
    }
}

/// Fails if the path exists and is not an index file.
pub(crate) fn may_overwrite(path: &Path) -> Result<(), Fault> {
    match read_bounded(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Ok(bytes) if is_index_file(&bytes) => Ok(()),
        _ => Err(Fault::invalid(format!(
            "'{}' exists and is not an index file; it was not changed",
            path.display()
        ))
        .hint("Choose a new file, for example wiki.index.")),
    }
}

/// Returns true for an index file of any version.
fn is_index_file(bytes: &[u8]) -> bool {
    let fields = ["version", "data_source", "search_backend"];
    serde_json::from_slice(bytes).is_ok_and(|file: Value| fields.iter().all(|name| file[name].is_string()))
}

fn read_bounded(path: &Path) -> io::Result<Vec<u8>> {
    let about = fs::metadata(path)?;
    if !about.is_file() {
        return Err(io::Error::other("not a file"));
    }
    if about.len() > MAX_BYTES {
        return Err(io::Error::other("larger than 1 MiB"));
    }
    fs::read(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> IndexFile {
        IndexFile::new("2026-01-09T12:00:00Z".into(), "/wiki".into(), "sqlite", Map::new(), 99)
    }

    #[test]
    fn an_index_file_survives_writing_and_reading() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("wiki.index");
        sample().write(&path).unwrap();
        sample().write(&path).unwrap();
        assert_eq!(IndexFile::read(&path).unwrap(), sample());
    }

    #[test]
    fn an_index_file_of_another_program_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("wiki.index");
        let text = r#"{"version": "1.0", "created_at": "2025-12-01T10:00:00+00:00", "data_source": "/wiki",
            "search_backend": "kg_graph_search", "backend_refs": {"weaviate_collection": "Pages"}, "page_count": 99}"#;
        fs::write(&path, text).unwrap();
        let file = IndexFile::read(&path).unwrap();
        assert_eq!((file.search_backend.as_str(), file.page_count), ("weaviate-neo4j", 99));
        sample().write(&path).unwrap();
    }

    #[test]
    fn a_relative_wiki_is_meant_from_the_files_folder() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("wiki.index");
        IndexFile { data_source: "pages".into(), ..sample() }.write(&path).unwrap();
        assert_eq!(IndexFile::read(&path).unwrap().wiki(), dir.path().join("pages"));
    }

    #[test]
    fn every_defect_names_the_file_and_the_next_step() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("wiki.index");
        let fault = IndexFile::read(&path).unwrap_err();
        assert!(fault.message.contains("does not exist") && fault.message.contains("wiki.index"));
        assert!(IndexFile::read(dir.path()).unwrap_err().message.contains("cannot read"));
        let cases = [
            ("{", "is not JSON"),
            ("[]", "has version 'none'"),
            (r#"{"version":"2.0"}"#, "has version '2.0'"),
            (r#"{"version":"1.0"}"#, "is not an index file"),
            (
                r#"{"version":"1.0","created_at":"","data_source":"/w","search_backend":"oracle"}"#,
                "unknown search_backend 'oracle'",
            ),
        ];
        for (text, expected) in cases {
            fs::write(&path, text).unwrap();
            let fault = IndexFile::read(&path).unwrap_err();
            assert!(fault.message.contains(expected) && fault.hint.is_some(), "{}", fault.message);
        }
    }

    #[test]
    fn other_files_are_not_overwritten() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("README.md");
        fs::write(&path, "# mine").unwrap();
        assert!(sample().write(&path).is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "# mine");
    }
}
