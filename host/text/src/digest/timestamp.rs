//! Timestamps and levels at the start of log lines.

use super::lines::BoundedCounts;
use crate::split_list;

const MAX_LEADING_WORDS: usize = 5;

const MAX_DAYS: usize = 4_096;

const LEVELS: [&str; 14] =
    split_list("trace|silly|verbose|debug|info|notice|log|http|warn|error|severe|critical|fatal|panic");

/// Other names of levels.
const LEVEL_ALIASES: [(&str, &str); 5] =
    [("information", "info"), ("warning", "warn"), ("wrn", "warn"), ("err", "error"), ("crit", "critical")];

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

#[derive(Debug, PartialEq, Eq)]
pub(super) struct LogTimestamp<'a> {
    pub(super) written: &'a str,
    day: Option<&'a str>,
    pub(super) rest: &'a str,
}

/// Finds the timestamp near the start of a line: `2026-03-04 10:00:00`, `2026-03-04T10:00:00Z`, `Mar  4 10:00:00`,
/// `10:00:00`. A time without seconds is first in its line or in brackets, because `  12:34  error` is a place in a file.
pub(super) fn find(line: &str) -> Option<LogTimestamp<'_>> {
    let mut end = 0;
    (0..MAX_LEADING_WORDS).find_map(|_| {
        let at;
        (at, end) = next_word(line, end);
        let word = &line[at..end];
        let part = part(word)?;
        let is_short = part == TimestampPart::Time && without_marks(word).len() == 5;
        (!is_short || at == 0 || word.starts_with(['[', '('])).then(|| extend(line, at, end, part))
    })
}

#[derive(Clone, Copy, PartialEq)]
enum TimestampPart {
    Day,
    Time,
    Both,
    Month,
}

fn without_marks(word: &str) -> &str {
    word.trim_matches(|c: char| "[](),;".contains(c)).trim_end_matches(':')
}

fn part(word: &str) -> Option<TimestampPart> {
    let word = without_marks(word);
    if MONTHS.contains(&word) {
        return Some(TimestampPart::Month);
    }
    let bytes = word.as_bytes();
    let digits =
        |from: usize, to: usize| bytes.get(from..to).is_some_and(|part| part.iter().all(u8::is_ascii_digit));
    let colon = |at: usize| bytes.get(at) == Some(&b':');
    let day = digits(0, 4)
        && digits(5, 7)
        && digits(8, 10)
        && matches!(bytes[4], b'-' | b'/')
        && bytes[7] == bytes[4];
    let below = |at: usize, limit: &str| bytes.get(at..at + 2).is_some_and(|part| part < limit.as_bytes());
    let time = |at: usize| {
        digits(at, at + 2)
            && colon(at + 2)
            && digits(at + 3, at + 5)
            && below(at, "24")
            && below(at + 3, "60")
    };
    match (day, bytes.len()) {
        (true, 10) => Some(TimestampPart::Day),
        (true, _) if matches!(bytes[10], b'T' | b'_') && time(11) => Some(TimestampPart::Both),
        (false, 5..=18) if time(0) && (bytes.len() == 5 || colon(5)) && bytes.len() != 6 => {
            Some(TimestampPart::Time)
        }
        _ => None,
    }
}

/// Returns the start and the end of the next word, both at the end of the line if there is none.
fn next_word(line: &str, from: usize) -> (usize, usize) {
    let word = line[from..].trim_start();
    let start = line.len() - word.len();
    (start, start + word.find(char::is_whitespace).unwrap_or(word.len()))
}

fn extend(line: &str, at: usize, end: usize, part: TimestampPart) -> LogTimestamp<'_> {
    let mut until = end;
    let mut day = matches!(part, TimestampPart::Day | TimestampPart::Both).then(|| (at, end));
    if part == TimestampPart::Month {
        until = next_word(line, end).1;
        day = Some((at, until));
    }
    if matches!(part, TimestampPart::Day | TimestampPart::Month) {
        let (start, stop) = next_word(line, until);
        if self::part(&line[start..stop]) == Some(TimestampPart::Time) {
            until = stop;
        }
    }
    let day = day.map(|(from, to)| without_marks(&line[from..to]));
    let day = day.map(|day| if part == TimestampPart::Both { &day[..10] } else { day });
    LogTimestamp { written: without_marks(&line[at..until]), day, rest: line[until..].trim_start() }
}

