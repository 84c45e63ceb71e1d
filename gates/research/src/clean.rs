//! Text from the web, made harmless: what stands in a section of a reply stays in that section.
//!
//! The reply has headings, rules and numbered items of its own. Text that brings headings gets smaller
//! ones, rules and tags at the start of a line lose their meaning, code fences end where the section
//! ends, and characters that nobody sees are left out. Nothing else is changed: it is still the author's
//! text, and a reader should take it for no more.

use gatehouse_wiki::cut;

use crate::sources::is_hidden;

/// Markdown of at most about `max` characters, fit for a section.
pub(crate) fn prose(text: &str, max: usize) -> String {
    guarded(cut(&visible(text, max), max).trim_end())
}

/// Code of at most about `max` characters, fit for a section: between fences, unless it brings its own.
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
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat((longest + 1).max(3));
    format!("{fence}\n{text}\n{fence}{mark}")
}

pub(crate) fn start(text: &str, max: usize) -> &str {
    text.char_indices().nth(max).map_or(text, |(end, _)| &text[..end])
}

/// The text with plain line ends and without what nobody sees; of a text that is far too long, enough to
/// cut `max` characters from.
fn visible(text: &str, max: usize) -> String {
    let text = start(text, max * 4);
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

/// The fence that the line begins with, as Markdown has it.
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

/// The line without the up to three spaces that mean nothing; none where it is indented further.
fn top(line: &str) -> Option<&str> {
    let body = line.trim_start_matches(' ');
    (line.len() - body.len() <= 3 && !body.starts_with('\t')).then_some(body)
}

/// The line, with what would be structure of the reply made text.
fn harmless(line: &str) -> String {
    let line = without_definition(line);
    let Some(body) = top(&line) else { return line };
    let level = body.chars().take_while(|c| *c == '#').count();
    if (1..=6).contains(&level) && body[level..].chars().next().is_none_or(char::is_whitespace) {
        // Below the smallest heading of a reply, and still in its order.
        return format!("{}{}", "#".repeat((level + 3).min(6)), &body[level..]);
    }
    if is_rule(body) || is_tag(body) { format!("\\{body}") } else { line }
}

/// A rule, or what makes a heading of the line above.
fn is_rule(body: &str) -> bool {
    let first = body.chars().next().filter(|c| matches!(c, '-' | '=' | '_' | '*'));
    first.is_some_and(|first| body.chars().all(|c| c == first || c.is_whitespace()))
}

/// The beginning of HTML, which may swallow what follows; an address in `<…>` is not HTML.
fn is_tag(body: &str) -> bool {
    let Some(inner) = body.strip_prefix('<') else { return false };
    let address = ["http://", "https://"].iter().any(|scheme| inner.starts_with(scheme));
    !address && inner.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '/' | '!' | '?'))
}

/// The line with `[1]: https://…` made text, in lists and quotes too: it would be the target of every
/// `[1]` of the reply.
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
