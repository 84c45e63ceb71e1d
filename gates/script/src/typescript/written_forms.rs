//! Forms in which models write scripts: in a fence, with prose around it, and with an object as the last line.

use std::borrow::Cow;

/// Lines from which an object at the end may start.
const MAX_STARTS: usize = 20;

/// Returns a script as JavaScript reads it, with its lines at their place. `parses` tells whether a text is a script.
pub(super) fn script(source: &str, parses: impl Fn(&str) -> bool) -> Cow<'_, str> {
    let is_fenced = source.trim_start().starts_with("```");
    // Between backticks, a fence is a template.
    let text = match without_fence(source) {
        Some(text) if is_fenced || !parses(source) => Cow::Owned(text),
        _ => Cow::Borrowed(source),
    };
    match returned_object(&text, parses) {
        Some(returned) => Cow::Owned(returned),
        None => text,
    }
}

/// Returns the text in the first fence, with its other lines empty. `None` without a fence.
fn without_fence(source: &str) -> Option<String> {
    let mut fences = 0;
    let lines: Vec<&str> = source
        .split('\n')
        .map(|line| {
            let is_fence = fences < 2 && line.trim_start().starts_with("```");
            fences += usize::from(is_fence);
            if fences == 1 && !is_fence { line } else { "" }
        })
        .collect();
    (fences > 0).then(|| lines.join("\n"))
}

/// Returns the script with `return (…)` around `{ a: 1 }` as its last lines, which JavaScript reads as a block. `None` if
/// they are no object.
fn returned_object(source: &str, parses: impl Fn(&str) -> bool) -> Option<String> {
    let text = source.trim_end().trim_end_matches(';');
    if !text.ends_with('}') {
        return None;
    }
    let starts = text.rmatch_indices('{').map(|(at, _)| at);
    let starts = starts.filter(|at| *at == 0 || text[..*at].ends_with('\n'));
    let start = starts.take(MAX_STARTS).find(|start| is_object(&text[*start..]))?;
    let (before, object) = text.split_at(start);
    parses(&format!("({object})")).then(|| format!("{before}return ({object}){}", &source[text.len()..]))
}

/// Returns whether a text in braces starts like an object: empty, or with a key and a colon, a comma, or `...`.
fn is_object(text: &str) -> bool {
    let inner = text[1..].trim_start();
    if inner.starts_with(['}', '.', '"', '\'', '[']) {
        return true;
    }
    let key = inner.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '$'))).unwrap_or(0);
    key > 0 && inner[key..].trim_start().starts_with([':', ',', '}'])
}
