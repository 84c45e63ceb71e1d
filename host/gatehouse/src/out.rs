//! Access to the standard streams; no other module writes to them. If the reader of a stream stops reading (`| head`),
//! the program exits with 0. After any other
//! failure to write it exits with 1.

use std::{
    io::{self, BufRead, IsTerminal, Read, Write},
    sync::OnceLock,
};

use gatehouse_core::hidden_chars;
use serde::Serialize;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use crate::telemetry;

/// Maximum size of a typed answer, in bytes.
const MAX_ANSWER: u64 = 1_024;

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct OutputOptions {
    pub(crate) quiet: bool,
    pub(crate) colors: bool,
}

static OPTIONS: OnceLock<OutputOptions> = OnceLock::new();

/// Sets the options. Only the first call has an effect.
pub(crate) fn set_options(options: OutputOptions) {
    let _ = OPTIONS.set(options);
}

fn options() -> OutputOptions {
    OPTIONS.get().copied().unwrap_or_default()
}

/// Color codes of terminals (ECMA-48, "select graphic rendition").
#[derive(Debug, Clone, Copy)]
pub(crate) enum TerminalColor {
    Red = 31,
    Green = 32,
    Yellow = 33,
}

/// Returns the word in a color if the stream is a terminal and colors are enabled.
fn colored(word: &str, color: TerminalColor, stream: &impl IsTerminal) -> String {
    if options().colors && stream.is_terminal() {
        format!("\u{1b}[1;{}m{word}\u{1b}[0m", color as u8)
    } else {
        word.to_owned()
    }
}

pub(crate) fn is_interactive() -> bool {
    io::stderr().is_terminal() && !options().quiet && !telemetry::is_json()
}

/// Writes the help of a command. Uses the colored text only on a terminal.
pub(crate) fn help(plain: &str, colored_text: &str, colors: bool) {
    let stdout = io::stdout();
    write(stdout.lock(), if colors && stdout.is_terminal() { colored_text } else { plain });
}

/// Writes a colored verdict and its subject to standard output.
pub(crate) fn verdict(word: &str, color: TerminalColor, about: &str) {
    let stdout = io::stdout();
    let word = colored(word, color, &stdout);
    write(stdout.lock(), &format!("{word}{}", sanitized(about)));
}

pub(crate) fn line(text: impl AsRef<str>) {
    write(io::stdout().lock(), &sanitized(text.as_ref()));
}

pub(crate) fn screen(lines: &[String]) {
    // Moves to the corner (CUP), clears the rest of each line (EL) and everything below the last line (ED); see
    // ECMA-48.
    let drawn: Vec<String> = lines.iter().map(|line| format!("{}\u{1b}[K\r\n", sanitized(line))).collect();
    write(io::stdout().lock(), &format!("\u{1b}[H{}\u{1b}[J", drawn.concat()));
}

/// Returns whether a character controls the terminal or reorders the characters around it.
fn is_terminal_control(c: char) -> bool {
    (c.is_control() && !matches!(c, '\n' | '\t')) || hidden_chars::reorders_text(c)
}

/// Replaces control characters: the text may contain names from untrusted gates or servers.
fn sanitized(text: &str) -> String {
    text.replace(is_terminal_control, "\u{fffd}")
}

pub(crate) fn json(value: &impl Serialize) {
    let json = serde_json::to_string_pretty(value);
    line(escaped(&json.unwrap_or_else(|error| format!("{{\"error\": \"{error}\"}}"))));
}

/// Prints a value as one line of JSON.
pub(crate) fn json_line(value: &impl Serialize) {
    let json = serde_json::to_string(value);
    line(escaped(&json.unwrap_or_else(|error| format!("{{\"error\": \"{error}\"}}"))));
}

/// Escapes terminal control characters in JSON, which does not change its value.
fn escaped(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    for c in json.chars() {
        if is_terminal_control(c) { text += &format!("\\u{:04x}", u32::from(c)) } else { text.push(c) }
    }
    text
}

pub(crate) fn error(text: impl AsRef<str>) {
    if telemetry::is_json() {
        return tracing::error!("{}", sanitized(text.as_ref()));
    }
    labeled("error:", TerminalColor::Red, text.as_ref());
}

/// Writes a warning to standard error, unless `-q` is set.
pub(crate) fn warn(text: impl AsRef<str>) {
    if options().quiet {
        return;
    }
    if telemetry::is_json() {
        return tracing::warn!("{}", sanitized(text.as_ref()));
    }
    labeled("warning:", TerminalColor::Yellow, text.as_ref());
}

fn labeled(label: &str, color: TerminalColor, text: &str) {
    let stderr = io::stderr();
    let label = colored(label, color, &stderr);
    write(stderr.lock(), &format!("{label} {}", sanitized(text)));
}

/// Writes a note for users to standard error, unless `-q` is set.
pub(crate) fn note(text: impl AsRef<str>) {
    if !options().quiet {
        notice(text);
    }
}

/// Writes to standard error even with `-q`: the user needs this text to continue.
pub(crate) fn notice(text: impl AsRef<str>) {
    if telemetry::is_json() {
        return tracing::info!("{}", sanitized(text.as_ref()));
    }
    write(io::stderr().lock(), &sanitized(text.as_ref()));
}

