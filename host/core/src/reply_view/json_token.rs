//! The tokens of valid JSON, in one pass without recursion.

use std::ops::Range;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum JsonTokenKind {
    Open,
    Close,
    Comma,
    Key,
    String,
    /// A number, `true`, `false` or `null`.
    Word,
}

pub(super) struct JsonTokens<'a> {
    json: &'a str,
    at: usize,
}

pub(super) fn tokens(json: &str) -> JsonTokens<'_> {
    JsonTokens { json, at: 0 }
}

/// Returns the end of the string literal that starts at `start`, or of the text.
pub(super) fn string_end(text: &[u8], start: usize, quote: u8) -> usize {
    let mut at = start + 1;
    while at < text.len() {
        match text[at] {
            b'\\' => at += 2,
            byte if byte == quote => return at + 1,
            _ => at += 1,
        }
    }
    text.len()
}

impl Iterator for JsonTokens<'_> {
    type Item = (JsonTokenKind, Range<usize>);

    fn next(&mut self) -> Option<Self::Item> {
        let bytes = self.json.as_bytes();
        let skipped = |byte: &u8| byte.is_ascii_whitespace() || *byte == b':';
        while bytes.get(self.at).is_some_and(skipped) {
            self.at += 1;
        }
        let start = self.at;
        let kind = match bytes.get(start)? {
            b'{' | b'[' => JsonTokenKind::Open,
            b'}' | b']' => JsonTokenKind::Close,
            b',' => JsonTokenKind::Comma,
            b'"' => {
                self.at = string_end(bytes, start, b'"');
                let colon = bytes[self.at..].iter().find(|byte| !byte.is_ascii_whitespace());
                let kind = if colon == Some(&b':') { JsonTokenKind::Key } else { JsonTokenKind::String };
                return Some((kind, start..self.at));
            }
            _ => {
                let ends = |byte: &u8| byte.is_ascii_whitespace() || b",]}".contains(byte);
                self.at = bytes[start..].iter().position(ends).map_or(bytes.len(), |length| start + length);
                return Some((JsonTokenKind::Word, start..self.at));
            }
        };
        self.at += 1;
        Some((kind, start..self.at))
    }
}

/// Returns the place of the longest string that is not a key.
pub(super) fn longest_string(json: &str) -> Option<Range<usize>> {
    let strings = tokens(json).filter(|(kind, _)| *kind == JsonTokenKind::String);
    strings.map(|(_, place)| place).max_by_key(Range::len)
}

/// Returns the JSON pointer to the value at a place.
pub(super) fn pointer_to(json: &str, place: &Range<usize>) -> Option<String> {
    // The path to the token: a key, or the number of an element.
    let mut path: Vec<(Option<&str>, usize)> = Vec::new();
    for (kind, at) in tokens(json) {
        if at.start == place.start {
            let step = |(key, number): (Option<&str>, usize)| match key {
                Some(key) => {
                    let key: String = serde_json::from_str(key).ok()?;
                    Some(format!("/{}", key.replace('~', "~0").replace('/', "~1")))
                }
                None => Some(format!("/{number}")),
            };
            return path.into_iter().map(step).collect();
        }
        match (kind, path.last_mut()) {
            (JsonTokenKind::Open, _) => path.push((None, 0)),
            (JsonTokenKind::Close, _) => drop(path.pop()),
            (JsonTokenKind::Key, Some(step)) => step.0 = Some(&json[at]),
            (JsonTokenKind::Comma, Some(step)) => *step = (None, step.1 + 1),
            _ => {}
        }
    }
    None
}

/// Returns the key and the value of an object with one member.
pub(super) fn only_member(json: &str) -> Option<(String, &str)> {
    let [member] = parts(json, "{", "}")?[..] else { return None };
    let (JsonTokenKind::Key, key) = tokens(member).next()? else { return None };
    let value = member[key.end..].trim_start().strip_prefix(':')?;
    Some((serde_json::from_str(&member[key]).ok()?, value.trim()))
}

/// Returns the elements of a list.
pub(super) fn elements(json: &str) -> Option<Vec<&str>> {
    parts(json, "[", "]")
}

/// Returns what is between the commas of a list or an object.
fn parts<'a>(json: &'a str, open: &str, close: &str) -> Option<Vec<&'a str>> {
    let inside = json.trim().strip_prefix(open)?.strip_suffix(close)?;
    let (mut parts, mut depth, mut start) = (Vec::new(), 0_usize, 0);
    for (kind, place) in tokens(inside) {
        match kind {
            JsonTokenKind::Open => depth += 1,
            JsonTokenKind::Close => depth = depth.checked_sub(1)?,
            JsonTokenKind::Comma if depth == 0 => {
                parts.push(inside[start..place.start].trim());
                start = place.end;
            }
            _ => {}
        }
    }
    parts.extend(Some(inside[start..].trim()).filter(|last| !last.is_empty()));
    Some(parts)
}
