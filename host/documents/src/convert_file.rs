//! Converts one file to a stored document. This blocks, so run it off the async runtime.

use std::path::Path;

use gatehouse_core::{
    hash::sha256_hex,
    ports::{
        TokenCounter,
        documents::{FileHead, NewFile},
        text::TokenEncoding,
    },
};
use gatehouse_text::BpeTokenCounter;

use crate::{
    chunks::chunks,
    clean::saturating_u32,
    formats::{self, ConvertedText},
    guide::GuideFacts,
    headings::headings,
    kinds,
    read::{NoDocument, read_file},
};

/// Increment this to read all files again.
const READER_VERSION: u32 = 1;

const MAX_HEADING_BYTES: usize = 16_000;

pub(crate) struct NewDocument {
    pub(crate) file: NewFile,
    pub(crate) facts: Option<GuideFacts>,
    pub(crate) note: Option<String>,
}

/// Reads a file in `root`, unless its hash is `known`. `with_facts` requests facts for the guide.
pub(crate) fn convert_file(
    root: &Path,
    path: &str,
    known: Option<&str>,
    with_facts: bool,
) -> Result<NewDocument, NoDocument> {
    let kind = kinds::kind(path).map_err(NoDocument::Skipped)?;
    let bytes = read_file(&root.join(path))?;
    let hash = sha256_hex(format!("{READER_VERSION} {kind:?} {}", sha256_hex(&bytes)));
    if known == Some(hash.as_str()) {
        return Err(NoDocument::Unchanged);
    }
    let converted = formats::convert(kind, path, &bytes).map_err(NoDocument::Skipped)?;
    let ConvertedText { text, made_from, note } = converted;
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let headings = headings(kind, &lines);
    let chunks = chunks(kind, &text, &lines, &headings);
    let mut titles: Vec<String> = Vec::new();
    let mut left = MAX_HEADING_BYTES;
    for heading in headings {
        if heading.title.len() > left {
            break;
        }
        left -= heading.title.len();
        titles.push(heading.title);
    }
    let facts = with_facts.then(|| GuideFacts::new(path, &text, &titles));
    let file = NewFile {
        head: FileHead { path: path.to_owned(), hash },
        made_from: made_from.map(str::to_owned),
        headings: titles,
        lines: saturating_u32(lines.len()),
        tokens: saturating_u32(BpeTokenCounter.count(&text, TokenEncoding::O200k)),
        chunks,
        text,
    };
    Ok(NewDocument { file, facts, note })
}