/// Prints a question to standard error and reads the answer. `None` if standard input is not a terminal. Blocks.
pub(crate) fn prompt(question: &str) -> Option<String> {
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
    if let Err(error) = written.and_then(|()| stream.flush()) {
        std::process::exit(exit_code(&error));
    }
}

/// Returns 0 if the reader stopped reading, else 1, for example if the disk is full.
fn exit_code(error: &io::Error) -> i32 {
    if error.kind() == io::ErrorKind::BrokenPipe { 0 } else { 1 }
}

/// Pads a text with spaces to a width in terminal cells; a character takes up to two.
pub(crate) fn padded(text: &str, width: usize) -> String {
    text.to_owned() + &" ".repeat(width.saturating_sub(text.width()))
}

/// Prints a table with columns as wide as their widest cells. On a terminal, the widest ones are narrower if the lines
/// would not fit, and their cells take several lines.
pub(crate) fn table(rows: &[Vec<String>]) {
    let stdout = io::stdout();
    let terminal = stdout.is_terminal().then(|| rustix::termios::tcgetwinsize(&stdout).ok()).flatten();
    match terminal.map(|size| usize::from(size.ws_col)).filter(|width| *width > 0) {
        Some(width) => columns(&fitted(rows, width)).iter().for_each(line),
        None => columns(rows).iter().for_each(line),
    }
}

/// Narrowest column of a table that is too wide.
const MIN_COLUMN: usize = 12;

/// Splits cells into several rows, so that the table has at most `width` cells of the terminal.
fn fitted(rows: &[Vec<String>], width: usize) -> Vec<Vec<String>> {
    let mut widths = column_widths(rows);
    while widths.iter().sum::<usize>() + 2 * widths.len().saturating_sub(1) > width {
        let Some(widest) = widths.iter_mut().max().filter(|widest| **widest > MIN_COLUMN) else { break };
        *widest -= 1;
    }
    let mut fitted = Vec::new();
    for row in rows {
        let cells: Vec<Vec<String>> =
            row.iter().zip(&widths).map(|(cell, width)| wrapped(cell, *width)).collect();
        for line in 0..cells.iter().map(Vec::len).max().unwrap_or(0) {
            fitted.push(cells.iter().map(|cell| cell.get(line).cloned().unwrap_or_default()).collect());
        }
    }
    fitted
}

/// Splits a text into lines of at most `width` terminal cells, between words if possible.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_inclusive([' ', ',', '/']) {
        let used = lines.last().map_or(0, |line| line.width());
        if used > 0 && used + word.trim_end().width() > width {
            lines.push(String::new());
        }
        for c in word.chars() {
            let line = lines.last().map_or("", String::as_str);
            if !line.is_empty() && line.width() + c.width().unwrap_or(0) > width && c != ' ' {
                lines.push(String::new());
            }
            if let Some(line) = lines.last_mut() {
                line.push(c);
            }
        }
    }
    lines.iter().map(|line| line.trim_end().to_owned()).collect()
}

fn column_widths(rows: &[Vec<String>]) -> Vec<usize> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.width()).max();
    (0..columns).map(|column| width(column).unwrap_or(0)).collect()
}

pub(crate) fn columns(rows: &[Vec<String>]) -> Vec<String> {
    let widths = column_widths(rows);
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).map(|(cell, width)| padded(cell, *width));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn width_is_measured_in_terminal_cells() {
        assert_eq!(padded("ab", 4), "ab  ");
        assert_eq!(padded("数据", 6), "数据  ");
        assert_eq!(padded("e\u{301}", 2), "e\u{301} ");
        assert_eq!(padded("abcde", 4), "abcde");
    }

    #[test]
    fn a_table_fits_its_terminal_and_loses_nothing() {
        let row = |cells: [&str; 3]| cells.map(str::to_owned).to_vec();
        let long =
            "a_gate, another_gate, https://example.com/a/long/path 数据数据数据数据数据数据数据数据数据数据";
        let rows = [row(["NAME", "GATES", "FOR"]), row(["x", long, "two words"])];
        let fitted = fitted(&rows, 40);
        assert!(columns(&fitted).iter().all(|line| line.width() <= 40), "{fitted:?}");
        let cells: String = fitted[1..].iter().map(|row| row[1].as_str()).collect();
        assert_eq!(cells.replace(' ', ""), long.replace(' ', ""));
        assert_eq!(super::fitted(&rows, 400), rows);
    }

    #[test]
    fn control_characters_are_replaced() {
        assert_eq!(sanitized("a\tb\nc"), "a\tb\nc");
        assert_eq!(sanitized("gpj.\u{202e}exe \u{200d}"), "gpj.\u{fffd}exe \u{200d}");
        assert_eq!(escaped("{\"a\": \"\u{202e}é\u{85}\"}"), r#"{"a": "\u202eé\u0085"}"#);
        assert_eq!(sanitized("\u{1b}[2J\u{9b}31mred\r"), "\u{fffd}[2J\u{fffd}31mred\u{fffd}");
    }

    #[test]
    fn only_a_closed_pipe_is_a_success() {
        assert_eq!(exit_code(&io::ErrorKind::BrokenPipe.into()), 0);
        assert_eq!(exit_code(&io::ErrorKind::StorageFull.into()), 1);
    }
}
