//! Converts file formats to text. To add a format, add a module here and an arm in [`convert`].

mod docx;
pub(crate) mod html;
mod notebook;

use crate::{
    decode::{DecodedText, decode},
    kinds::{self, FileKind, is_bundle},
};

/// Converted text can be larger than the file.
const MAX_TEXT: usize = 4 << 20;

const TOO_LONG: &str = "has more than 4 MB of text";

pub(crate) struct ConvertedText {
    pub(crate) text: String,
    /// Original format, if the text was converted.
    pub(crate) made_from: Option<&'static str>,
    pub(crate) note: Option<String>,
}

/// Returns the text of a file as it is indexed; the path selects the format. The error is the reason why the file is not
/// a document.
pub fn to_text(path: &str, bytes: &[u8]) -> Result<String, &'static str> {
    Ok(convert(kinds::kind(path)?, path, bytes)?.text)
}

/// Converts a file to text. The error is the reason why the file is not a document.
pub(crate) fn convert(kind: FileKind, path: &str, bytes: &[u8]) -> Result<ConvertedText, &'static str> {
    if kind == FileKind::Docx {
        return checked_text(docx::markdown(bytes)?, "DOCX", None);
    }
    let DecodedText { text, note } = decode(bytes)?;
    let first = text.trim_start().lines().next().unwrap_or_default();
    if first.starts_with("-----BEGIN ") && first.contains("PRIVATE KEY") {
        return Err(kinds::SECRET);
    }
    match kind {
        FileKind::Html => checked_text(html::markdown(&text), "HTML", note),
        FileKind::Notebook => checked_text(notebook::markdown(&text)?, "notebook", note),
        _ if is_bundle(path, &text) => Err("is minified or bundled"),
        _ if text.trim().is_empty() => Err("is empty"),
        _ => Ok(ConvertedText { text, made_from: None, note }),
    }
}

fn checked_text(
    text: String,
    from: &'static str,
    note: Option<String>,
) -> Result<ConvertedText, &'static str> {
    if text.trim().is_empty() {
        return Err("has no text");
    }
    if text.len() > MAX_TEXT {
        return Err(TOO_LONG);
    }
    Ok(ConvertedText { text, made_from: Some(from), note })
}

/// Ends a table row with this number of cells. Adds the delimiter after the first row.
fn end_table_row(out: &mut String, cells: usize, rows: &mut usize) {
    out.push_str(" |\n");
    if *rows == 0 {
        out.push('|');
        out.extend(std::iter::repeat_n(" --- |", cells));
        out.push('\n');
    }
    *rows += 1;
}

/// Resolves predefined XML entities and numeric references.
fn xml_character(name: &str) -> Option<char> {
    if let Some(number) = name.strip_prefix('#') {
        let hex = number.strip_prefix(['x', 'X']).map(|hex| u32::from_str_radix(hex, 16));
        return char::from_u32(hex.unwrap_or_else(|| number.parse()).ok()?);
    }
    let known = [("amp", '&'), ("lt", '<'), ("gt", '>'), ("quot", '"'), ("apos", '\'')];
    known.into_iter().find_map(|(known, c)| (known == name).then_some(c))
}

/// Returns a link in Markdown, with the address in angle brackets if it has parentheses or blanks.
fn linked(text: &str, address: &str) -> String {
    let label = text.trim();
    if label.is_empty() || label == address {
        return address.to_owned();
    }
    let (before, after) = text.split_once(label).unwrap_or_default();
    match address.contains(['(', ')', ' ']) {
        true => format!("{before}[{label}](<{address}>){after}"),
        false => format!("{before}[{label}]({address}){after}"),
    }
}

/// Adds code fences that are longer than any in the text.
fn fenced(text: &str, language: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat((longest + 1).clamp(3, 64));
    let end = if text.ends_with('\n') { "" } else { "\n" };
    format!("{fence}{language}\n{text}{end}{fence}\n")
}
