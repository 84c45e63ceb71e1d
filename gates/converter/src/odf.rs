//! Converts texts, sheets and presentations of OpenDocument to Markdown.

mod table;

use std::{collections::HashSet, mem::take};

use gatehouse_sdk::ConvertedMarkdown;
use quick_xml::{
    Reader,
    events::{BytesStart, Event},
};

use crate::{
    markdown::{MAX_TEXT, TOO_LONG, left_out, linked, one_line, plain_line, push_place, xml_character},
    package::{BROKEN, Package, attribute},
};

/// Elements whose content is not part of the text: deleted text, comments, and what repeats.
const SKIPPED: [&str; 6] =
    ["tracked-changes", "annotation", "forms", "tracked-deletion", "sequence-decls", "date-time-decl"];

pub(crate) fn markdown(bytes: &[u8]) -> Result<ConvertedMarkdown, &'static str> {
    let mut package = Package::open(bytes)?;
    if package.part("META-INF/manifest.xml")?.is_some_and(|xml| xml.contains(":encryption-data")) {
        return Err("is protected by a password");
    }
    let content = package.part("content.xml")?.ok_or(BROKEN)?;
    let mut reader = OdfReader::default();
    reader.read(&content)?;
    reader.push_notes();
    let OdfReader { out, objects, hidden_sheets, comments, repeated_rows, .. } = reader;
    let losses = [
        left_out(objects, "embedded object"),
        left_out(hidden_sheets, "hidden sheet"),
        left_out(comments, "comment"),
        left_out(repeated_rows, "repeated row"),
    ];
    Ok(ConvertedMarkdown { text: out, losses: losses.into_iter().flatten().collect() })
}

#[derive(Default)]
struct OdfReader {
    out: String,
    /// Paragraphs and headings that contain each other: a text box is in a paragraph.
    paragraphs: Vec<Paragraph>,
    /// Depth of lists.
    lists: usize,
    starts_item: bool,
    /// Rows of the outermost open table.
    table: Option<Vec<Vec<String>>>,
    tables: usize,
    /// Value of the open cell, which counts if the cell has no text.
    value: Option<String>,
    /// Copies of the open cell, and of the open row.
    repeated: usize,
    row_copies: usize,
    /// Empty cells of the open row that no text has followed yet.
    gap: usize,
    /// Text next to the cells of the open table.
    beside: String,
    /// Notes of the paragraph, which follow it, by number.
    notes: Vec<(usize, String)>,
    note: Option<String>,
    note_count: usize,
    in_citation: bool,
    in_slide_notes: bool,
    skipped: usize,
    slides: usize,
    objects: usize,
    comments: usize,
    repeated_rows: usize,
    is_spreadsheet: bool,
    /// Name of the open sheet.
    sheet: String,
    style: String,
    /// Styles of sheets that are not shown.
    hidden_styles: HashSet<String>,
    is_hidden: bool,
    hidden_sheets: usize,
}

#[derive(Default)]
struct Paragraph {
    text: String,
    /// 0 for a paragraph.
    level: usize,
    /// Start and address of the open link.
    link: Option<(usize, String)>,
}

