//! Tables of pages, which are tables of data or only place their cells.

use super::HtmlConverter;
use crate::markdown::end_table_row;

#[derive(Default)]
pub(super) struct TableState {
    pub(super) depth: usize,
    pub(super) cells: usize,
    pub(super) rows: usize,
    /// True if its cells have headings or code, so that it is no table of data. Its cells are paragraphs.
    pub(super) is_layout: bool,
}

impl TableState {
    /// Returns the nesting depth of tables of data.
    pub(super) fn depth(&self) -> usize {
        if self.is_layout { 0 } else { self.depth }
    }
}

impl HtmlConverter {
    /// Continues with paragraphs, because a table cannot have what follows.
    pub(super) fn leave_table(&mut self) {
        if self.table.depth() > 0 {
            self.table.is_layout = true;
            // A link that is open would lose its place.
            self.end_anchor();
            let written = self.out.trim_end_matches([' ', '|']).len();
            self.out.truncate(written);
            self.table.cells = 0;
            let row = self.out.rfind('\n').map_or(0, |end| end + 1);
            if self.out[row..].starts_with("| ") {
                self.out.replace_range(row..row + 2, "");
            }
        }
    }

    pub(super) fn end_row(&mut self) {
        let cells = std::mem::take(&mut self.table.cells);
        if cells == 0 {
            return;
        }
        end_table_row(&mut self.out, cells, &mut self.table.rows);
        self.space = false;
    }
}
