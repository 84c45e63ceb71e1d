//! One file, from its bytes to what is stored of it. Takes as long as the file is large, and is done off the runtime.

use std::path::Path;

use gatehouse_core::{
    hash::sha256_hex,
    ports::{
        TokenCounter,
        documents::{FileHead, NewFile},
        text::Encoding,
    },
};
use gatehouse_text::Tokens;

use crate::{
    chunks::chunks,
    formats::{self, Converted},
    guide::Facts,
    headings::headings,
    kinds::{self, Kind},
    read::{Fetched, fetch},
};

/// Raised when files are read differently: all of them are then read anew.
const READER: u32 = 1;

/// Headings that are stored for the search by words, in bytes.
const MAX_HEADING_BYTES: usize = 16_000;

/// What became of a file.
pub(crate) enum Produced {
    Unchanged,
    Skipped(&'static str),
    /// What is stored of it stays.
    Unseen(&'static str),
    /// It went away since the folder was looked through.
    Gone,
    New(Box<NewDocument>),
}

/// A document that is new, or changed.
pub(crate) struct NewDocument {
    pub(crate) file: NewFile,
    pub(crate) facts: Option<Facts>,
    pub(crate) note: Option<String>,
}

/// Reads a file of this folder, unless it is the one of this hash. `with_facts` says whether the guide counts it.
pub(crate) fn produce(root: &Path, path: &str, known: Option<&str>, with_facts: bool) -> Produced {
    let kind = match kinds::kind(path) {
        Ok(kind) => kind,
        Err(why) => return Produced::Skipped(why),
    };
    let bytes = match fetch(&root.join(path)) {
        Fetched::Bytes(bytes) => bytes,
        Fetched::Skipped(why) => return Produced::Skipped(why),
        Fetched::Unseen(why) => return Produced::Unseen(why),
        Fetched::Gone => return Produced::Gone,
    };
    let hash = sha256_hex(format!("{READER} {kind:?} {}", sha256_hex(&bytes)));
    if known == Some(hash.as_str()) {
        return Produced::Unchanged;
    }
    match formats::convert(kind, path, &bytes) {
        Ok(converted) => Produced::New(Box::new(document(kind, path, hash, converted, with_facts))),
        Err(why) => Produced::Skipped(why),
    }
}

fn document(kind: Kind, path: &str, hash: String, converted: Converted, with_facts: bool) -> NewDocument {
    let Converted { text, made_from, note } = converted;
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
    let facts = with_facts.then(|| Facts::of(path, &text, &titles));
    let file = NewFile {
        head: FileHead { path: path.to_owned(), hash },
        made_from: made_from.map(str::to_owned),
        headings: titles,
        lines: u32::try_from(lines.len()).unwrap_or(u32::MAX),
        tokens: u32::try_from(Tokens.count(&text, Encoding::O200k)).unwrap_or(u32::MAX),
        chunks,
        text,
    };
    NewDocument { file, facts, note }
}
