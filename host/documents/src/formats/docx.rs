//! Converts DOCX to Markdown. Limits the unpacked size, streams the XML, and expands only the predefined XML entities.

use std::{
    collections::HashMap,
    io::{Cursor, Read as _},
};

use quick_xml::{
    Reader,
    events::{BytesStart, Event},
};
use zip::ZipArchive;

const MAX_PART: u64 = 32 << 20;

/// A normal document has a few dozen files.
const MAX_PARTS: usize = 10_000;

const BROKEN: &str = "is not a readable DOCX file";

/// Converts a document. The error is the reason why this is not possible.
pub(super) fn markdown(bytes: &[u8]) -> Result<String, &'static str> {
    let mut archive = ZipArchive::new(Cursor::new(bytes)).map_err(|_| BROKEN)?;
    if archive.len() > MAX_PARTS {
        return Err(BROKEN);
    }
    let levels =
        part(&mut archive, "word/styles.xml")?.map(|xml| levels(&xml)).transpose()?.unwrap_or_default();
    let document = part(&mut archive, "word/document.xml")?.ok_or(BROKEN)?;
    text(&document, &levels)
}

fn part(archive: &mut ZipArchive<Cursor<&[u8]>>, name: &str) -> Result<Option<String>, &'static str> {
    let Ok(file) = archive.by_name(name) else { return Ok(None) };
    let mut bytes = Vec::new();
    file.take(MAX_PART + 1).read_to_end(&mut bytes).map_err(|_| BROKEN)?;
    if bytes.len() as u64 > MAX_PART {
        return Err("unpacks to more than 32 MB");
    }
    String::from_utf8(bytes).map(Some).map_err(|_| BROKEN)
}

/// Returns heading levels by style ID. IDs are localized; names are not.
fn levels(xml: &str) -> Result<HashMap<String, usize>, &'static str> {
    let mut reader = Reader::from_str(xml);
    let (mut levels, mut style) = (HashMap::new(), None);
    loop {
        match reader.read_event().map_err(|_| BROKEN)? {
            Event::Start(tag) | Event::Empty(tag) => match tag.local_name().as_ref() {
                "style" => style = attribute(&tag, "styleId"),
                "name" => {
                    let name = attribute(&tag, "val").unwrap_or_default().to_ascii_lowercase();
                    let level = name.strip_prefix("heading ").and_then(|level| level.parse().ok());
                    let level = level.or((name == "title").then_some(1));
                    if let (Some(level), Some(style)) = (level, style.take()) {
                        levels.insert(style, level);
                    }
                }
                _ => {}
            },
            Event::Eof => return Ok(levels),
            _ => {}
        }
    }
}

fn attribute(tag: &BytesStart<'_>, name: &str) -> Option<String> {
    let found = tag.attributes().flatten().find(|attribute| attribute.key.local_name().as_ref() == name)?;
    Some(found.value.into_owned())
}

#[derive(Default)]
struct DocxConverter {
    out: String,
    paragraph: String,
    level: usize,
    item: Option<usize>,
    /// Nesting depth. Only the outermost table is shown as a table.
    tables: usize,
    cells: usize,
    rows: usize,
    in_text: bool,
    /// Nesting depth of `Fallback`, which repeats content for older programs.
    fallback: usize,
}

fn text(xml: &str, levels: &HashMap<String, usize>) -> Result<String, &'static str> {
    let mut reader = Reader::from_str(xml);
    let mut body = DocxConverter::default();
    loop {
        match reader.read_event().map_err(|_| BROKEN)? {
            Event::Start(tag) => body.open(&tag, levels, false),
            Event::Empty(tag) => body.open(&tag, levels, true),
            Event::End(tag) => body.close(tag.local_name().as_ref()),
            Event::Text(text) if body.is_visible() => body.paragraph.push_str(&text),
            Event::GeneralRef(entity) if body.is_visible() => body.paragraph.extend(character(&entity)),
            Event::Eof => return Ok(body.out.trim_start().to_owned()),
            _ => {}
        }
    }
}

/// Resolves predefined XML entities and numeric references.
fn character(name: &str) -> Option<char> {
    if let Some(number) = name.strip_prefix('#') {
        let hex = number.strip_prefix(['x', 'X']).map(|hex| u32::from_str_radix(hex, 16));
        return char::from_u32(hex.unwrap_or_else(|| number.parse()).ok()?);
    }
    let known = [("amp", '&'), ("lt", '<'), ("gt", '>'), ("quot", '"'), ("apos", '\'')];
    known.into_iter().find_map(|(known, c)| (known == name).then_some(c))
}

impl DocxConverter {
    fn is_visible(&self) -> bool {
        self.in_text && self.fallback == 0
    }

    fn open(&mut self, tag: &BytesStart<'_>, levels: &HashMap<String, usize>, empty: bool) {
        match tag.local_name().as_ref() {
            "t" => self.in_text = !empty,
            "tab" if !self.paragraph.is_empty() => self.paragraph.push('\t'),
            "br" | "cr" => self.paragraph.push('\n'),
            "pStyle" => {
                let style = attribute(tag, "val").unwrap_or_default();
                self.level = levels.get(&style).copied().unwrap_or_default();
            }
            "numPr" => self.item = Some(0),
            "ilvl" => {
                let depth = attribute(tag, "val").and_then(|depth| depth.parse().ok()).unwrap_or(0_usize);
                self.item = Some(depth.min(8));
            }
            "Fallback" if !empty => self.fallback += 1,
            "tbl" if !empty => {
                self.tables += 1;
                if self.tables == 1 {
                    self.rows = 0;
                }
            }
            "tr" if self.tables == 1 => self.cells = 0,
            "tc" if self.tables == 1 => {
                self.out.push_str(if self.cells == 0 { "| " } else { " | " });
                self.cells += 1;
            }
            _ => {}
        }
    }

    fn close(&mut self, name: &str) {
        match name {
            "t" => self.in_text = false,
            "p" => self.end_paragraph(),
            "Fallback" => self.fallback = self.fallback.saturating_sub(1),
            "tr" if self.tables == 1 && self.cells > 0 => {
                super::end_table_row(&mut self.out, self.cells, &mut self.rows);
            }
            "tbl" => {
                self.tables = self.tables.saturating_sub(1);
                if self.tables == 0 {
                    self.out.push('\n');
                }
            }
            _ => {}
        }
    }

    fn end_paragraph(&mut self) {
        let paragraph = std::mem::take(&mut self.paragraph);
        let (level, item) = (std::mem::take(&mut self.level), self.item.take());
        let text = paragraph.trim();
        if text.is_empty() {
            return;
        }
        if self.tables > 0 {
            let gap = if self.out.ends_with(' ') { "" } else { " " };
            let cell: Vec<&str> = text.split_whitespace().collect();
            self.out.push_str(&format!("{gap}{}", cell.join(" ").replace('|', "\\|")));
            return;
        }
        let line = match (level, item) {
            (1.., _) => format!("{} {}\n\n", "#".repeat(level.min(6)), text.replace('\n', " ")),
            (0, Some(depth)) => format!("{}- {text}\n", "  ".repeat(depth)),
            (0, None) => format!("{text}\n\n"),
        };
        // Put an empty line after a list.
        if item.is_none() && !self.out.is_empty() && !self.out.ends_with("\n\n") {
            self.out.push('\n');
        }
        self.out.push_str(&line);
    }
}

#[cfg(test)]
mod tests;
