//! The only place that writes to the standard streams. A reader that stops reading (`| head`) ends the
//! program quietly.

use std::{
    borrow::Cow,
    io::{self, BufRead, IsTerminal, Read, Write},
    sync::OnceLock,
};

use gatehouse_core::hidden_chars;
use serde::Serialize;
use unicode_width::UnicodeWidthStr as _;

use crate::telemetry;

/// The most bytes of an answer that are read.
const MAX_ANSWER: u64 = 1_024;

/// How people are spoken to.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct OutputOptions {
    /// Whether remarks are left out.
    pub(crate) quiet: bool,
    /// Whether terminals are shown colours.
    pub(crate) colors: bool,
}

static OPTIONS: OnceLock<OutputOptions> = OnceLock::new();

/// Says once, at the start, how people are spoken to.
pub(crate) fn set_options(manners: OutputOptions) {
    // A second one has nothing to say: there is one command line.
    let _ = OPTIONS.set(manners);
}

fn options() -> OutputOptions {
    OPTIONS.get().copied().unwrap_or_default()
}

/// Colours, as terminals know them (ECMA-48, "select graphic rendition").
#[derive(Debug, Clone, Copy)]
pub(crate) enum TerminalColor {
    Red = 31,
    Green = 32,
    Yellow = 33,
}

/// A word in a colour, where the stream is a terminal and colours are wanted.
fn colored(word: &str, colour: TerminalColor, stream: &impl IsTerminal) -> String {
    if options().colors && stream.is_terminal() {
        format!("\u{1b}[1;{}m{word}\u{1b}[0m", colour as u8)
    } else {
        word.to_owned()
    }
}

/// Whether somebody sits at a terminal and reads remarks.
pub(crate) fn is_read_by_a_person() -> bool {
    io::stderr().is_terminal() && !options().quiet && !telemetry::is_json()
}

/// Writes the help of a command, with the colours that it brings where terminals are shown any.
pub(crate) fn help(plain: &str, coloured: &str, colours: bool) {
    let stdout = io::stdout();
    write(stdout.lock(), if colours && stdout.is_terminal() { coloured } else { plain });
}

/// Writes a verdict and what it is about to standard output; the verdict in its colour.
pub(crate) fn verdict(word: &str, colour: TerminalColor, about: &str) {
    let stdout = io::stdout();
    let word = colored(word, colour, &stdout);
    write(stdout.lock(), &format!("{word}{}", sanitized(about)));
}

/// Writes text and a line end to standard output.
pub(crate) fn line(text: impl AsRef<str>) {
    write(io::stdout().lock(), &sanitized(text.as_ref()));
}

/// Draws lines on a terminal in the place of what it shows.
pub(crate) fn screen(lines: &[String]) {
    // To the corner; each line as far as it goes, then nothing; then nothing below (ECMA-48, CUP, EL and ED).
    let drawn: Vec<String> = lines.iter().map(|line| format!("{}\u{1b}[K\r\n", sanitized(line))).collect();
    write(io::stdout().lock(), &format!("\u{1b}[H{}\u{1b}[J", drawn.concat()));
}

/// True for what a terminal obeys, or what changes the order in which it shows its neighbors.
fn is_terminal_control(c: char) -> bool {
    (c.is_control() && !matches!(c, '\n' | '\t')) || hidden_chars::reorders_text(c)
}

/// The text without what a terminal would obey: it may hold names that a stranger's gate chose.
fn sanitized(text: &str) -> Cow<'_, str> {
    if text.contains(is_terminal_control) {
        text.replace(is_terminal_control, "\u{fffd}").into()
    } else {
        text.into()
    }
}

/// Writes a value as indented JSON to standard output.
pub(crate) fn json(value: &impl Serialize) {
    let json = serde_json::to_string_pretty(value);
    line(escaped(json.unwrap_or_else(|error| format!("{{\"error\": \"{error}\"}}"))));
}

/// JSON with what a terminal would obey written as JSON may write it: programs read the same value.
fn escaped(json: String) -> String {
    if !json.contains(is_terminal_control) {
        return json;
    }
    let mut text = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        // All of them have 16 bits.
        if is_terminal_control(c) { text += &format!("\\u{:04x}", u32::from(c)) } else { text.push(c) }
    }
    text
}

/// Writes what went wrong to standard error.
pub(crate) fn error(text: impl AsRef<str>) {
    if telemetry::is_json() {
        return tracing::error!("{}", sanitized(text.as_ref()));
    }
    let stderr = io::stderr();
    let name = colored("gatehouse:", TerminalColor::Red, &stderr);
    write(stderr.lock(), &format!("{name} {}", sanitized(text.as_ref())));
}

/// Writes to standard error what may not be meant so, though nothing went wrong; `-q` silences it.
pub(crate) fn warn(text: impl AsRef<str>) {
    if options().quiet {
        return;
    }
    if telemetry::is_json() {
        return tracing::warn!("{}", sanitized(text.as_ref()));
    }
    let stderr = io::stderr();
    let name = colored("gatehouse:", TerminalColor::Yellow, &stderr);
    write(stderr.lock(), &format!("{name} {}", sanitized(text.as_ref())));
}

/// Writes a remark for people to standard error; `-q` silences it.
pub(crate) fn note(text: impl AsRef<str>) {
    if !options().quiet {
        notice(text);
    }
}

/// Writes to standard error what somebody needs in order to go on: `-q` does not silence it.
pub(crate) fn notice(text: impl AsRef<str>) {
    if telemetry::is_json() {
        return tracing::info!("{}", sanitized(text.as_ref()));
    }
    write(io::stderr().lock(), &sanitized(text.as_ref()));
}

/// Asks on standard error and gives the line that is typed; none where nobody sits at a terminal. Blocks.
pub(crate) fn ask(question: &str) -> Option<String> {
    let stdin = io::stdin();
    if !stdin.is_terminal() {
        return None;
    }
    let mut stderr = io::stderr().lock();
    stderr.write_all(sanitized(question).as_bytes()).and_then(|()| stderr.flush()).ok()?;
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

/// A text with spaces behind it up to this width, in cells of a terminal: a letter may take two, or none.
pub(crate) fn padded(text: &str, width: usize) -> String {
    text.to_owned() + &" ".repeat(width.saturating_sub(text.width()))
}

/// Columns, each as wide as its widest cell.
pub(crate) fn table(rows: &[Vec<String>]) {
    columns(rows).iter().for_each(line);
}

/// The lines of such a table.
pub(crate) fn columns(rows: &[Vec<String>]) -> Vec<String> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.width()).max();
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
    let told = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).map(|(cell, width)| padded(cell, *width));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    rows.iter().map(told).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_they_look() {
        assert_eq!(padded("ab", 4), "ab  ");
        assert_eq!(padded("数据", 6), "数据  ");
        assert_eq!(padded("e\u{301}", 2), "e\u{301} ");
        assert_eq!(padded("abcde", 4), "abcde");
    }

    #[test]
    fn a_terminal_is_shown_nothing_to_obey() {
        assert_eq!(sanitized("a\tb\nc"), "a\tb\nc");
        assert_eq!(sanitized("gpj.\u{202e}exe \u{200d}"), "gpj.\u{fffd}exe \u{200d}");
        assert_eq!(escaped("{\"a\": \"\u{202e}é\u{85}\"}".into()), r#"{"a": "\u202eé\u0085"}"#);
        assert_eq!(sanitized("\u{1b}[2J\u{9b}31mred\r"), "\u{fffd}[2J\u{fffd}31mred\u{fffd}");
    }
}
