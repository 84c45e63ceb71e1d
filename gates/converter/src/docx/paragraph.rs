//! Paragraphs of a DOCX document: headings, items of lists, cells and notes.

use std::mem::take;

use super::{body::DocxConverter, styles::ListPlace};
use crate::markdown::{MAX_TEXT, plain_line};

#[derive(Default)]
pub(super) struct Paragraph {
    pub(super) text: String,
    pub(super) level: Option<usize>,
    pub(super) list: Option<ListPlace>,
    pub(super) style: String,
    /// True if its mark was deleted, so that the next paragraph continues it.
    pub(super) continues: bool,
    pub(super) notes: Vec<String>,
}

impl DocxConverter<'_> {
    pub(super) fn end_paragraph(&mut self) {
        if self.paragraph.continues {
            // Its properties are deleted with its mark.
            let Paragraph { text, notes, .. } = take(&mut self.paragraph);
            self.paragraph = Paragraph { text, notes, ..Paragraph::default() };
            return;
        }
        let Paragraph { text, level, list, style, notes, .. } = take(&mut self.paragraph);
        let text = text.trim();
        if text.is_empty() {
            return;
        }
        if self.tables > 0 {
            let gap = if self.out.ends_with(' ') { "" } else { " " };
            let cell: Vec<&str> = text.split_whitespace().collect();
            self.out.push_str(&format!("{gap}{}", cell.join(" ").replace('|', "\\|")));
            self.table_notes.extend(notes);
            return;
        }
        let level = level.unwrap_or_else(|| self.parts.styles.heading(&style));
        let inherited = self.parts.styles.list(&style);
        // A paragraph may set only the level of its style's list. ListNumbers 0 takes it out of the list.
        let list = match (list, inherited) {
            (Some(own), Some(of_style)) => {
                Some(ListPlace { numbering: own.numbering.or(of_style.numbering), ..own })
            }
            (own, of_style) => own.or(of_style),
        };
        let list = list.filter(|place| place.numbering.as_deref() != Some("0"));
        let label = list.as_ref().and_then(|place| self.parts.numbering.label(place));
        let line = match (level, &list) {
            (1.., _) => {
                let label = label.map(|label| label + " ").unwrap_or_default();
                format!("{} {label}{}\n\n", "#".repeat(level.min(6)), text.replace('\n', " "))
            }
            (0, Some(place)) => {
                format!("{}{} {text}\n", "  ".repeat(place.level), label.as_deref().unwrap_or("-"))
            }
            (0, None) => {
                let lines: Vec<_> = text.lines().map(plain_line).collect();
                lines.join("\n") + "\n\n"
            }
        };
        // Put an empty line after a list.
        if (list.is_none() || level > 0) && !self.out.is_empty() && !self.out.ends_with("\n\n") {
            self.out.push('\n');
        }
        self.out.push_str(&line);
        self.write_notes(notes);
    }

    pub(super) fn write_notes(&mut self, notes: Vec<String>) {
        if notes.is_empty() {
            return;
        }
        if !self.out.ends_with("\n\n") {
            self.out.push('\n');
        }
        for id in notes {
            // The reader refuses the document then.
            if self.out.len() > MAX_TEXT {
                return;
            }
            // A note that several places refer to follows the first of them.
            if let Some(text) = self.parts.notes.get_mut(&id).map(take).filter(|text| !text.is_empty()) {
                self.out.push_str(&format!("[^{id}]: {text}\n"));
            }
        }
        self.out.push('\n');
    }
}
