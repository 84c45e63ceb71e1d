//! Standard error of a server, reduced to the lines that explain its exit: the line that names the error and its last
//! cause, or else the last lines.

use std::{
    collections::VecDeque,
    io::{BufRead, BufReader, Read},
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use gatehouse_core::{http::Redactor, lock, names::quoted};

use crate::downstream::server_log::ServerLog;

/// Last lines that are quoted if no line names an error.
const MAX_LINES: usize = 3;

const MAX_CHARACTERS: usize = 300;

/// Bytes of a line that are read: more than are quoted, to recognize credentials that are cut.
const MAX_BYTES: u64 = 8 << 10;

/// Pause after which lines belong to another event.
const EVENT_PAUSE: Duration = Duration::from_secs(5);

/// Words that name an error, also as a suffix: `ValueError`.
const ERRORS: [&str; 5] = ["error", "exception", "panic", "panicked", "fatal"];

const FAILURES: [&str; 14] = [
    "failed",
    "cannot",
    "can't",
    "could not",
    "couldn't",
    "unable to",
    "not found",
    "no such",
    "denied",
    "refused",
    "invalid",
    "missing",
    "required",
    "usage:",
];

/// Log levels below an error.
const QUIET_LEVELS: [&str; 6] = ["TRACE", "DEBUG", "INFO", "NOTICE", "WARN", "WARNING"];

#[derive(Default)]
pub(super) struct ErrorOutput {
    redactor: Arc<Redactor>,
    log: ServerLog,
    event: Mutex<ErrorEvent>,
}

/// Lines without a pause between them.
#[derive(Default)]
struct ErrorEvent {
    last: VecDeque<String>,
    error: Option<String>,
    failure: Option<String>,
    cause: Option<String>,
    /// True if the next line continues the error.
    continues: bool,
    /// True if indented lines are causes.
    in_causes: bool,
    last_at: Option<Instant>,
}

impl ErrorOutput {
    pub(super) fn new(redactor: Arc<Redactor>, log: ServerLog) -> Self {
        Self { redactor, log, event: Mutex::default() }
    }

    /// Reads to the end. Truncates long lines and stores only a few.
    pub(super) fn read_to_end(&self, output: impl Read) {
        let mut output = BufReader::new(output);
        let mut line = Vec::new();
        let mut is_rest = false;
        loop {
            line.clear();
            match output.by_ref().take(MAX_BYTES).read_until(b'\n', &mut line) {
                Ok(0) | Err(_) => return,
                Ok(_) => {}
            }
            let is_whole = line.ends_with(b"\n");
            if !std::mem::replace(&mut is_rest, !is_whole) {
                // Redact before truncating, because half a credential is not recognized.
                let line = self.redactor.redact_body(std::mem::take(&mut line));
                let line = String::from_utf8_lossy(&line);
                let line = line.trim_end();
                if !line.is_empty() {
                    self.log.add(quoted(line, MAX_CHARACTERS));
                    lock(&self.event).add(line, Instant::now());
                }
            }
        }
    }

    /// Returns the summary. `None` if the server wrote nothing.
    pub(super) fn error_summary(&self) -> Option<String> {
        lock(&self.event).error_summary()
    }
}

impl ErrorEvent {
    fn add(&mut self, line: &str, now: Instant) {
        if self.last_at.replace(now).is_some_and(|last| now.duration_since(last) > EVENT_PAUSE) {
            *self = Self { last_at: self.last_at, ..Self::default() };
        }
        self.classify(line);
        if self.last.len() == MAX_LINES {
            self.last.pop_front();
        }
        self.last.push_back(quoted(line, MAX_CHARACTERS));
    }

    fn classify(&mut self, line: &str) {
        let text = line.trim_start();
        let is_indented = text.len() < line.len() && !text.starts_with(['|', '×', '├', '╰']);
        if std::mem::take(&mut self.continues)
            && let Some(error) = &mut self.error
        {
            *error = quoted(&format!("{error} {text}"), 2 * MAX_CHARACTERS);
            return;
        }
        if self.error.is_some() {
            let named =
                ["Caused by:", "[cause]:", "├─▶", "╰─▶"].iter().find_map(|mark| text.strip_prefix(mark));
            let cause = named.or_else(|| (self.in_causes && is_indented).then_some(text));
            self.in_causes = cause.is_some();
            if let Some(cause) = cause.map(str::trim).filter(|cause| !cause.is_empty()) {
                self.cause = Some(quoted(cause, MAX_CHARACTERS));
            }
            return;
        }
        if is_quiet(text) {
            return;
        }
        if !is_indented && (names_error(text) || text.starts_with('×')) {
            // Rust prints the message of a panic on the line after its location.
            self.continues = text.contains(" panicked at ") && text.ends_with(':');
            self.error = Some(quoted(text, MAX_CHARACTERS));
        } else if self.failure.is_none() && (names_error(text) || explains_failure(text)) {
            self.failure = Some(quoted(text, MAX_CHARACTERS));
        }
    }

    fn error_summary(&self) -> Option<String> {
        let lines: Vec<&str> = match (&self.error, &self.failure) {
            (Some(error), _) => {
                [Some(error), self.cause.as_ref()].into_iter().flatten().map(|s| &**s).collect()
            }
            (None, Some(failure)) => vec![failure],
            (None, None) => self.last.iter().map(|s| &**s).collect(),
        };
        (!lines.is_empty()).then(|| lines.join(" / "))
    }
}

fn names_error(line: &str) -> bool {
    let lower = line.to_ascii_lowercase();
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    ERRORS.iter().any(|word| {
        lower.match_indices(word).any(|(start, _)| !lower[start + word.len()..].starts_with(is_word))
    })
}

fn explains_failure(line: &str) -> bool {
    let lower = line.to_ascii_lowercase();
    FAILURES.iter().any(|phrase| lower.contains(phrase))
}

/// True if the line starts like a log line below the error level: `npm warn …`, `2026-01-01 INFO …`.
fn is_quiet(line: &str) -> bool {
    let words = || line.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words().take(10).any(|word| QUIET_LEVELS.contains(&word))
        || words().take(2).any(|word| QUIET_LEVELS.iter().any(|level| level.eq_ignore_ascii_case(word)))
}

#[cfg(test)]
mod tests;
