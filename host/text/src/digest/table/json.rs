//! Writes the rows of a text as JSON, with the indexes by which its digest names them.

use std::{borrow::Cow, ops::ControlFlow};

use super::{
    super::{
        document::ParsedDocument,
        json_form::{JsonForm, array, object, string, value},
        kind::{TextSample, is_json_lines},
    },
    MIN_RECORDS, after_title,
    cells::{CellRange, TableFormat},
    fits, header, records,
};

/// Returns a text that is not JSON as JSON: the rows of a table or of JSON Lines as an array, and the other forms that a
/// digest reads as JSON. `None` if it has no such form.
///
/// A row is an object with the header cells as keys and without its empty cells, or an array if there is no header.
/// A cell is a number if it has the form of a JSON number, otherwise a string. A line that is no row is a string.
pub fn rows(text: &str) -> Option<String> {
    let sample = TextSample::from_text(text);
    if is_json_lines(&sample) {
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let is_json = |line: &str| ParsedDocument::read(line).is_ok();
        return Some(array(lines.map(|line| if is_json(line) { line.to_owned() } else { string(line) })));
    }
    if let Some(form) = JsonForm::from_text(text, &sample) {
        return Some(form.json);
    }
    if let Some(records) = records::read(text) {
        let row = |row| {
            let members = records.members(row);
            row_object(members.filter_map(|(key, value)| Some((records.source(key?), records.source(value)))))
        };
        return (!records.sampled).then(|| array(records.children(ParsedDocument::ROOT).map(row)));
    }
    table(text, 0, &sample).or_else(|| table(text, after_title(sample.text)?, &sample))
}

/// Writes a table as [`super::TableBuilder`] reads it, with all of its rows.
fn table(text: &str, start: usize, sample: &TextSample<'_>) -> Option<String> {
    let head = &sample.text[start..];
    let format = TableFormat::all(head).find(|format| fits(format, head, sample.cut))?;
    let text = &text[start..];
    let (mut names, mut width) = (None::<Vec<CellRange>>, 0);
    let (mut rows, mut broken) = (Vec::new(), 0);
    format.records(text, |record, cells| {
        let cell = |cell: &CellRange| &text[cell.clone()];
        let is_first = names.is_none();
        let names = names.get_or_insert_with(|| {
            width = cells.len();
            if header(text, cells) { cells.to_vec() } else { Vec::new() }
        });
        if is_first && !names.is_empty() {
            return ControlFlow::Continue(());
        }
        rows.push(if cells.len() != width {
            broken += 1;
            string(&text[record])
        } else if names.is_empty() {
            array(cells.iter().map(|at| cell_value(cell(at))))
        } else {
            row_object(names.iter().map(cell).zip(cells.iter().map(cell)))
        });
        ControlFlow::Continue(())
    });
    (rows.len() + 1 >= MIN_RECORDS && broken * 10 <= rows.len()).then(|| array(rows))
}

/// Writes a row without its empty cells.
fn row_object<'a>(members: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let filled: Vec<_> = members.filter(|(_, cell)| !cell.is_empty()).collect();
    let names: Vec<_> = filled.iter().map(|(name, _)| unquoted(name)).collect();
    object(names.iter().map(|name| &**name).zip(filled.iter().map(|(_, cell)| cell_value(cell))))
}

fn cell_value(cell: &str) -> String {
    match unquoted(cell) {
        Cow::Borrowed("") => "null".into(),
        Cow::Borrowed(text) => value(text),
        Cow::Owned(text) => string(&text),
    }
}

/// Returns the text of a cell, owned if it was quoted.
fn unquoted(cell: &str) -> Cow<'_, str> {
    match cell.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        Some(quoted) => Cow::Owned(quoted.replace("\"\"", "\"")),
        None => Cow::Borrowed(cell),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn parsed(text: &str) -> Option<Value> {
        rows(text).map(|json| serde_json::from_str(&json).unwrap())
    }

    #[test]
    fn rows_have_the_indexes_and_the_values_of_the_table() {
        let csv = "id,name,note\n007,\"Ann \"\"A\"\" O\",\"two\nlines\"\n8,,x\n9223372036854775807,Bob,1e3\n";
        assert_eq!(
            rows(csv).unwrap(),
            r#"[{"id":"007","name":"Ann \"A\" O","note":"two\nlines"},{"id":8,"note":"x"},{"id":9223372036854775807,"name":"Bob","note":1e3}]"#
        );
        assert_eq!(parsed("1,2,3\n4,,6\n7,8,9\n").unwrap(), json!([[1, 2, 3], [4, null, 6], [7, 8, 9]]));
        let titled = "Animals of today\n\nname | legs\nant | 6\nbee | 6\n";
        assert_eq!(parsed(titled).unwrap()[1], json!({ "name": "bee", "legs": 6 }));
        let lines = "{\"a\": 1.50}\nnoise\n[2]\n{\"a\": 3}\n{\"a\": 4}\n{\"a\": 5}\n";
        assert_eq!(rows(lines).unwrap(), r#"[{"a": 1.50},"noise",[2],{"a": 3},{"a": 4},{"a": 5}]"#);
        let records =
            "*** 1. row ***\nsql: SELECT 1\n  FROM a\nn: 1\n*** 2. row ***\nn: 2\n*** 3. row ***\nn: 3\n";
        assert_eq!(parsed(records).unwrap()[0], json!({ "sql": "SELECT 1\n  FROM a", "n": 1 }));
    }

    #[test]
    fn broken_lines_count_and_prose_has_no_rows() {
        let mut csv = "name,n\n".to_owned();
        for n in 0..40 {
            csv += if n == 30 { "oops\n" } else { "a,1\n" };
        }
        let rows_of_csv = parsed(&csv).unwrap();
        assert_eq!((&rows_of_csv[30], &rows_of_csv[39]["n"]), (&json!("oops"), &json!(1)));
        assert_eq!(rows("Dear all,\nthe meeting is moved, as you know.\nBest,\nAnn\n"), None);
        assert_eq!(rows("{\"a\": [1, 2]}"), None);
    }
}
