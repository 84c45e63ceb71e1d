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
    formats::{self, ConvertedText},
    guide::GuideFacts,
    headings::headings,
    kinds::{self, Kind},
    read::{FileReadOutcome, fetch},
};

/// Increment this to read all files again.
const READER_VERSION: u32 = 1;

const MAX_HEADING_BYTES: usize = 16_000;

pub(crate) enum ProduceOutcome {
    Unchanged,
    Skipped(&'static str),
    /// The stored version stays.
    Unreadable(&'static str),
    /// Deleted after the walk.
    Gone,
    New(Box<NewDocument>),
}

pub(crate) struct NewDocument {
    pub(crate) file: NewFile,
    pub(crate) facts: Option<GuideFacts>,
    pub(crate) note: Option<String>,
}

/// Reads a file in `root`, unless its hash is `known`. `with_facts` requests facts for the guide.
pub(crate) fn produce(root: &Path, path: &str, known: Option<&str>, with_facts: bool) -> ProduceOutcome {
    let kind = match kinds::kind(path) {
        Ok(kind) => kind,
        Err(why) => return ProduceOutcome::Skipped(why),
    };
    let bytes = match fetch(&root.join(path)) {
        FileReadOutcome::Bytes(bytes) => bytes,
        FileReadOutcome::Skipped(why) => return ProduceOutcome::Skipped(why),
        FileReadOutcome::Unreadable(why) => return ProduceOutcome::Unreadable(why),
        FileReadOutcome::Gone => return ProduceOutcome::Gone,
    };
    let hash = sha256_hex(format!("{READER_VERSION} {kind:?} {}", sha256_hex(&bytes)));
    if known == Some(hash.as_str()) {
        return ProduceOutcome::Unchanged;
    }
    match formats::convert(kind, path, &bytes) {
        Ok(converted) => ProduceOutcome::New(Box::new(document(kind, path, hash, converted, with_facts))),
        Err(why) => ProduceOutcome::Skipped(why),
    }
}

fn document(kind: Kind, path: &str, hash: String, converted: ConvertedText, with_facts: bool) -> NewDocument {
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
        lines: u32::try_from(lines.len()).unwrap_or(u32::MAX),
        tokens: u32::try_from(BpeTokenCounter.count(&text, TokenEncoding::O200k)).unwrap_or(u32::MAX),
        chunks,
        text,
    };
    NewDocument { file, facts, note }
}
