//! Converts DOCX to Markdown. Limits the unpacked size, streams the XML, and expands only the predefined XML entities.

mod body;
mod paragraph;
mod styles;
mod symbols;

use std::{
    collections::HashMap,
    io::{Cursor, Read as _},
};

use quick_xml::{
    Reader, XmlVersion,
    events::{BytesStart, Event},
};
use zip::ZipArchive;

use crate::decode::decode;
use body::DocumentParts;
use styles::{ListNumbers, Styles};

const MAX_PART: u64 = 32 << 20;

/// Longer values of attributes, such as addresses, are left out.
const MAX_ADDRESS_BYTES: usize = 2_048;

/// A normal document has a few dozen files.
const MAX_PARTS: usize = 10_000;

const BROKEN: &str = "is not a readable DOCX file";

/// Converts a document. The error is the reason why this is not possible.
pub(super) fn markdown(bytes: &[u8]) -> Result<String, &'static str> {
    let archive = ZipArchive::new(Cursor::new(bytes)).map_err(|_| BROKEN)?;
    if archive.len() > MAX_PARTS {
        return Err(BROKEN);
    }
    let mut package = DocxPackage { archive };
    let root = package.relationships("_rels/.rels")?;
    let main = root.iter().find(|of| of.kind.ends_with("/officeDocument"));
    let main = main.map_or("word/document.xml", |of| of.target.trim_start_matches('/')).to_owned();
    let (folder, leaf) = main.rsplit_once('/').unwrap_or(("", &main));
    let relationships = package.relationships(&format!("{folder}/_rels/{leaf}.rels"))?;
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

/// A link from one part to another, or to an address.
struct Relationship {
    id: String,
    kind: String,
    target: String,
    is_external: bool,
}

struct DocxPackage<'a> {
    archive: ZipArchive<Cursor<&'a [u8]>>,
}

impl DocxPackage<'_> {
    fn part(&mut self, name: &str) -> Result<Option<String>, &'static str> {
        let Ok(file) = self.archive.by_name(name.trim_start_matches('/')) else { return Ok(None) };
        let mut bytes = Vec::new();
        file.take(MAX_PART + 1).read_to_end(&mut bytes).map_err(|_| BROKEN)?;
        if bytes.len() as u64 > MAX_PART {
            return Err("unpacks to more than 32 MB");
        }
        decode(&bytes).map(|decoded| Some(decoded.text)).map_err(|_| BROKEN)
    }

    fn relationships(&mut self, name: &str) -> Result<Vec<Relationship>, &'static str> {
        let Some(xml) = self.part(name)? else { return Ok(Vec::new()) };
        let mut found = Vec::new();
        for_each_tag(&xml, |tag| {
            if tag.local_name().as_ref() == "Relationship" {
                let value = |name| attribute(tag, name).unwrap_or_default();
                found.push(Relationship {
                    id: value("Id"),
                    kind: value("Type"),
                    target: value("Target"),
                    is_external: value("TargetMode") == "External",
                });
            }
        })?;
        Ok(found)
    }

    /// Returns the part of a kind, by its relationship, or else where Word puts it.
    fn related(
        &mut self,
        folder: &str,
        relationships: &[Relationship],
        kind: &str,
    ) -> Result<Option<String>, &'static str> {
        let of = relationships.iter().find(|of| of.kind.rsplit('/').next() == Some(kind));
        let related = of.map(|of| match of.target.starts_with('/') {
            true => of.target.clone(),
            false => format!("{folder}/{}", of.target),
        });
        for name in related.into_iter().chain([format!("{folder}/{kind}.xml"), format!("word/{kind}.xml")]) {
            if let Some(xml) = self.part(&name)? {
                return Ok(Some(xml));
            }
        }
        Ok(None)
    }
}

/// Calls `visit` with each start tag and empty tag.
fn for_each_tag(xml: &str, mut visit: impl FnMut(&BytesStart<'_>)) -> Result<(), &'static str> {
    let mut reader = Reader::from_str(xml);
    loop {
        match reader.read_event().map_err(|_| BROKEN)? {
            Event::Start(tag) | Event::Empty(tag) => visit(&tag),
            Event::Eof => return Ok(()),
            _ => {}
        }
    }
}

fn attribute(tag: &BytesStart<'_>, name: &str) -> Option<String> {
    // Checks for duplicates would take time by the square of their number.
    let mut attributes = tag.attributes();
    let attributes = attributes.with_checks(false).flatten();
    let mut of_name = attributes.filter(|attribute| attribute.key.local_name().as_ref() == name);
    let of_name = of_name.next().filter(|attribute| attribute.value.len() <= MAX_ADDRESS_BYTES)?;
    let value = of_name.normalized_value(XmlVersion::Implicit1_0).ok()?;
    Some(value.into_owned())
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
