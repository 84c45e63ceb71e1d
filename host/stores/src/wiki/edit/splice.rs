//! Text operations for edits. They preserve the line endings of the text.

use std::ops::Range;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LineEnding(&'static str);

impl LineEnding {
    pub(super) fn from_text(text: &str) -> Self {
        let first = text.find('\n').map(|at| text[..at].ends_with('\r'));
        Self(if first == Some(true) { "\r\n" } else { "\n" })
    }

    pub(super) fn as_str(self) -> &'static str {
        self.0
    }

    pub(super) fn convert(self, text: &str) -> String {
        text.replace('\n', self.0)
    }
}

pub(super) fn replace(text: &str, range: Range<usize>, new: &str) -> String {
    format!("{}{new}{}", &text[..range.start], &text[range.end..])
}

/// Replaces the text in a range but keeps the surrounding white space. An empty range becomes separate lines.
pub(super) fn replace_core(text: &str, range: Range<usize>, new: &str, eol: LineEnding) -> String {
    let old = &text[range.clone()];
    let start = range.start + (old.len() - old.trim_start().len());
    let core = old.trim();
    if core.is_empty() {
        return insert_block(text, range.start, new, eol);
    }
    replace(text, start..start + core.len(), &eol.convert(new))
}

/// Inserts lines at an offset, and adds line endings before and after if needed.
pub(super) fn insert_block(text: &str, at: usize, block: &str, eol: LineEnding) -> String {
    if block.is_empty() {
        return text.to_owned();
    }
    let before = if at == 0 || text[..at].ends_with(['\n', '\u{feff}']) { "" } else { eol.as_str() };
    replace(text, at..at, &format!("{before}{}{}", eol.convert(block), eol.as_str()))
}

/// Returns the lines that contain a range, including the line ending.
pub(super) fn line_around(text: &str, range: &Range<usize>) -> Range<usize> {
    let start = text[..range.start].rfind('\n').map_or(0, |at| at + 1);
    let end = text[range.end..].find('\n').map_or(text.len(), |offset| range.end + offset + 1);
    start..end
}

/// Returns the range to delete for a list entry: the whole line if it contains only the entry, else the entry and one
/// adjacent comma.
pub(super) fn entry_around(text: &str, range: Range<usize>) -> Range<usize> {
    let line = line_around(text, &range);
    let (before, after) = (&text[line.start..range.start], &text[range.end..line.end]);
    let is_bullet = |c: char| c == '*' || c.is_whitespace();
    if before.chars().all(is_bullet) && after.trim().is_empty() {
        return line;
    }
    if let Some(kept) = before.trim_end().strip_suffix(',') {
        return line.start + kept.len()..range.end;
    }
    if let Some(rest) = after.trim_start().strip_prefix(',') {
        return range.start..line.end - rest.trim_start_matches(' ').len();
    }
    range
}

#[cfg(test)]
mod tests {
    use super::*;

    fn without(text: &str, entry: &str) -> String {
        let at = text.find(entry).unwrap();
        replace(text, entry_around(text, at..at + entry.len()), "")
    }

    #[test]
    fn entries_go_with_their_bullets_and_commas() {
        assert_eq!(without("a\n* X\n* Y\n", "X"), "a\n* Y\n");
        assert_eq!(without("| X, Y\n", "X"), "| Y\n");
        assert_eq!(without("| X, Y\n", "Y"), "| X\n");
        assert_eq!(without("| X\n", "X"), "| \n");
        assert_eq!(without("see X there", "X"), "see  there");
    }

    #[test]
    fn the_space_around_stays() {
        let text = "h\r\n\r\n old \r\n\r\nnext";
        let eol = LineEnding::from_text(text);
        assert_eq!(replace_core(text, 3..text.len() - 4, "a\nb", eol), "h\r\n\r\n a\r\nb \r\n\r\nnext");
        assert_eq!(replace_core("h", 1..1, "x", LineEnding::from_text("")), "h\nx\n");
    }
}
