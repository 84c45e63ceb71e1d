//! The text of a DOCX document or of its notes.

use std::{collections::HashMap, mem::take};

use quick_xml::{
    Reader,
    events::{BytesStart, Event},
};

use super::{
    BROKEN, attribute, is_on, number,
    paragraph::Paragraph,
    styles::{ListNumbers, ListPlace, MAX_LEVELS, Styles, outline_level},
    symbols,
};
use crate::markdown::{MAX_TEXT, TOO_LONG, end_table_row, linked, xml_character};

/// Properties and texts from other parts of the document.
pub(super) struct DocumentParts {
    pub(super) styles: Styles,
    pub(super) numbering: ListNumbers,
    /// Addresses by relationship.
    pub(super) links: HashMap<String, String>,
    /// Text of footnotes by ID, and of endnotes by `e` and ID.
    pub(super) notes: HashMap<String, String>,
}

/// Returns the text of a document as Markdown.
pub(super) fn text(xml: &str, parts: &mut DocumentParts) -> Result<String, &'static str> {
    let mut body = DocxConverter::new(parts);
    body.read(xml, |_, _| {})?;
    Ok(body.out.trim_start().to_owned())
}

/// Returns the texts of notes by ID, each on one line.
pub(super) fn notes(xml: &str, parts: &mut DocumentParts) -> Result<HashMap<String, String>, &'static str> {
    let (mut notes, mut id) = (HashMap::new(), None);
    DocxConverter::new(parts).read(xml, |converter, tag| {
        if let Some(id) = id.take() {
            let words: Vec<&str> = converter.out.split_whitespace().collect();
            let text = words.join(" ");
            converter.stored += text.len();
            notes.insert(id, text);
        }
        converter.out.clear();
        id = tag.filter(|tag| attribute(tag, "type").is_none()).and_then(|tag| attribute(tag, "id"));
    })?;
    Ok(notes)
}

/// Elements whose content is not part of the text: what was deleted or moved away, earlier properties, and repeated
/// content for older programs.
const SKIPPED: [&str; 7] =
    ["del", "moveFrom", "pPrChange", "rPrChange", "tblPrChange", "numberingChange", "Fallback"];

/// Properties of a run of characters.
#[derive(Default)]
struct Run {
    is_hidden: bool,
    /// `^` or `_` for raised and lowered characters, until it is written.
    mark: Option<char>,
}

pub(super) struct DocxConverter<'p> {
    pub(super) parts: &'p mut DocumentParts,
    pub(super) out: String,
    pub(super) paragraph: Paragraph,
    /// Paragraphs around the current text box.
    outer: Vec<Paragraph>,
    run: Run,
    in_run: bool,
    in_row_properties: bool,
    in_paragraph_properties: bool,
    /// Start in the paragraph and address of the current link.
    link: Option<(usize, String)>,
    /// Nesting depth. Only the outermost table is shown as a table.
    pub(super) tables: usize,
    cells: usize,
    rows: usize,
    /// Where the current row starts, and whether it was deleted.
    row: (usize, bool),
    /// Notes of the current table.
    pub(super) table_notes: Vec<String>,
    in_text: bool,
    /// Nesting depth in skipped content.
    skipped: usize,
    /// Bytes of notes that were read and of paragraphs around text boxes.
    stored: usize,
}

impl<'p> DocxConverter<'p> {
    fn new(parts: &'p mut DocumentParts) -> Self {
        Self {
            parts,
            out: String::new(),
            paragraph: Paragraph::default(),
            outer: Vec::new(),
            run: Run::default(),
            in_run: false,
            in_row_properties: false,
            in_paragraph_properties: false,
            stored: 0,
            link: None,
            tables: 0,
            cells: 0,
            rows: 0,
            row: (0, false),
            table_notes: Vec::new(),
            in_text: false,
            skipped: 0,
        }
    }

    /// Reads a part, and calls `note` at the start of each note and at the end.
    fn read(
        &mut self,
        xml: &str,
        mut note: impl FnMut(&mut Self, Option<&BytesStart<'_>>),
    ) -> Result<(), &'static str> {
        let mut reader = Reader::from_str(xml);
        loop {
            match reader.read_event().map_err(|_| BROKEN)? {
                Event::Start(tag) if self.skipped > 0 || SKIPPED.contains(&tag.local_name().as_ref()) => {
                    self.skipped += 1;
                    if self.skipped == 1 {
                        self.note_deletion(tag.local_name().as_ref());
                    }
                }
                Event::End(_) if self.skipped > 0 => self.skipped -= 1,
                _ if self.skipped > 0 => {}
                Event::Start(tag) if matches!(tag.local_name().as_ref(), "footnote" | "endnote") => {
                    note(self, Some(&tag));
                }
                Event::Start(tag) => self.open(&tag, false),
                Event::Empty(tag) => {
                    self.open(&tag, true);
                    self.note_deletion(tag.local_name().as_ref());
                }
                Event::End(tag) => {
                    self.close(tag.local_name().as_ref());
                    // Few bytes can refer to the same long address many times.
                    if self.out.len() + self.paragraph.text.len() + self.stored > MAX_TEXT {
                        return Err(TOO_LONG);
                    }
                }
                Event::Text(text) if self.in_text => self.add(&text),
                Event::CData(text) if self.in_text => self.add(&text),
                Event::GeneralRef(entity) if self.in_text => {
                    let character = xml_character(&entity);
                    self.add(character.map(String::from).as_deref().unwrap_or_default());
                }
                Event::Eof => {
                    note(self, None);
                    return Ok(());
                }
                _ => {}
            }
        }
    }

