//! What is stored of a file, worked out before the server is asked for anything: this is where the time goes, and a
//! transaction that waits for it would hold up others.

use gatehouse_core::{
    outcome::Fault,
    ports::documents::{DocumentChunk, FileHead, NewFile},
    search::name::name_key,
};

use super::{
    super::super::terms::{TermBudget, with_variants},
    index_key, storable,
};
use crate::documents::chunk::{abstract_of, version};

/// Letters of a name; an index has no room for much longer ones.
const MAX_NAME: usize = 200;

/// A file on its way to the server.
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

/// What is indexed of it, most telling part first.
pub(super) struct FileTerms {
    pub(super) path: String,
    pub(super) headings: String,
    pub(super) body: String,
    /// How many words these are.
    pub(super) length: i32,
}

/// Its chunks, a list for each column.
#[derive(Default)]
pub(super) struct ChunkColumns {
    /// Which text each has.
    pub(super) versions: Vec<String>,
    pub(super) starts: Vec<i64>,
    pub(super) stops: Vec<i64>,
    pub(super) first_lines: Vec<i64>,
    pub(super) last_lines: Vec<i64>,
    pub(super) headings: Vec<String>,
}

/// Prepares files, off the runtime.
pub(super) async fn prepare_files(files: Vec<NewFile>) -> Result<Vec<PreparedFile>, Fault> {
    let work = move || files.into_iter().map(PreparedFile::from_file).collect();
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|_| Err(Fault::internal("the preparation of documents ended without an answer")))
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
            tracing::warn!(path, "a document is too long to be found by all of its words");
        }
        Self { path: path_terms, headings, body, length: budget.length() }
    }
}

impl ChunkColumns {
    fn from_file(file: &NewFile) -> Result<Self, Fault> {
        let mut chunks = Self::default();
        for DocumentChunk { start, end, lines, heading } in &file.chunks {
            let text = file.text.get(*start..*end).ok_or_else(|| {
                Fault::internal(format!("a chunk of '{}' does not lie within its text", file.head.path))
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

/// What a file is called, in the form in which names are compared: its path, its name, and that without its ending.
fn names(path: &str) -> Vec<String> {
    let name = path.rsplit_once('/').map_or(path, |(_, name)| name);
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    let mut keys: Vec<String> = [path, name, stem].into_iter().map(name_key).collect();
    keys.retain(|key| !key.is_empty() && key.chars().count() <= MAX_NAME);
    keys.sort_unstable();
    keys.dedup();
    keys
}
