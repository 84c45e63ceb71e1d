//! Says a text in fewer tokens and leaves nothing out.
//!
//! JSON goes without its blanks; each list (or map) of objects that have much the same keys becomes a [`table`] below the
//! rest: one line names the keys, then a line for each row. Every value can be read back, numbers by their very text; the order
//! of an object's keys is not kept. A first line says how to read it.

mod cell;
#[cfg(test)]
mod decoder;
mod table;
mod table_columns;
#[cfg(test)]
mod tests;

use gatehouse_core::ports::{
    TokenCounter,
    text::{CompactText, TokenEncoding},
};

use crate::{
    BpeTokenCounter,
    digest::{
        document::{NodeIndex, NodeKind, ParsedDocument},
        kind::RecognizedText,
    },
};
use cell::minified;
use table::CompactTable;

/// Bytes of the longest text that is tried: both forms are counted, and what is longer gets a digest anyway.
const MAX_COMPACT_BYTES: usize = 256 << 10;

/// How deep tables are looked for. Each level may read what is below it once more.
const MAX_TABLE_DEPTH: usize = 24;

/// See [`gatehouse_core::ports::Text::compact`].
pub(crate) fn compact(text: &str) -> Option<CompactText> {
    if text.len() > MAX_COMPACT_BYTES {
        return None;
    }
    let form = form(text)?;
    let tokens_in = BpeTokenCounter.count(text, TokenEncoding::O200k);
    let tokens_out = BpeTokenCounter.count_up_to(&form, tokens_in.checked_sub(1)?, TokenEncoding::O200k)?;
    Some(CompactText {
        text: form,
        tokens_in: u32::try_from(tokens_in).ok()?,
        tokens_out: u32::try_from(tokens_out).ok()?,
    })
}

/// The form, which may be longer than the text.
fn form(text: &str) -> Option<String> {
    let RecognizedText::Rows(kind, document) = RecognizedText::from_text(text) else { return None };
    let whole = match kind {
        "JSON" => document.note.is_none(),
        // Lines that are no JSON stand as strings without quotes, and cells in quotes have other escapes.
        "JSON Lines" => {
            document.children(ParsedDocument::ROOT).all(|line| document.kind(line) != NodeKind::String)
        }
        _ => {
            !text.contains('"')
                && document.children(ParsedDocument::ROOT).all(|row| document.kind(row) == NodeKind::Object)
        }
    };
    if !whole {
        return None;
    }
    let mut writer = CompactWriter { document: &document, tables: Vec::new() };
    let mut skeleton = String::new();
    writer.value(ParsedDocument::ROOT, 0, &mut skeleton);
    // What is no JSON has no meaning beside a table.
    if writer.tables.is_empty() {
        return (kind == "JSON").then_some(skeleton);
    }
    let mut out = explanation(kind, &writer.tables);
    out.push_str(&skeleton);
    for (number, table) in (1..).zip(&writer.tables) {
        out.push_str(&format!("\n#{number}{}", table.text));
    }
    Some(out)
}

struct CompactWriter<'d, 'a> {
    document: &'d ParsedDocument<'a>,
    tables: Vec<CompactTable>,
}

impl CompactWriter<'_, '_> {
    fn value(&mut self, id: NodeIndex, depth: usize, out: &mut String) {
        let (open, close) = match self.document.kind(id) {
            NodeKind::Array => ('[', ']'),
            NodeKind::Object => ('{', '}'),
            _ => return minified(self.document.source(id), out),
        };
        if depth >= MAX_TABLE_DEPTH {
            return minified(self.document.source(id), out);
        }
        if let Some(table) = CompactTable::from_node(self.document, id) {
            self.tables.push(table);
            out.push_str(&format!("#{}", self.tables.len()));
            return;
        }
        out.push(open);
        for (n, (key, value)) in self.document.members(id).enumerate() {
            out.push_str(if n > 0 { "," } else { "" });
            if let Some(key) = key {
                minified(self.document.source(key), out);
                out.push(':');
            }
            self.value(value, depth + 1, out);
        }
        out.push(close);
    }
}

/// The first line. It says what occurs.
fn explanation(kind: &str, tables: &[CompactTable]) -> String {
    let any = |has: fn(&CompactTable) -> bool| tables.iter().any(has);
    let mut out = format!(
        "{kind} in short, nothing left out. `#1` stands for the rows under `#1:`, which begin with their keys"
    );
    let mut say = |occurs: bool, what: &str| out.push_str(if occurs { what } else { "" });
    say(any(|t| t.keyed), "; under `#1{}:` each row begins with its own key");
    say(any(|t| t.nested), "; `a.b` is b in a");
    say(any(|t| t.same), "; `k=v` holds in all rows");
    say(any(|t| t.prefixed), "; `k^=v`: all begin with v");
    say(any(|t| t.lists), "; `k[a,b]`: lists of objects with these keys");
    say(any(|t| t.missing), "; an empty cell is no key");
    out + "; bare words are strings.\n"
}