    /// Notes that a row or the mark of a paragraph was deleted, by an element among their properties.
    fn note_deletion(&mut self, name: &str) {
        if name != "del" {
            return;
        }
        // Only the outermost table is shown as a table.
        self.row.1 |= self.in_row_properties && self.tables == 1;
        self.paragraph.continues |= self.in_paragraph_properties;
    }

    /// Adds text of the current run.
    fn add(&mut self, text: &str) {
        if !self.run.is_hidden && !text.is_empty() {
            self.paragraph.text.extend(self.run.mark.take());
            self.paragraph.text.push_str(text);
        }
    }

    fn open(&mut self, tag: &BytesStart<'_>, is_empty: bool) {
        match tag.local_name().as_ref() {
            "r" => (self.in_run, self.run) = (!is_empty, Run::default()),
            "vanish" if self.in_run => self.run.is_hidden = is_on(tag),
            "vertAlign" if self.in_run => {
                self.run.mark = match attribute(tag, "val").as_deref() {
                    Some("superscript") => Some('^'),
                    Some("subscript") => Some('_'),
                    _ => None,
                };
            }
            // Raised and lowered parts of formulas, and the lower part of a fraction.
            "sup" => self.paragraph.text.push('^'),
            "sub" => self.paragraph.text.push('_'),
            "den" => self.paragraph.text.push('/'),
            "t" => self.in_text = !is_empty,
            "tab" if self.in_run && !self.paragraph.text.is_empty() => self.add("\t"),
            "br" | "cr" => self.add("\n"),
            "noBreakHyphen" => self.add("-"),
            "sym" => {
                let value = |name| attribute(tag, name).unwrap_or_default();
                self.add(symbols::character(&value("font"), &value("char")).encode_utf8(&mut [0; 4]));
            }
            name @ ("footnoteReference" | "endnoteReference") => {
                let mark = if name == "footnoteReference" { "" } else { "e" };
                let id = format!("{mark}{}", attribute(tag, "id").unwrap_or_default());
                if self.parts.notes.contains_key(&id) && !self.run.is_hidden {
                    self.paragraph.text.push_str(&format!("[^{id}]"));
                    self.paragraph.notes.push(id);
                }
            }
            "hyperlink" if !is_empty => {
                let address = attribute(tag, "id").and_then(|id| self.parts.links.get(&id).cloned());
                self.link = address.map(|address| (self.paragraph.text.len(), address));
            }
            "txbxContent" if !is_empty => {
                self.stored += self.paragraph.text.len();
                self.outer.push(take(&mut self.paragraph));
            }
            "trPr" => self.in_row_properties = !is_empty,
            "pPr" => self.in_paragraph_properties = !is_empty,
            "pStyle" => self.paragraph.style = attribute(tag, "val").unwrap_or_default(),
            "outlineLvl" => self.paragraph.level = outline_level(number(tag)),
            "numPr" => self.paragraph.list = Some(ListPlace::default()),
            "numId" => self.paragraph.list.get_or_insert_default().numbering = attribute(tag, "val"),
            "ilvl" => {
                self.paragraph.list.get_or_insert_default().level =
                    number(tag).unwrap_or(0).min(MAX_LEVELS - 1);
            }
            "tbl" if !is_empty => {
                self.tables += 1;
                if self.tables == 1 {
                    self.rows = 0;
                }
            }
            "tr" if self.tables == 1 => (self.cells, self.row) = (0, (self.out.len(), false)),
            "tc" if self.tables == 1 => {
                self.out.push_str(if self.cells == 0 { "| " } else { " | " });
                self.cells += 1;
            }
            _ => {}
        }
    }

    fn close(&mut self, name: &str) {
        match name {
            "r" => (self.in_run, self.run) = (false, Run::default()),
            "t" => self.in_text = false,
            "p" => self.end_paragraph(),
            "trPr" => self.in_row_properties = false,
            "pPr" => self.in_paragraph_properties = false,
            "hyperlink" => {
                if let Some((start, address)) = self.link.take()
                    && let Some(text) = self.paragraph.text.get(start..)
                {
                    let link = linked(text, &address);
                    self.paragraph.text.replace_range(start.., &link);
                }
            }
            "txbxContent" => {
                self.paragraph = self.outer.pop().unwrap_or_default();
                self.stored = self.stored.saturating_sub(self.paragraph.text.len());
            }
            "tr" if self.tables == 1 && self.row.1 => self.out.truncate(self.row.0),
            "tr" if self.tables == 1 && self.cells > 0 => {
                end_table_row(&mut self.out, self.cells, &mut self.rows);
            }
            "tbl" => {
                self.tables = self.tables.saturating_sub(1);
                if self.tables == 0 {
                    self.out.push('\n');
                    let notes = take(&mut self.table_notes);
                    self.write_notes(notes);
                }
            }
            _ => {}
        }
    }
}
