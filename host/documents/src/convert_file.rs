//! Reads one file with limits, and converts it to a stored document. This blocks, so run it off the async runtime.

use std::{
    borrow::Cow,
    fs::{File, Metadata, OpenOptions},
    io::{self, Read as _},
    path::Path,
};

use gatehouse_core::{
    hash::sha256_hex,
    ports::{
        TokenCounter,
        documents::{FileHead, NewFile},
        text::TokenEncoding,
    },
};
use gatehouse_text::BpeTokenCounter;
use tokio_util::sync::CancellationToken;

use crate::{
    chunks::chunks,
    clean::saturating_u32,
    converters::{Converter, FileText, TextSource},
    guide::GuideFacts,
    headings::headings,
};

/// Increment this to read all files again.
const READER_VERSION: u32 = 4;

const MAX_HEADING_BYTES: usize = 16_000;

pub(crate) struct NewDocument {
    pub(crate) file: NewFile,
    pub(crate) facts: Option<GuideFacts>,
    pub(crate) notes: Vec<String>,
}

/// Reads a file in `root`, unless its hash is `stored_hash`. `with_facts` requests facts for the guide. A conversion
/// ends when `cancel` is cancelled.
pub(crate) fn convert_file(
    root: &Path,
    path: &str,
    stored_hash: Option<&str>,
    with_facts: bool,
    (converters, cancel): (&[Converter], &CancellationToken),
) -> Result<NewDocument, NoDocument> {
    let source =
        TextSource::from_path(path, converters).map_err(|reason| NoDocument::Skipped(reason.into()))?;
    let bytes = read_file(&root.join(path), source.max_bytes())?;
    let hash = sha256_hex(format!("{READER_VERSION} {} {}", source.version(), sha256_hex(&bytes)));
    if stored_hash == Some(hash.as_str()) {
        return Err(NoDocument::Unchanged);
    }
    let kind = source.kind();
    let FileText { text, made_from, notes } = source.text(path, bytes, cancel)?;
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let headings = headings(kind, &text, &lines);
    let chunks = chunks(kind, &text, &lines, &headings);
    let mut titles: Vec<String> = Vec::new();
    let mut remaining = MAX_HEADING_BYTES;
    for heading in headings {
        if heading.title.len() > remaining {
            break;
        }
        remaining -= heading.title.len();
        titles.push(heading.title);
    }
    let facts = with_facts.then(|| GuideFacts::new(path, &text, &titles));
    let file = NewFile {
        head: FileHead { path: path.to_owned(), hash },
        made_from,
        headings: titles,
        lines: saturating_u32(lines.len()),
        tokens: saturating_u32(BpeTokenCounter.count(&text, TokenEncoding::O200k)),
        chunks,
        text,
    };
    Ok(NewDocument { file, facts, notes })
}

/// Reason why a file has no new document.
#[derive(Debug)]
pub(crate) enum NoDocument {
    Unchanged,
    Skipped(Cow<'static, str>),
    /// The stored version stays.
    Unreadable(Cow<'static, str>),
    /// Deleted after the walk.
    Gone,
}

impl From<io::Error> for NoDocument {
    fn from(error: io::Error) -> Self {
        #[cfg(unix)]
        if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) {
            return Self::Skipped("is a symbolic link".into());
        }
        match error.kind() {
            io::ErrorKind::NotFound => Self::Gone,
            io::ErrorKind::PermissionDenied => Self::Unreadable("cannot be read: permission denied".into()),
            _ => Self::Unreadable("cannot be read".into()),
        }
    }
}

/// Reads a file, which may have been replaced since the walk. Retries once if it changes during the read.
fn read_file(path: &Path, max_bytes: u64) -> Result<Vec<u8>, NoDocument> {
    for _ in 0..2 {
        if let Some(bytes) = try_read(path, max_bytes)? {
            return Ok(bytes);
        }
    }
    Err(NoDocument::Unreadable("changed while it was read".into()))
}

/// Returns `None` if the file changed during the read.
fn try_read(path: &Path, max_bytes: u64) -> Result<Option<Vec<u8>>, NoDocument> {
    let file = open(path)?;
    let before = file.metadata()?;
    if !before.is_file() {
        return Err(NoDocument::Skipped("is not a regular file".into()));
    }
    if before.len() > max_bytes {
        return Err(NoDocument::Skipped(format!("is larger than {} MB", max_bytes >> 20).into()));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(before.len()).unwrap_or_default() + 1);
    (&file).take(max_bytes + 1).read_to_end(&mut bytes)?;
    let same = same(&before, &file.metadata()?) && bytes.len() as u64 == before.len();
    Ok(same.then_some(bytes))
}

fn same(before: &Metadata, after: &Metadata) -> bool {
    before.len() == after.len() && before.modified().ok() == after.modified().ok()
}

/// Does not follow links, and does not block on a pipe.
fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
        options.custom_flags(i32::try_from(flags.bits()).unwrap_or_default());
    }
    options.open(path)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn unreadable_files_are_reported() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.md");
        assert!(matches!(read_file(&path, 4 << 20), Err(NoDocument::Gone)));
        fs::write(&path, "text").expect("written");
        assert!(matches!(read_file(&path, 4 << 20), Ok(bytes) if bytes == b"text"));
        assert!(matches!(read_file(folder.path(), 4 << 20), Err(NoDocument::Skipped(_))));
        let large = File::create(folder.path().join("large")).expect("made");
        large.set_len(50_000_000).expect("grown");
        assert!(matches!(
            read_file(&folder.path().join("large"), 4 << 20),
            Err(NoDocument::Skipped(reason)) if reason == "is larger than 4 MB"
        ));
    }

    #[cfg(unix)]
    #[test]
    fn links_and_pipes_are_not_read() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("a"), "text").expect("written");
        std::os::unix::fs::symlink(folder.path().join("a"), folder.path().join("b")).expect("linked");
        assert!(
            matches!(read_file(&folder.path().join("b"), 4 << 20), Err(NoDocument::Skipped(reason)) if reason.contains("link"))
        );
        let pipe = folder.path().join("pipe");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0)
            .expect("made");
        assert!(
            matches!(read_file(&pipe, 4 << 20), Err(NoDocument::Skipped(reason)) if reason.contains("regular file"))
        );
    }
}
