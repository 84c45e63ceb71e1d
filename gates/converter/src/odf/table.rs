//! Tables and sheets of OpenDocument: repeated cells and rows, values without text, and sheets that are not shown.

use std::mem::take;

use quick_xml::events::BytesStart;

use super::OdfReader;
use crate::{
    markdown::{push_place, push_table},
    package::attribute,
};

/// Columns of the largest sheet.
const MAX_COLUMNS: usize = 16_384;

/// Attributes with the value of a cell.
const VALUES: [&str; 5] =
    ["office:value", "office:date-value", "office:time-value", "office:boolean-value", "office:string-value"];

/// Equal cells or rows in a row that are written; more are only formatted, or a remark counts them.
const MAX_REPEATED: usize = 1_000;

impl OdfReader {
    /// Returns the last row of the open table.
    pub(super) fn row(&mut self) -> Option<&mut Vec<String>> {
        self.table.as_mut()?.last_mut()
    }

    pub(super) fn open_table(&mut self, tag: &BytesStart<'_>) {
        self.tables += 1;
        if self.tables == 1 {
            self.table = Some(Vec::new());
            let style = attribute(tag, "table:style-name").unwrap_or_default();
            self.is_hidden = self.hidden_styles.contains(&style);
            if self.is_spreadsheet {
                self.sheet = attribute(tag, "table:name").unwrap_or_default();
            }
        }
    }

    pub(super) fn open_row(&mut self, copies: Option<usize>) {
        (self.row_copies, self.gap) = (copies.unwrap_or(1), 0);
        self.table.iter_mut().for_each(|rows| rows.push(Vec::new()));
    }

    pub(super) fn open_cell(&mut self, tag: &BytesStart<'_>) {
        let copies = attribute(tag, "number-columns-repeated").and_then(|copies| copies.parse().ok());
        self.repeated = copies.unwrap_or(1);
        self.value = VALUES.into_iter().find_map(|name| attribute(tag, name));
        self.row().into_iter().for_each(|row| row.push(String::new()));
    }

    pub(super) fn close_cell(&mut self) {
        let (copies, value, gap) = (take(&mut self.repeated), self.value.take(), self.gap);
        let Some(row) = self.row() else { return };
        let mut cell = row.pop().unwrap_or_default();
        if cell.is_empty() {
            cell = value.unwrap_or_default();
        }
        if cell.is_empty() {
            self.gap += copies;
        } else {
            row.extend(std::iter::repeat_n(String::new(), gap.min(MAX_COLUMNS)));
            row.extend(std::iter::repeat_n(cell, copies.clamp(1, MAX_REPEATED)));
            self.gap = 0;
        }
    }

    pub(super) fn close_row(&mut self) {
        let copies = take(&mut self.row_copies).saturating_sub(1);
        if let Some(rows) = &mut self.table
            && let Some(row) = rows.last().filter(|row| !row.is_empty()).cloned()
        {
            self.repeated_rows += copies.saturating_sub(MAX_REPEATED);
            rows.extend(std::iter::repeat_n(row, copies.min(MAX_REPEATED)));
        }
    }

    pub(super) fn close_table(&mut self) -> Result<(), &'static str> {
        self.tables = self.tables.saturating_sub(1);
        if self.tables > 0 {
            return Ok(());
        }
        let (rows, beside) = (self.table.take().unwrap_or_default(), take(&mut self.beside));
        if take(&mut self.is_hidden) {
            self.hidden_sheets += 1;
            return Ok(());
        }
        if rows.iter().any(|row| !row.is_empty()) {
            if self.is_spreadsheet {
                push_place(&mut self.out, "Sheet", &take(&mut self.sheet));
            }
            push_table(&mut self.out, &rows)?;
            self.out.push('\n');
        }
        self.out.push_str(&beside);
        self.push_notes();
        Ok(())
    }
}
