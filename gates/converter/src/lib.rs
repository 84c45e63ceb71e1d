//! The gate `converter`: documents as Markdown. It has no tools; the host runs it when documents are indexed.
//!
//! Documents are untrusted. Here they have the limits of a sandbox: a panic, a loop or a bomb costs one file.

mod docx;
mod epub;
mod html;
mod markdown;
mod notebook;
mod odf;
mod package;
mod pdf;
mod pptx;
mod sheets;

use gatehouse_decode::decode;
use gatehouse_sdk::{ConvertedMarkdown, Fault, FileFormat, Gate, NoParams};

use crate::markdown::{MAX_TEXT, TOO_LONG};

/// Converts the bytes of a file. The error is the reason why it has no text; it follows the file's name.
type Converter = fn(&[u8]) -> Result<ConvertedMarkdown, &'static str>;

/// Name, endings, media type and converter of each format.
const FORMATS: [(&str, &[&str], &str, Converter); 10] = [
    ("PDF", &["pdf"], "application/pdf", pdf::markdown),
    (
        "Word",
        &["docx", "docm", "dotx"],
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        |bytes| docx::markdown(bytes).map(whole),
    ),
    (
        "Excel",
        &["xlsx", "xlsm", "xlsb", "xls"],
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        sheets::markdown,
    ),
    (
        "PowerPoint",
        &["pptx", "pptm", "ppsx"],
        "application/vnd.openxmlformats-officedocument.presentationml.presentation",
        pptx::markdown,
    ),
    ("OpenDocument text", &["odt", "ott"], "application/vnd.oasis.opendocument.text", odf::markdown),
    ("OpenDocument sheet", &["ods"], "application/vnd.oasis.opendocument.spreadsheet", odf::markdown),
    ("OpenDocument slides", &["odp"], "application/vnd.oasis.opendocument.presentation", odf::markdown),
    ("EPUB", &["epub"], "application/epub+zip", epub::markdown),
    ("HTML", &["html", "htm", "xhtml"], "text/html", |bytes| decoded(bytes, |text| Ok(html::markdown(text)))),
    ("notebook", &["ipynb"], "application/x-ipynb+json", |bytes| decoded(bytes, notebook::markdown)),
];

/// Returns the gate, which has no tools.
pub fn gate() -> Gate<NoParams> {
    let summary = "Converts documents to Markdown: PDF, office files, books, web pages and notebooks.";
    Gate::new("converter", env!("CARGO_PKG_VERSION"), summary)
        .converter(formats, |file, name, media_type| convert(file, name, media_type).map_err(Fault::invalid))
}

gatehouse_sdk::export!(gate, convert);

fn formats() -> Vec<FileFormat> {
    let format = |(name, endings, media_type, _): &(&str, &[&str], &str, Converter)| FileFormat {
        name: (*name).to_owned(),
        endings: endings.iter().map(|ending| (*ending).to_owned()).collect(),
        media_type: (*media_type).to_owned(),
    };
    FORMATS.iter().map(format).collect()
}

/// Converts a file by the ending of its name, or else by its media type.
fn convert(file: &[u8], name: &str, media_type: &str) -> Result<ConvertedMarkdown, &'static str> {
    let ending = name.rsplit('.').next().unwrap_or_default().to_ascii_lowercase();
    let by_ending = FORMATS.iter().find(|(_, endings, ..)| endings.contains(&ending.as_str()));
    let format = by_ending.or_else(|| FORMATS.iter().find(|(_, _, of_format, _)| *of_format == media_type));
    let (.., converter) = format.ok_or("is of a format that this gate does not convert")?;
    let converted = converter(file)?;
    if converted.text.trim().is_empty() {
        return Err("has no text");
    }
    if converted.text.len() > MAX_TEXT {
        return Err(TOO_LONG);
    }
    Ok(converted)
}

/// Returns a text that lacks nothing.
fn whole(text: String) -> ConvertedMarkdown {
    ConvertedMarkdown { text, losses: Vec::new() }
}

/// Decodes a text file and converts it.
fn decoded(
    bytes: &[u8],
    converter: impl FnOnce(&str) -> Result<String, &'static str>,
) -> Result<ConvertedMarkdown, &'static str> {
    let decoded = decode(bytes)?;
    let text = converter(&decoded.text)?;
    Ok(ConvertedMarkdown { text, losses: decoded.note.into_iter().collect() })
}

#[cfg(test)]
mod tests;
