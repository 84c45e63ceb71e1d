//! What each format becomes: text that is searched and read. A format is a file here, and a line in [`convert`].

mod docx;
mod html;
mod notebook;

use crate::{
    decode::{DecodedText, decode},
    kinds::{Kind, is_bundle},
};

/// The text of a file may be larger than the file; beyond this it is no document.
const MAX_TEXT: usize = 4 << 20;

/// A file as text.
pub(crate) struct ConvertedText {
    pub(crate) text: String,
    /// What it was made of, where it is not the file itself.
    pub(crate) made_from: Option<&'static str>,
    /// What to know of how it was read.
    pub(crate) note: Option<String>,
}

/// Reads the bytes of a file as its kind is read.
///
/// # Errors
/// Why it is no document.
pub(crate) fn convert(kind: Kind, path: &str, bytes: &[u8]) -> Result<ConvertedText, &'static str> {
    if kind == Kind::Docx {
        return checked_text(docx::markdown(bytes)?, "DOCX", None);
    }
    let DecodedText { text, note } = decode(bytes)?;
    match kind {
        Kind::Html => checked_text(html::markdown(&text), "HTML", note),
        Kind::Notebook => checked_text(notebook::markdown(&text)?, "notebook", note),
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
        return Err("holds no text");
    }
    if text.len() > MAX_TEXT {
        return Err("holds more than 8 MB of text");
    }
    Ok(ConvertedText { text, made_from: Some(from), note })
}

/// Text between fences that it cannot end itself.
fn fenced(text: &str, language: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat((longest + 1).clamp(3, 64));
    let end = if text.ends_with('\n') { "" } else { "\n" };
    format!("{fence}{language}\n{text}{end}{fence}\n")
}
