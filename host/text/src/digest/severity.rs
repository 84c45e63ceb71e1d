//! Rates how severe a failure is that a line reports.

use super::{errors, line_templates::MAX_TEMPLATE_WORDS, outcome::counts, timestamp};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum LineSeverity {
    Error,
    /// A place in a source file with a message, such as `lease_test.go:64: lease expired`. Counts as a failure only if it
    /// is rare.
    Place,
    Warning,
}

/// Words that count failures.
const FAILURES: [&str; 9] =
    ["failed", "failing", "failure", "failures", "error", "errors", "unreachable", "rejected", "critical"];

/// Levels that do not tell whether a line reports a failure.
const NEUTRAL_LEVELS: [&str; 2] = ["log", "http"];

/// Returns the severity of a line that reports a failure. Ignores words inside names and counts such as `0 failed`.
pub(super) fn failure_severity(level: Option<&str>, line: &str) -> Option<LineSeverity> {
    match level {
        Some("warn") => return Some(LineSeverity::Warning),
        Some(level) if timestamp::is_failure(level) => return Some(LineSeverity::Error),
        // The program says that this is no failure, whatever words the line has. Only counts and verdicts say more.
        Some(level) if !NEUTRAL_LEVELS.contains(&level) => {
            let is_verdict = |word: &str| {
                let word = word.trim_matches(|c: char| !c.is_ascii_alphabetic());
                matches!(word, "FAIL" | "FAILED" | "FAILURE")
            };
            let fails = counts_failures(line) || line.split_whitespace().any(is_verdict);
            return fails.then_some(LineSeverity::Error);
        }
        _ => {}
    }
    let counted = if line.contains(|c: char| c.is_ascii_digit()) { failures(line) } else { None };
    if let Some(count) = counted {
        return (count > 0).then_some(LineSeverity::Error);
    }
    let mut before = "";
    for word in line.split_whitespace().take(MAX_TEMPLATE_WORDS) {
        let plain = word.trim_matches(|c: char| c.is_ascii_punctuation());
        let spoken = plain.bytes().all(|b| b.is_ascii_alphabetic()) && errors::error_at(plain) == Some(0);
        let is_option =
            |word: &str| word.starts_with('-') && word.contains(|c: char| c.is_ascii_alphabetic());
        let option = is_option(word) || is_option(before);
        if spoken && !option && !matches!(before, "0" | "no" | "without") {
            return Some(LineSeverity::Error);
        }
        if plain.eq_ignore_ascii_case("warning") {
            return Some(LineSeverity::Warning);
        }
        before = word;
    }
    line.split_whitespace().take(3).any(is_place).then_some(LineSeverity::Place)
}

/// Returns whether a line counts failures, at least one.
pub(super) fn counts_failures(line: &str) -> bool {
    errors::error_at(line).is_some() && failures(line).is_some_and(|count| count > 0)
}

/// Returns the sum of the failures that a line counts, `None` if it counts none.
fn failures(line: &str) -> Option<u64> {
    let line = timestamp::without_timestamp(line).to_lowercase();
    let counts = counts(&line);
    let failures = counts.iter().filter(|(word, _)| FAILURES.contains(word)).map(|(_, n)| *n);
    // A single count can be something else: `error 404`.
    (counts.len() > 1).then(|| failures.reduce(u64::saturating_add))?
}

/// Returns whether a word is a file with a line: `src/main.rs:12:5`, `lease_test.go:64:`.
fn is_place(word: &str) -> bool {
    let mut parts = word.trim_end_matches(':').split(':');
    let file = parts.next().unwrap_or_default();
    let is_file = file.rsplit_once('.').is_some_and(|(stem, extension)| {
        !stem.is_empty()
            && (1..=5).contains(&extension.len())
            && extension.starts_with(|c: char| c.is_ascii_alphabetic())
            && extension.bytes().all(|b| b.is_ascii_alphanumeric())
    });
    is_file && parts.next().is_some_and(|line| !line.is_empty() && line.bytes().all(|b| b.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_nothing_are_no_failures() {
        for (line, severity) in [
            ("ok=14 changed=2 unreachable=0 failed=0", None),
            ("ok=14 changed=2 unreachable=1 failed=0", Some(LineSeverity::Error)),
            ("Tests run: 12, Failures: 0, Errors: 0", None),
            ("no error, 3 passed", None),
            ("src/a.c:12:5: warning: unused", Some(LineSeverity::Warning)),
            ("    lease_test.go:64: lease expired after 3s", Some(LineSeverity::Place)),
            ("at http://example.org:80 x", None),
            ("--- FAIL: TestLease_5 (3.01s)", Some(LineSeverity::Error)),
            ("run --on-failure abort", None),
            ("disk 7 failed: no space", Some(LineSeverity::Error)),
        ] {
            assert_eq!(failure_severity(None, line), severity, "{line}");
        }
    }

    #[test]
    fn a_level_says_more_than_words() {
        for (level, line, severity) in [
            ("info", "INFO pod web-3 was evicted, 2 errors refused by policy", None),
            ("debug", "DEBUG retry after timeout", None),
            ("info", "INFO tests: 3 failed, 9 passed", Some(LineSeverity::Error)),
            ("info", "[info] - adds numbers *** FAILED ***", Some(LineSeverity::Error)),
            ("log", "LOG:  could not connect: connection refused", Some(LineSeverity::Error)),
            ("error", "ERROR it is fine", Some(LineSeverity::Error)),
        ] {
            assert_eq!(failure_severity(Some(level), line), severity, "{line}");
        }
    }
}
