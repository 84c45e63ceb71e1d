//! Groups exceptions and their stack traces: Python, Java, JavaScript and similar formats.

use super::lines::{BoundedCounts, MAX_SHOWN_CHARS, join, shown};

const MAX_TYPES: usize = 256;
const MAX_MESSAGES: usize = 4;

const MAX_SHOWN_TYPES: usize = 12;

const TYPE_SUFFIXES: [&str; 8] =
    ["Error", "Exception", "Warning", "Interrupt", "Exit", "Panic", "Failure", "Fault"];

#[derive(Default)]
struct ExceptionGroup {
    name: String,
    times: usize,
    /// Distinct messages, each with its first line.
    messages: Vec<(String, usize)>,
    more: usize,
    frame: Option<String>,
}

#[derive(Default)]
pub(super) struct TraceReader {
    types: Vec<ExceptionGroup>,
    counts: BoundedCounts<String, MAX_TYPES>,
    /// True if the previous line belongs to a trace.
    inside: bool,
    /// True in a Python trace, which ends with the exception. `frame` is its innermost frame so far.
    python: bool,
    frame: Option<String>,
    /// The exception that the next frames belong to.
    open: Option<usize>,
}

impl TraceReader {
    /// Reads the next line. Returns whether it is part of a trace.
    pub(super) fn line(&mut self, number: usize, line: &str) -> bool {
        let content = line.trim_start();
        let indented = content.len() < line.len();
        if content.starts_with("Traceback (most recent call last)") {
            (self.inside, self.python, self.frame) = (true, true, None);
            return true;
        }
        if indented && is_frame(content) {
            self.inside = true;
            let frame = shown(content, MAX_SHOWN_CHARS);
            if self.python {
                self.frame = Some(frame);
            } else if let Some(thrown) = self.open.take().and_then(|open| self.types.get_mut(open)) {
                thrown.frame.get_or_insert(frame);
            }
            return true;
        }
        if self.python && self.inside && (indented || content.is_empty()) {
            return true;
        }
        let ended = self.python && self.inside;
        (self.inside, self.python) = (false, false);
        let exception = if ended { parse_exception(content) } else { find_exception(content, indented) };
        let Some((name, message)) = exception else {
            self.open = None;
            return ended;
        };
        self.add(number, name, message);
        if ended {
            let frame = self.frame.take();
            if let Some(thrown) = self.open.take().and_then(|open| self.types.get_mut(open)) {
                thrown.frame = thrown.frame.take().or(frame);
            }
        }
        // A line with more than the exception also counts as a log line.
        ended || content.starts_with(name) || content.starts_with("Caused by")
    }

    fn add(&mut self, number: usize, name: &str, message: &str) {
        self.counts.add(name.to_owned(), 1);
        let at = self.types.iter().position(|thrown| thrown.name == name).or_else(|| {
            (self.types.len() < MAX_TYPES).then(|| {
                self.types.push(ExceptionGroup { name: name.to_owned(), ..ExceptionGroup::default() });
                self.types.len() - 1
            })
        });
        self.open = at;
        let Some(thrown) = at.and_then(|at| self.types.get_mut(at)) else { return };
        thrown.times += 1;
        let message = shown(message, MAX_SHOWN_CHARS);
        if thrown.messages.iter().any(|(existing, _)| without_digits(existing) == without_digits(&message)) {
            return;
        }
        if thrown.messages.len() < MAX_MESSAGES {
            thrown.messages.push((message, number))
        } else {
            thrown.more += 1
        }
    }

    pub(super) fn count(&self) -> usize {
        self.types.iter().map(|thrown| thrown.times).sum::<usize>() + self.counts.other
    }

    /// `43 exceptions: KeyError 15, …`
    pub(super) fn finding(&self) -> Option<String> {
        let count = self.count();
        (count > 0).then(|| format!("{count} exceptions: {}.", self.counts.render(8, |name| shown(name, 80))))
    }

