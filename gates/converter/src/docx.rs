//! Converts DOCX to Markdown. Limits the unpacked size, streams the XML, and expands only the predefined XML entities.

mod body;
mod paragraph;
mod styles;
mod symbols;

use std::collections::HashMap;

use quick_xml::events::BytesStart;

use crate::package::{BROKEN, MAX_ADDRESS_BYTES, Package, Relationship, attribute, for_each_tag};
use body::DocumentParts;
use styles::{ListNumbers, Styles};

/// Converts a document. The error is the reason why this is not possible.
pub(crate) fn markdown(bytes: &[u8]) -> Result<String, &'static str> {
    let mut package = Package::open(bytes)?;
    let main = package.main_part("word/document.xml")?;
    let folder = main.rsplit_once('/').map_or("", |(folder, _)| folder);
    let relationships = package.relations_of(&main)?;
    let mut part = |kind: &str| package.related(folder, &relationships, kind);
    let styles = part("styles")?.map(|xml| Styles::from_xml(&xml)).transpose()?.unwrap_or_default();
    let numbering =
        part("numbering")?.map(|xml| ListNumbers::from_xml(&xml)).transpose()?.unwrap_or_default();
    let (footnotes, endnotes) = (part("footnotes")?, part("endnotes")?);
    let is_link = |of: &Relationship| of.is_external && of.target.len() <= MAX_ADDRESS_BYTES;
    let links = relationships.into_iter().filter(is_link).map(|of| (of.id, of.target)).collect();
    let document = package.part(&main)?.ok_or(BROKEN)?;
    let mut parts = DocumentParts { styles, numbering, links, notes: HashMap::new() };
    for (mark, xml) in [("", footnotes), ("e", endnotes)] {
        if let Some(xml) = xml {
            let notes = body::notes(&xml, &mut parts)?;
            parts.notes.extend(notes.into_iter().map(|(id, text)| (format!("{mark}{id}"), text)));
        }
    }
    body::text(&document, &mut parts)
}

/// Returns the number in the attribute `val`.
fn number(tag: &BytesStart<'_>) -> Option<usize> {
    attribute(tag, "val")?.parse().ok()
}

/// Returns whether a property is on, which it is without a value.
fn is_on(tag: &BytesStart<'_>) -> bool {
    !attribute(tag, "val").is_some_and(|value| matches!(&*value, "0" | "false" | "off"))
}

#[cfg(test)]
mod tests;
