//! Prepares files for storage before the transaction begins: this work is slow, and a waiting transaction would block
//! other writers.

use gatehouse_core::{
    outcome::Fault,
    ports::documents::{DocumentChunk, FileHead, NewFile},
};

use super::{
    super::super::terms::{IndexTerms, storable, with_variants},
    index_key,
};
use crate::{
    documents::chunk::{abstract_of, version},
    engine::name_keys,
    worker::run_blocking,
};

pub(super) struct PreparedFile {
    pub(super) head: FileHead,
    pub(super) key: String,
    pub(super) made_from: Option<String>,
    pub(super) lines: i64,
    pub(super) tokens: i64,
    pub(super) text: String,
    pub(super) abstract_text: String,
    pub(super) names: Vec<String>,
    /// Terms of the path, the headings and the text.
    pub(super) terms: IndexTerms<3>,
    pub(super) chunks: ChunkColumns,
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
    run_blocking(move || files.into_iter().map(PreparedFile::from_file).collect()).await
}

impl PreparedFile {
    fn from_file(mut file: NewFile) -> Result<Self, Fault> {
        if file.text.contains('\0') {
            file.text = storable(&file.text).into_owned();
        }
        let chunks = ChunkColumns::from_file(&file)?;
        let path = storable(&file.head.path).into_owned();
        let (named, headings) = (with_variants(&path), with_variants(&file.headings.join("\n")));
        let terms = IndexTerms::new(&path, [&named, &headings, &file.text]);
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