    pub(super) fn render(&self) -> Vec<String> {
        let mut types: Vec<&ExceptionGroup> = self.types.iter().collect();
        types.sort_by(|a, b| b.times.cmp(&a.times).then_with(|| a.name.cmp(&b.name)));
        let describe = |thrown: &&ExceptionGroup| {
            let messages = thrown.messages.iter().map(|(message, line)| format!("{message} (line {line})"));
            let more = (thrown.more > 0).then(|| format!("{} with other messages", thrown.more));
            let messages = join(messages.chain(more), " | ");
            let frame = thrown.frame.as_ref().map(|frame| format!(", first {frame}")).unwrap_or_default();
            format!("{} × {}: {messages}{frame}", thrown.times, shown(&thrown.name, 80))
        };
        types.iter().take(MAX_SHOWN_TYPES).map(describe).collect()
    }
}

fn without_digits(text: &str) -> String {
    text.chars().filter(|c| !c.is_ascii_digit()).collect()
}

fn is_frame(content: &str) -> bool {
    let digits = content.bytes().take_while(u8::is_ascii_digit).count();
    content.starts_with("at ")
        || content.starts_with("File \"")
        || (content.starts_with("... ") && content.ends_with(" more"))
        || content.strip_prefix('#').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
        || (digits > 0 && content[digits..].starts_with(": "))
}

/// Parses the exception at the end of a Python trace: any name, and its message.
fn parse_exception(content: &str) -> Option<(&str, &str)> {
    let (name, message) = content.split_once(':').unwrap_or((content, ""));
    let named =
        !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_'));
    named.then(|| (name, message.trim()))
}

/// Finds an exception in a line: a type before a colon, or a type that is the whole line.
fn find_exception(content: &str, indented: bool) -> Option<(&str, &str)> {
    let content = content.strip_prefix("Caused by: ").unwrap_or(content);
    if let Some((thread, place)) =
        content.strip_prefix("thread '").and_then(|rest| rest.split_once(" panicked at "))
    {
        let thread = thread.split('\'').next().unwrap_or(thread);
        return Some(("panic", if place.trim().is_empty() { thread } else { place.trim() }));
    }
    for word in content.split_whitespace().take(12) {
        let name = word.trim_end_matches(':');
        let last = name.rsplit(['.', ':']).next().unwrap_or(name);
        let begins = last.starts_with(|c: char| c.is_ascii_uppercase());
        let named = last.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') && last.len() > 5;
        let alone = name.len() < word.len() || (name.len() == content.trim_end().len() && !indented);
        if begins && named && alone && TYPE_SUFFIXES.iter().any(|end| last.ends_with(end)) {
            let message = content.split_once(word).map_or("", |(_, after)| after);
            return Some((name, message.trim()));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (TraceReader, usize) {
        let mut traces = TraceReader::default();
        let lines = text.lines().zip(1..).filter(|(line, number)| traces.line(*number, line)).count();
        (traces, lines)
    }

    #[test]
    fn traces_of_python_end_with_their_exception() {
        let (traces, lines) = read(
            "ERROR job 3\nTraceback (most recent call last):\n  File \"a.py\", line 3, in load\n    x()\n    ~^^\nQuota: full 3\n\
             INFO ok\nTraceback (most recent call last):\n  File \"a.py\", line 9, in z\nQuota: full 4\n",
        );
        assert_eq!(traces.render(), ["2 × Quota: full 3 (line 6), first File \"a.py\", line 3, in load"]);
        assert_eq!((traces.count(), lines), (2, 8));
    }

    #[test]
    fn traces_of_java_and_javascript_begin_with_it() {
        let (traces, _) = read(
            "java.lang.IllegalStateException: job 1 has no name\n\tat Jobs.size(Jobs.java:7)\n\tat Jobs.main(Jobs.java:9)\n\
             Caused by: java.lang.NullPointerException\n\tat Jobs.name(Jobs.java:5)\n\t... 1 more\n\
             [worker] job 2 failed: SyntaxError: Unexpected token\n    at JSON.parse (<anonymous>)\n",
        );
        assert_eq!(traces.count(), 3);
        assert!(traces.render().contains(
            &"1 × SyntaxError: Unexpected token (line 7), first at JSON.parse (<anonymous>)".into()
        ));
        assert!(traces.finding().unwrap().contains("java.lang.NullPointerException 1"));
    }

    #[test]
    fn prose_throws_nothing() {
        assert_eq!(
            read("An Error came up.\nErrors: none\n  IOException\nSee Exceptions below:\n").0.count(),
            0
        );
    }
}
