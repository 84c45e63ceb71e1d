//! Parts of Markdown that several formats write.

use std::borrow::Cow;

/// Converted text can be larger than the file.
pub(crate) const MAX_TEXT: usize = 4 << 20;

pub(crate) const TOO_LONG: &str = "has more than 4 MB of text";

/// Writes a table, whose first row is its head. Cells become one line each, rows end at their last text. Fails if the
/// text becomes too long.
pub(crate) fn push_table(out: &mut String, rows: &[Vec<String>]) -> Result<(), &'static str> {
    let filled =
        |row: &Vec<String>| row.iter().rposition(|cell| !cell.trim().is_empty()).map_or(0, |last| last + 1);
    // The head tells the number of columns.
    let width = rows.iter().map(filled).max().unwrap_or(0);
    let mut written = 0;
    for row in rows.iter().filter(|row| filled(row) > 0) {
        let cells = if written == 0 { width } else { filled(row) };
        for cell in row.iter().map(String::as_str).chain(std::iter::repeat("")).take(cells) {
            out.push_str(if out.ends_with('\n') || out.is_empty() { "| " } else { " | " });
            out.push_str(&one_line(cell).replace('|', "\\|"));
        }
        end_table_row(out, cells, &mut written);
        if out.len() > MAX_TEXT {
            return Err(TOO_LONG);
        }
    }
    Ok(())
}

/// Returns a line of plain text so that Markdown shows it as it is: not as a heading, and not as a fence.
pub(crate) fn plain_line(line: &str) -> Cow<'_, str> {
    let is_heading = line.trim_start_matches('#').starts_with([' ', '\t']) && line.starts_with('#');
    if is_heading || line.starts_with("```") || line.starts_with("~~~") {
        return Cow::Owned(format!("\\{line}"));
    }
    Cow::Borrowed(line)
}

/// Returns a remark about things that a text lacks: `has 2 charts, which are left out`. `None` if there are none.
pub(crate) fn left_out(count: usize, one: &str) -> Option<String> {
    let (s, verb) = if count == 1 { ("", "is") } else { ("s", "are") };
    (count > 0).then(|| format!("has {count} {one}{s}, which {verb} left out"))
}

/// Remark about comments, which are in parts of their own and so not counted.
pub(crate) const COMMENTS_LEFT_OUT: &str = "has comments, which are left out";

/// Returns a text with single spaces in place of other white space.
pub(crate) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Starts a page, sheet or slide, whose number or name is `place`.
pub(crate) fn push_place(out: &mut String, place: &str, title: &str) {
    let title = one_line(title);
    if !out.is_empty() {
        out.push('\n');
    }
    out.push_str("## ");
    out.push_str(place);
    if !title.is_empty() {
        out.push_str(": ");
        out.push_str(&title);
    }
    out.push_str("\n\n");
}

/// Ends a table row with this number of cells. Adds the delimiter after the first row.
pub(crate) fn end_table_row(out: &mut String, cells: usize, rows: &mut usize) {
    out.push_str(" |\n");
    if *rows == 0 {
        out.push('|');
        out.extend(std::iter::repeat_n(" --- |", cells));
        out.push('\n');
    }
    *rows += 1;
}

/// Resolves predefined XML entities and numeric references.
pub(crate) fn xml_character(name: &str) -> Option<char> {
    if let Some(number) = name.strip_prefix('#') {
        let hex = number.strip_prefix(['x', 'X']).map(|hex| u32::from_str_radix(hex, 16));
        return char::from_u32(hex.unwrap_or_else(|| number.parse()).ok()?);
    }
    let entities = [("amp", '&'), ("lt", '<'), ("gt", '>'), ("quot", '"'), ("apos", '\'')];
    entities.into_iter().find_map(|(entity, c)| (entity == name).then_some(c))
}

/// Returns a link in Markdown, with the address in angle brackets if it has parentheses or blanks.
pub(crate) fn linked(text: &str, address: &str) -> String {
    let label = text.trim();
    if label.is_empty() || label == address {
        return address.to_owned();
    }
    let (before, after) = text.split_once(label).unwrap_or_default();
    match address.contains(['(', ')', ' ']) {
        true => format!("{before}[{label}](<{address}>){after}"),
        false => format!("{before}[{label}]({address}){after}"),
    }
}

/// Adds code fences that are longer than any in the text.
pub(crate) fn fenced(text: &str, language: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat((longest + 1).clamp(3, 64));
    let end = if text.ends_with('\n') { "" } else { "\n" };
    format!("{fence}{language}\n{text}{end}{fence}\n")
}
