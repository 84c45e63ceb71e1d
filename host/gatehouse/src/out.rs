//! The only place that writes to the standard streams. A reader that stops reading (`| head`) ends the
//! program quietly.

use std::{
    borrow::Cow,
    io::{self, BufRead, IsTerminal, Read, Write},
};

use serde::Serialize;

use crate::telemetry;

/// The most bytes of an answer that are read.
const MAX_ANSWER: u64 = 1_024;

/// Writes text and a line end to standard output.
pub(crate) fn line(text: impl AsRef<str>) {
    write(io::stdout().lock(), &shown(text.as_ref()));
}

/// The text without what a terminal would obey: it may hold names that a stranger's gate chose.
fn shown(text: &str) -> Cow<'_, str> {
    let obeyed = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
    if text.contains(obeyed) { text.replace(obeyed, "\u{fffd}").into() } else { text.into() }
}

/// Writes a value as indented JSON to standard output.
pub(crate) fn json(value: &impl Serialize) {
    line(serde_json::to_string_pretty(value).unwrap_or_else(|error| format!("{{\"error\": \"{error}\"}}")));
}

/// Writes what went wrong to standard error.
pub(crate) fn complain(text: impl AsRef<str>) {
    if telemetry::is_json() {
        return tracing::error!("{}", shown(text.as_ref()));
    }
    write(io::stderr().lock(), &format!("gatehouse: {}", shown(text.as_ref())));
}

/// Writes a remark for people to standard error.
pub(crate) fn note(text: impl AsRef<str>) {
    if telemetry::is_json() {
        return tracing::info!("{}", shown(text.as_ref()));
    }
    write(io::stderr().lock(), &shown(text.as_ref()));
}

/// Asks on standard error and gives the line that is typed; none where nobody sits at a terminal. Blocks.
pub(crate) fn ask(question: &str) -> Option<String> {
    let stdin = io::stdin();
    if !stdin.is_terminal() {
        return None;
    }
    let mut stderr = io::stderr().lock();
    stderr.write_all(shown(question).as_bytes()).and_then(|()| stderr.flush()).ok()?;
    let mut answer = String::new();
    stdin.lock().take(MAX_ANSWER).read_line(&mut answer).ok()?;
    Some(answer)
}

fn write(mut stream: impl Write, text: &str) {
    let written = stream.write_all(text.as_bytes()).and_then(|()| stream.write_all(b"\n"));
    if written.and_then(|()| stream.flush()).is_err() {
        std::process::exit(0);
    }
}

/// Columns, each as wide as its widest cell.
pub(crate) fn table(rows: &[Vec<String>]) {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width =
        |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
    for row in rows {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        line(cells.collect::<Vec<_>>().join("  ").trim_end());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_is_shown_nothing_to_obey() {
        assert_eq!(shown("a\tb\nc"), "a\tb\nc");
        assert_eq!(shown("\u{1b}[2J\u{9b}31mred\r"), "\u{fffd}[2J\u{fffd}31mred\u{fffd}");
    }
}
