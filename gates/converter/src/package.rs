//! Packages of office files and books: ZIP archives with XML. Limits the unpacked size, streams the XML, and expands
//! only the predefined XML entities.

use std::{
    borrow::Cow,
    io::{Cursor, Read as _},
};

use gatehouse_decode::decode;
use quick_xml::{
    Reader, XmlVersion,
    events::{BytesStart, Event},
};
use zip::{ZipArchive, result::ZipError};

const MAX_PART: u64 = 32 << 20;

/// Longer values of attributes, such as addresses, are left out.
pub(crate) const MAX_ADDRESS_BYTES: usize = 2_048;

/// A normal document has a few dozen files.
const MAX_PARTS: usize = 10_000;

pub(crate) const BROKEN: &str = "is damaged, or not what the ending of its name says";

/// A link from one part to another, or to an address.
pub(crate) struct Relationship {
    pub(crate) id: String,
    /// Address of the kind of link.
    pub(crate) kind: String,
    pub(crate) target: String,
    pub(crate) is_external: bool,
}

impl Relationship {
    /// Returns the path of the target, which is relative to the part `from`.
    pub(crate) fn path_from(&self, from: &str) -> String {
        resolved(from.rsplit_once('/').map_or("", |(folder, _)| folder), &self.target)
    }
}

/// Resolves a path in a package that is relative to `folder`.
pub(crate) fn resolved(folder: &str, path: &str) -> String {
    if let Some(absolute) = path.strip_prefix('/') {
        return absolute.to_owned();
    }
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "." | "" => {}
            ".." => drop(parts.pop()),
            name => parts.push(name),
        }
    }
    parts.join("/")
}

/// A ZIP archive of XML parts.
pub(crate) struct Package<'a> {
    archive: ZipArchive<Cursor<&'a [u8]>>,
}

impl<'a> Package<'a> {
    pub(crate) fn open(bytes: &'a [u8]) -> Result<Self, &'static str> {
        // The older container of Office, which also wraps an encrypted archive.
        if bytes.starts_with(&[0xd0, 0xcf, 0x11, 0xe0]) {
            return Err("is protected by a password, or in the format of Office 97");
        }
        let archive = ZipArchive::new(Cursor::new(bytes)).map_err(|_| BROKEN)?;
        if archive.len() > MAX_PARTS {
            return Err("has more than 10,000 parts");
        }
        Ok(Self { archive })
    }

    /// Returns the names of all parts, sorted.
    pub(crate) fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.archive.file_names().flatten().map(Cow::into_owned).collect();
        names.sort();
        names
    }

    /// Returns the text of a part. `None` if there is no such part.
    pub(crate) fn part(&mut self, name: &str) -> Result<Option<String>, &'static str> {
        let file = match self.archive.by_name(name.trim_start_matches('/')) {
            Ok(file) => file,
            Err(ZipError::FileNotFound) => return Ok(None),
            Err(ZipError::UnsupportedArchive(_) | ZipError::CompressionMethodNotSupported(_)) => {
                return Err("is compressed by a method that is not supported");
            }
            Err(_) => return Err(BROKEN),
        };
        let mut bytes = Vec::new();
        file.take(MAX_PART + 1).read_to_end(&mut bytes).map_err(|_| BROKEN)?;
        if bytes.len() as u64 > MAX_PART {
            return Err("unpacks to more than 32 MB");
        }
        decode(&bytes).map(|decoded| Some(decoded.text)).map_err(|_| BROKEN)
    }

    /// Returns the path of the main part, by its relationship, or else the `usual` one.
    pub(crate) fn main_part(&mut self, usual: &str) -> Result<String, &'static str> {
        let root = self.relationships("_rels/.rels")?;
        let main = root.iter().find(|of| of.kind.ends_with("/officeDocument"));
        Ok(main.map_or(usual, |of| of.target.trim_start_matches('/')).to_owned())
    }

    fn relationships(&mut self, name: &str) -> Result<Vec<Relationship>, &'static str> {
        let Some(xml) = self.part(name)? else { return Ok(Vec::new()) };
        let mut relationships = Vec::new();
        for_each_tag(&xml, |tag| {
            if tag.local_name().as_ref() == "Relationship" {
                let value = |name| attribute(tag, name).unwrap_or_default();
                relationships.push(Relationship {
                    id: value("Id"),
                    kind: value("Type"),
                    target: value("Target"),
                    is_external: value("TargetMode") == "External",
                });
            }
        })?;
        Ok(relationships)
    }

    /// Returns the relationships of a part.
    pub(crate) fn relations_of(&mut self, part: &str) -> Result<Vec<Relationship>, &'static str> {
        let (folder, leaf) = part.rsplit_once('/').unwrap_or(("", part));
        self.relationships(&format!("{folder}/_rels/{leaf}.rels"))
    }

    /// Returns the part of a kind, by its relationship, or else where Word puts it.
    pub(crate) fn related(
        &mut self,
        folder: &str,
        relationships: &[Relationship],
        kind: &str,
    ) -> Result<Option<String>, &'static str> {
        let of = relationships.iter().find(|of| of.kind.rsplit('/').next() == Some(kind));
        let related = of.map(|of| resolved(folder, &of.target));
        for name in related.into_iter().chain([format!("{folder}/{kind}.xml"), format!("word/{kind}.xml")]) {
            if let Some(xml) = self.part(&name)? {
                return Ok(Some(xml));
            }
        }
        Ok(None)
    }
}

/// Calls `visit` with each start tag and empty tag.
pub(crate) fn for_each_tag(xml: &str, mut visit: impl FnMut(&BytesStart<'_>)) -> Result<(), &'static str> {
    let mut reader = Reader::from_str(xml);
    loop {
        match reader.read_event().map_err(|_| BROKEN)? {
            Event::Start(tag) | Event::Empty(tag) => visit(&tag),
            Event::Eof => return Ok(()),
            _ => {}
        }
    }
}

/// Returns the attribute of a name, in any namespace unless the name has a prefix.
pub(crate) fn attribute(tag: &BytesStart<'_>, name: &str) -> Option<String> {
    // Checks for duplicates would take time by the square of their number.
    let mut attributes = tag.attributes();
    let attributes = attributes.with_checks(false).flatten();
    let is_named = |key: &str, local: &str| if name.contains(':') { key == name } else { local == name };
    let mut of_name =
        attributes.filter(|attribute| is_named(attribute.key.as_ref(), attribute.key.local_name().as_ref()));
    let of_name = of_name.next().filter(|attribute| attribute.value.len() <= MAX_ADDRESS_BYTES)?;
    let value = of_name.normalized_value(XmlVersion::Implicit1_0).ok()?;
    Some(value.into_owned())
}

/// Returns the ID of a relationship, which an element has in an attribute `id` with a prefix.
pub(crate) fn relation(tag: &BytesStart<'_>) -> Option<String> {
    let mut attributes = tag.attributes();
    let mut attributes = attributes.with_checks(false).flatten();
    let is_relation = |key: &str| key.ends_with(":id");
    let attribute = attributes.find(|attribute| is_relation(attribute.key.as_ref()))?;
    Some(attribute.normalized_value(XmlVersion::Implicit1_0).ok()?.into_owned())
}