/// Returns the normalized level of a line, from its first words.
pub(super) fn level(line: &str) -> Option<&'static str> {
    let rest = without_timestamp(line);
    rest.split_whitespace().take(3).find_map(|word| {
        let name = word.split(['[', ']', ':', '(', '=', '|']).find(|part| !part.is_empty())?;
        // To exclude words of sentences, require capitals, brackets, a colon, or the first position (optionally after a
        // number).
        let set_apart = word.len() > name.len() || name.bytes().all(|b| b.is_ascii_uppercase());
        let leads = rest.split_whitespace().take(2).any(|first| first == word) && {
            let first = rest.split_whitespace().next().unwrap_or_default();
            first == word || first.bytes().all(|b| b.is_ascii_digit())
        };
        let mut levels = LEVELS.into_iter().map(|level| (level, level)).chain(LEVEL_ALIASES);
        let (_, level) = levels.find(|(alias, _)| alias.eq_ignore_ascii_case(name))?;
        (set_apart || leads).then_some(level)
    })
}

/// Returns a line without its timestamp and the words before it.
pub(super) fn without_timestamp(line: &str) -> &str {
    find(line).map_or(line, |stamp| stamp.rest)
}

pub(super) fn is_failure(level: &str) -> bool {
    matches!(level, "warn" | "error" | "severe" | "critical" | "fatal" | "panic")
}

#[derive(Default)]
pub(super) struct TimestampRange {
    first: Option<String>,
    last: Option<String>,
    days: BoundedCounts<String, MAX_DAYS>,
}

impl TimestampRange {
    pub(super) fn line(&mut self, line: &str) {
        let Some(stamp) = find(line) else { return };
        let written = super::lines::shown(stamp.written, 40);
        if let Some(day) = stamp.day {
            self.days.add(super::lines::shown(day, 20), 1);
        }
        self.first.get_or_insert_with(|| written.clone());
        self.last = Some(written);
    }

    /// Returns `, from … to …`, or nothing.
    pub(super) fn render(&self) -> String {
        match (&self.first, &self.last) {
            (Some(first), Some(last)) if first != last => format!(", from {first} to {last}"),
            (Some(first), _) => format!(", all at {first}"),
            _ => String::new(),
        }
    }

    pub(super) fn busiest(&self) -> Option<String> {
        (self.days.len() > 1).then(|| format!("Lines by day: {}.", self.days.render(4, String::clone)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_found_near_the_beginning() {
        let cases = [
            ("2026-03-04 10:00:01 INFO x", "2026-03-04 10:00:01", Some("2026-03-04"), "INFO x"),
            ("[2026-03-04T10:00:01.5Z] x", "2026-03-04T10:00:01.5Z", Some("2026-03-04"), "x"),
            ("Mar  4 10:00:01 host sshd[1]: x", "Mar  4 10:00:01", Some("Mar  4"), "host sshd[1]: x"),
            ("update 2026-03-04 10:00:01: run", "2026-03-04 10:00:01", Some("2026-03-04"), "run"),
            ("10:00:01,123 x", "10:00:01,123", None, "x"),
        ];
        for (line, written, day, rest) in cases {
            assert_eq!(find(line), Some(LogTimestamp { written, day, rest }), "{line}");
        }
        for line in ["", "a b c d e 2026-03-04", "version 1.2.3", "3-4", "２０２６-03-04"] {
            assert_eq!(find(line), None, "{line}");
        }
    }

    #[test]
    fn levels_stand_apart() {
        let cases =
            [("12 warn x", "warn"), ("ERROR x", "error"), ("error[E0308]: x", "error"), ("[info] x", "info")];
        for (line, found) in cases {
            assert_eq!(level(line), Some(found), "{line}");
        }
        for line in ["an error came", "no warning", "", "errors: 0"] {
            assert_eq!(level(line), None, "{line}");
        }
    }
}
