//! Prepares files for storage before the transaction begins: this work is slow, and a waiting transaction would block
//! other writers.

use gatehouse_core::{
    outcome::Fault,
    ports::documents::{DocumentChunk, FileHead, NewFile},
};

use super::{
    super::super::terms::{TermBudget, name_keys, storable, with_variants},
    index_key,
};
use crate::documents::chunk::{abstract_of, version};

pub(super) struct PreparedFile {
    pub(super) head: FileHead,
    pub(super) key: String,
    pub(super) made_from: Option<String>,
    pub(super) lines: i64,
    pub(super) tokens: i64,
    pub(super) text: String,
    pub(super) abstract_text: String,
    pub(super) names: Vec<String>,
    pub(super) terms: FileTerms,
    pub(super) chunks: ChunkColumns,
}

/// Terms of a file by label, most significant first.
pub(super) struct FileTerms {
    pub(super) path: String,
    pub(super) headings: String,
    pub(super) body: String,
    pub(super) length: i32,
}

#[derive(Default)]
pub(super) struct ChunkColumns {
    /// Hashes of the texts to embed.
    pub(super) versions: Vec<String>,
    pub(super) starts: Vec<i64>,
    pub(super) stops: Vec<i64>,
    pub(super) first_lines: Vec<i64>,
    pub(super) last_lines: Vec<i64>,
    pub(super) headings: Vec<String>,
}

/// Prepares files on a blocking thread.
pub(super) async fn prepare_files(files: Vec<NewFile>) -> Result<Vec<PreparedFile>, Fault> {
    let work = move || files.into_iter().map(PreparedFile::from_file).collect();
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|_| Err(Fault::internal("the task that prepares documents failed")))
}

impl PreparedFile {
    fn from_file(mut file: NewFile) -> Result<Self, Fault> {
        if file.text.contains('\0') {
            file.text = storable(&file.text).into_owned();
        }
        let chunks = ChunkColumns::from_file(&file)?;
        let path = storable(&file.head.path).into_owned();
        let terms = FileTerms::from_file(&path, &file);
        let abstract_text = storable(&abstract_of(&file)).into_owned();
        Ok(Self {
            key: index_key(&path).into_owned(),
            names: names(&path),
            head: FileHead { path, hash: file.head.hash },
            made_from: file.made_from,
            lines: file.lines.into(),
            tokens: file.tokens.into(),
            text: file.text,
            abstract_text,
            terms,
            chunks,
        })
    }
}

impl FileTerms {
    fn from_file(path: &str, file: &NewFile) -> Self {
        let mut budget = TermBudget::new();
        let path_terms = budget.take_terms(&with_variants(path));
        let headings = budget.take_terms(&with_variants(&file.headings.join("\n")));
        let body = budget.take_terms(&file.text);
        if budget.cut {
            tracing::warn!(path, "document is too long; not all of its words are indexed");
        }
        Self { path: path_terms, headings, body, length: budget.length() }
    }
}

impl ChunkColumns {
    fn from_file(file: &NewFile) -> Result<Self, Fault> {
        let mut chunks = Self::default();
        for DocumentChunk { start, end, lines, heading } in &file.chunks {
            let text = file.text.get(*start..*end).ok_or_else(|| {
                Fault::internal(format!("a chunk of '{}' is outside its text", file.head.path))
            })?;
            let heading = storable(heading).into_owned();
            chunks.versions.push(version(&heading, text));
            chunks.starts.push(*start as i64);
            chunks.stops.push(*end as i64);
            chunks.first_lines.push(lines.first.into());
            chunks.last_lines.push(lines.last.into());
            chunks.headings.push(heading);
        }
        Ok(chunks)
    }
}

/// Returns the comparison keys of a path, its file name, and the name without extension.
fn names(path: &str) -> Vec<String> {
    let name = path.rsplit_once('/').map_or(path, |(_, name)| name);
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    name_keys([path, name, stem])
}
