//! Converters that an index run may use, and the text that each kind of file becomes.

use std::{borrow::Cow, sync::Arc};

use gatehouse_core::{
    FaultKind,
    conversion::{ConvertedFile, DocumentFormat, MAX_CONVERTED_TEXT, SourceFile},
    names::quoted,
    ports::DocumentConverter,
};
use gatehouse_decode::{DecodedText, decode};
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use crate::{
    convert_file::NoDocument,
    kinds::{self, FileKind},
};

/// A gate that converts files to Markdown.
#[derive(Clone)]
pub struct Converter {
    pub gate: Arc<dyn DocumentConverter>,
    /// Identifies its code: another digest reads all of its files again.
    pub digest: String,
    pub formats: Vec<DocumentFormat>,
}

/// How a file becomes text.
pub(crate) enum TextSource<'a> {
    Decoded(FileKind),
    Converted(&'a Converter, &'a DocumentFormat),
}

impl<'a> TextSource<'a> {
    /// Selects the first converter that takes the ending of the file's name. The error is the reason why the file is
    /// skipped.
    pub(crate) fn from_path(path: &str, converters: &'a [Converter]) -> Result<Self, &'static str> {
        kinds::check_name(path)?;
        let extension = kinds::extension(path);
        let mut formats = converters
            .iter()
            .flat_map(|converter| converter.formats.iter().map(move |format| (converter, format)));
        match formats.find(|(_, format)| format.endings.contains(&extension)) {
            Some((converter, format)) => Ok(Self::Converted(converter, format)),
            None => kinds::kind(path).map(Self::Decoded),
        }
    }

    pub(crate) fn kind(&self) -> FileKind {
        match self {
            Self::Decoded(kind) => *kind,
            Self::Converted(..) => FileKind::Converted,
        }
    }

    pub(crate) fn max_bytes(&self) -> u64 {
        match self {
            Self::Decoded(_) => kinds::MAX_TEXT_BYTES,
            Self::Converted(..) => kinds::MAX_CONVERTED_BYTES,
        }
    }

    /// Returns what the text depends on besides the file.
    pub(crate) fn version(&self) -> Cow<'_, str> {
        match self {
            Self::Decoded(kind) => Cow::Owned(format!("{kind:?}")),
            Self::Converted(converter, _) => Cow::Borrowed(&converter.digest),
        }
    }

    /// Returns the text of a file. Blocks on a converter, so it must run on a blocking thread of a Tokio runtime.
    pub(crate) fn text(
        &self,
        path: &str,
        bytes: Vec<u8>,
        cancel: &CancellationToken,
    ) -> Result<FileText, NoDocument> {
        match self {
            Self::Decoded(_) => decoded(path, &bytes).map_err(|reason| NoDocument::Skipped(reason.into())),
            Self::Converted(converter, format) => converted(converter, format, path, bytes, cancel),
        }
    }
}

pub(crate) struct FileText {
    pub(crate) text: String,
    /// Original format, if the text was converted.
    pub(crate) made_from: Option<String>,
    pub(crate) notes: Vec<String>,
}

fn decoded(path: &str, bytes: &[u8]) -> Result<FileText, &'static str> {
    let DecodedText { text, note } = decode(bytes)?;
    let first = text.trim_start().lines().next().unwrap_or_default();
    if first.starts_with("-----BEGIN ") && first.contains("PRIVATE KEY") {
        return Err(kinds::SECRET);
    }
    if kinds::is_bundle(path, &text) {
        return Err("is minified or bundled");
    }
    if text.trim().is_empty() {
        return Err("is empty");
    }
    Ok(FileText { text, made_from: None, notes: note.into_iter().collect() })
}

fn converted(
    converter: &Converter,
    format: &DocumentFormat,
    path: &str,
    bytes: Vec<u8>,
    cancel: &CancellationToken,
) -> Result<FileText, NoDocument> {
    let name = path.rsplit('/').next().unwrap_or(path).to_owned();
    let file = SourceFile { name, media_type: format.media_type.clone(), bytes };
    let converting = cancel.run_until_cancelled(converter.gate.convert(file));
    let result = Handle::current().block_on(converting);
    let result = result.ok_or(NoDocument::Unreadable("was not read: interrupted".into()))?;
    let ConvertedFile { text, losses } = result.map_err(|fault| match fault.kind {
        FaultKind::InvalidArguments => NoDocument::Skipped(quoted(&fault.message, 200).into()),
        // A limit or a bug of the converter says little about the file.
        _ => NoDocument::Unreadable(fault.in_one_line().into()),
    })?;
    if text.trim().is_empty() {
        return Err(NoDocument::Skipped("has no text".into()));
    }
    if text.len() > MAX_CONVERTED_TEXT {
        return Err(NoDocument::Skipped("has more than 4 MB of text".into()));
    }
    Ok(FileText { text, made_from: Some(format.name.clone()), notes: losses })
}
