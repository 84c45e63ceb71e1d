//! Sanitizes text from the web, so that it cannot leave its section of the reply.
//!
//! Headings get smaller, rules and tags at line starts are escaped, code fences end with the section, and hidden
//! characters are removed. The text is otherwise unchanged, and remains untrusted.

use gatehouse_wiki::{cut, fenced, head};

use crate::sources::is_hidden;

pub(crate) fn prose(text: &str, max: usize) -> String {
    guarded(cut(&visible(text, max), max).trim_end())
}

/// Sanitizes code and cuts it to about `max` characters. Adds fences unless it has its own.
pub(crate) fn code(text: &str, max: usize) -> String {
    let text = visible(text, max);
    if text.lines().any(|line| fence(line).is_some()) {
        return prose(&text, max);
    }
    let text = text.trim_matches('\n').trim_end();
    if text.is_empty() {
        return String::new();
    }
    let (text, mark) = match text.char_indices().nth(max) {
        None => (text, ""),
        Some((end, _)) => (&text[..text[..end].rfind('\n').unwrap_or(end)], "\n…"),
    };
    format!("{}{mark}", fenced(text).trim_end())
}

/// Normalizes line ends and removes hidden characters. Reads only a prefix of a very long text.
fn visible(text: &str, max: usize) -> String {
    let text = head(text, max * 4);
    let text = text.replace("\r\n", "\n").replace(['\r', '\u{2028}', '\u{2029}', '\u{85}'], "\n");
    text.chars().filter(|c| matches!(c, '\n' | '\t') || !is_hidden(*c)).collect()
}

fn guarded(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    let mut open: Option<&str> = None;
    for line in text.lines() {
        match (open, fence(line)) {
            (None, None) => out += &harmless(line),
            (None, Some(mark)) => {
                open = Some(mark);
                out += line;
            }
            (Some(mark), _) => {
                if ends(line, mark) {
                    open = None;
                }
                out += line;
            }
        }
        out.push('\n');
    }
    if let Some(mark) = open {
        out += mark;
    }
    out.trim_end().to_owned()
}

/// Returns the fence at the start of a line, by the rules of Markdown.
fn fence(line: &str) -> Option<&str> {
    let body = top(line)?;
    let mark = body.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let length = body.chars().take_while(|c| *c == mark).count();
    let inline = mark == '`' && body[length..].contains('`');
    (length >= 3 && !inline).then(|| &body[..length])
}

fn ends(line: &str, mark: &str) -> bool {
    let body = top(line).map(str::trim_end);
    body.is_some_and(|body| body.starts_with(mark) && body.chars().all(|c| mark.starts_with(c)))
}

/// Strips up to three leading spaces, which Markdown ignores. `None` if the line is indented further.
fn top(line: &str) -> Option<&str> {
    let body = line.trim_start_matches(' ');
    (line.len() - body.len() <= 3 && !body.starts_with('\t')).then_some(body)
}

/// Escapes or shrinks structure in a line that could be mistaken for the reply's own.
fn harmless(line: &str) -> String {
    let line = without_definition(line);
    let Some(body) = top(&line) else { return line };
    let level = body.chars().take_while(|c| *c == '#').count();
    if (1..=6).contains(&level) && body[level..].chars().next().is_none_or(char::is_whitespace) {
        return format!("{}{}", "#".repeat((level + 3).min(6)), &body[level..]);
    }
    if is_rule(body) || is_tag(body) { format!("\\{body}") } else { line }
}

/// Returns whether this is a rule, or an underline that makes the previous line a heading.
fn is_rule(body: &str) -> bool {
    let first = body.chars().next().filter(|c| matches!(c, '-' | '=' | '_' | '*'));
    first.is_some_and(|first| body.chars().all(|c| c == first || c.is_whitespace()))
}

/// Returns whether this begins HTML, which could swallow later text. A URL in `<…>` is not HTML.
fn is_tag(body: &str) -> bool {
    let Some(inner) = body.strip_prefix('<') else { return false };
    let address = ["http://", "https://"].iter().any(|scheme| inner.starts_with(scheme));
    !address && inner.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '/' | '!' | '?'))
}

/// Escapes a definition such as `[1]: https://…`, which would set the target of every `[1]` in the reply.
fn without_definition(line: &str) -> String {
    let marks =
        |c: char| c.is_whitespace() || c.is_ascii_digit() || matches!(c, '>' | '-' | '*' | '+' | '.' | ')');
    let body = line.trim_start_matches(marks);
    let is_definition =
        body.starts_with('[') && body.find(']').is_none_or(|end| body[end + 1..].starts_with(':'));
    if !is_definition {
        return line.to_owned();
    }
    format!("{}\\{body}", &line[..line.len() - body.len()])
}