impl OdfReader {
    fn read(&mut self, xml: &str) -> Result<(), &'static str> {
        let mut reader = Reader::from_str(xml);
        loop {
            match reader.read_event().map_err(|_| BROKEN)? {
                Event::Start(tag) if self.skipped > 0 || SKIPPED.contains(&tag.local_name().as_ref()) => {
                    self.skipped += 1;
                    self.comments +=
                        usize::from(self.skipped == 1 && tag.local_name().as_ref() == "annotation");
                }
                Event::End(_) if self.skipped > 0 => self.skipped -= 1,
                _ if self.skipped > 0 => {}
                Event::Start(tag) => self.open(&tag),
                Event::Empty(tag) => {
                    self.open(&tag);
                    self.close(tag.local_name().as_ref())?;
                }
                Event::End(tag) => self.close(tag.local_name().as_ref())?,
                Event::Text(text) => self.push(&text),
                Event::CData(text) => self.push(&text),
                Event::GeneralRef(entity) => {
                    self.push(xml_character(&entity).map(String::from).as_deref().unwrap_or_default());
                }
                Event::Eof => return Ok(()),
                _ => {}
            }
            if self.out.len() + self.paragraphs.last().map_or(0, |paragraph| paragraph.text.len()) > MAX_TEXT
            {
                return Err(TOO_LONG);
            }
        }
    }

    fn push(&mut self, text: &str) {
        if let Some(paragraph) = self.paragraphs.last_mut().filter(|_| !self.in_citation) {
            paragraph.text.push_str(text);
        }
    }

    fn open(&mut self, tag: &BytesStart<'_>) {
        let number = |name| attribute(tag, name).and_then(|value| value.parse::<usize>().ok());
        match tag.local_name().as_ref() {
            "p" => self.paragraphs.push(Paragraph::default()),
            "h" => {
                let level = number("outline-level").unwrap_or(1).clamp(1, 6);
                self.paragraphs.push(Paragraph { level, ..Paragraph::default() });
            }
            "s" => self.push(&" ".repeat(number("text:c").unwrap_or(1).min(80))),
            "tab" => self.push("\t"),
            "line-break" => self.push("\n"),
            "a" => {
                let target = attribute(tag, "href").unwrap_or_default();
                if let Some(paragraph) =
                    self.paragraphs.last_mut().filter(|paragraph| paragraph.link.is_none())
                {
                    paragraph.link = Some((paragraph.text.len(), target));
                }
            }
            "list" => self.lists += 1,
            "list-item" => self.starts_item = true,
            "table" => self.open_table(tag),
            "spreadsheet" => self.is_spreadsheet = true,
            "style" => self.style = attribute(tag, "style:name").unwrap_or_default(),
            "table-properties" if attribute(tag, "table:display").as_deref() == Some("false") => {
                self.hidden_styles.insert(take(&mut self.style));
            }
            "table-row" if self.tables == 1 => self.open_row(number("number-rows-repeated")),
            "table-cell" | "covered-table-cell" if self.tables == 1 => self.open_cell(tag),
            "note" => {
                self.note_count += 1;
                self.push(&format!("[^{}]", self.note_count));
                self.note = Some(String::new());
            }
            "note-citation" => self.in_citation = true,
            "object" | "object-ole" => self.objects += 1,
            // Of a presentation.
            "page" => {
                self.slides += 1;
                let name = attribute(tag, "draw:name").unwrap_or_default();
                // The name that the program gives says nothing.
                let name = if name.starts_with("page") { "" } else { &name };
                push_place(&mut self.out, &format!("Slide {}", self.slides), name);
            }
            "notes" => self.in_slide_notes = true,
            _ => {}
        }
    }

    fn close(&mut self, name: &str) -> Result<(), &'static str> {
        match name {
            "p" | "h" => {
                if let Some(paragraph) = self.paragraphs.pop() {
                    self.end_paragraph(paragraph);
                }
            }
            "a" => {
                let Some(paragraph) = self.paragraphs.last_mut() else { return Ok(()) };
                if let Some((start, target)) = paragraph.link.take()
                    && start < paragraph.text.len()
                {
                    let label = paragraph.text.split_off(start);
                    paragraph.text.push_str(&linked(&label, &target));
                }
            }
            "list" => {
                self.lists = self.lists.saturating_sub(1);
                if self.lists == 0 && self.table.is_none() {
                    self.out.push('\n');
                    self.push_notes();
                }
            }
            "table-cell" | "covered-table-cell" if self.tables == 1 => self.close_cell(),
            "table-row" if self.tables == 1 => self.close_row(),
            "table" => self.close_table()?,
            "note-citation" => self.in_citation = false,
            "note" => self.notes.extend(self.note.take().map(|note| (self.note_count, note))),
            "notes" => self.in_slide_notes = false,
            _ => {}
        }
        Ok(())
    }

    fn end_paragraph(&mut self, paragraph: Paragraph) {
        let Paragraph { text, level, .. } = paragraph;
        let line = one_line(&text);
        if line.is_empty() {
            return;
        }
        if let Some(note) = &mut self.note {
            if !note.is_empty() {
                note.push(' ');
            }
            note.push_str(&line);
        } else if let Some(cell) = self.row().and_then(|row| row.last_mut()) {
            if !cell.is_empty() {
                cell.push(' ');
            }
            cell.push_str(&line);
        } else if self.table.is_some() {
            self.beside.push_str(&format!("{line}\n\n"));
        } else if level > 0 {
            self.out.push_str(&format!("{} {line}\n\n", "#".repeat(level)));
            self.push_notes();
        } else if self.in_slide_notes {
            self.out.push_str(&format!("Notes: {line}\n\n"));
        } else if self.lists > 0 {
            let indent = "  ".repeat(self.lists.min(8) - 1);
            let mark = if take(&mut self.starts_item) { "- " } else { "  " };
            self.out.push_str(&format!("{indent}{mark}{line}\n"));
        } else {
            for line in text.trim().lines() {
                self.out.push_str(&plain_line(line.trim_end()));
                self.out.push('\n');
            }
            self.out.push('\n');
            self.push_notes();
        }
    }

    fn push_notes(&mut self) {
        for (number, note) in take(&mut self.notes) {
            self.out.push_str(&format!("[^{number}]: {note}\n\n"));
        }
    }
}
