//! Standard error of a server, reduced to the lines that explain its exit: the line that names the error and its last
//! cause, or else the last lines.

use std::{
    collections::VecDeque,
    io::{BufRead, BufReader, Read},
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use gatehouse_core::{http::Redactor, lock, names::quoted};

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
    pub(super) fn new(redactor: Arc<Redactor>) -> Self {
        Self { redactor, event: Mutex::default() }
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
                lock(&self.event).add(&String::from_utf8_lossy(&line), Instant::now());
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
        let line = line.trim_end();
        if line.is_empty() {
            return;
        }
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
mod tests {
    use super::*;

    fn complaint(output: &str) -> Option<String> {
        let errors = ErrorOutput::default();
        errors.read_to_end(output.as_bytes());
        errors.error_summary()
    }

    #[test]
    fn the_line_that_names_the_error_is_quoted() {
        for (output, expected) in [
            (
                "node:internal/modules/esm/resolve:873\n  throw new ERR_MODULE_NOT_FOUND(packageName);\n        ^\n\n\
                 Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'zod'\n    at packageResolve (node:internal:8)\n  \
                 code: 'ERR_MODULE_NOT_FOUND'\n}\n\nNode.js v20.20.2\n",
                "Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'zod'",
            ),
            (
                "Downloading cryptography (4.2MiB)\nerror: Failed to fetch: `https://pypi.org/simple/x/`\n  \
                 Caused by: Request failed after 3 retries\n  Caused by: invalid peer certificate: UnknownIssuer\n",
                "error: Failed to fetch: `https://pypi.org/simple/x/` / invalid peer certificate: UnknownIssuer",
            ),
            (
                "  × Failed to download `x==1`\n  ├─▶ error sending request\n  ╰─▶ invalid peer certificate\n",
                "× Failed to download `x==1` / invalid peer certificate",
            ),
            (
                "Error: no database\n\nCaused by:\n    0: cannot open it\n    1: permission denied\n",
                "Error: no database / 1: permission denied",
            ),
            (
                "Traceback (most recent call last):\n  File \"/a.py\", line 3, in look\n    raise ValueError(\"x\")\n\
                 ValueError: x\n",
                "ValueError: x",
            ),
            (
                "INFO errors are logged\n\nthread 'main' (1) panicked at src/main.rs:3:5:\nno home\nnote: run with it\n",
                "thread 'main' (1) panicked at src/main.rs:3:5: no home",
            ),
            (
                "npm warn deprecated a@1: it has an error\nnpm error code E404\nnpm error 404 Not Found\n",
                "npm error code E404",
            ),
            (
                "starting\nUsage: server-filesystem DIRECTORY\nsee the docs\n",
                "Usage: server-filesystem DIRECTORY",
            ),
            ("one\ntwo\n\nthree\nfour\n", "two / three / four"),
        ] {
            assert_eq!(complaint(output).as_deref(), Some(expected), "{output}");
        }
        assert_eq!(complaint("\n \n"), None);
    }

    #[test]
    fn a_long_trace_or_line_does_not_hide_the_error() {
        let trace: String = (0..10_000).map(|line| format!("goroutine {line} [running]:\n")).collect();
        assert_eq!(complaint(&format!("panic: nil map\n{trace}")).as_deref(), Some("panic: nil map"));
        let long = complaint(&format!("Error: {}", "x".repeat(1 << 20))).expect("a line");
        assert!(long.starts_with("Error: xxx") && long.len() < 400, "{long}");
    }

    #[test]
    fn an_error_before_a_pause_does_not_explain_the_end() {
        let (mut event, start) = (ErrorEvent::default(), Instant::now());
        event.add("error: this tool failed", start);
        event.add("out of licenses", start + EVENT_PAUSE + Duration::from_secs(1));
        assert_eq!(event.error_summary().as_deref(), Some("out of licenses"));
    }

    #[test]
    fn a_credential_is_redacted_before_its_line_is_cut() {
        let redactor = Redactor::new([&gatehouse_core::http::Secret::new("s3cret-that-is-cut-in-two")]);
        let errors = ErrorOutput::new(Arc::new(redactor));
        for before in [285, 295, 1_190, 1_199] {
            let line =
                format!("{}s3cret-that-is-cut-in-two and more{}", "x".repeat(before), "y".repeat(20_000));
            errors.read_to_end(line.as_bytes());
            let shown = errors.error_summary().expect("a line");
            assert!(!shown.contains("s3cret") && !shown.contains("in-two"), "{shown}");
        }
    }
}
