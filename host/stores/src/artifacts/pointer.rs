//! Finds the exact text of the value at a JSON pointer (RFC 6901), in one pass without recursion. Of duplicate keys,
//! the last one counts.

use std::{borrow::Cow, ops::Range};

use gatehouse_core::{names, outcome::Fault};
use serde::de::IgnoredAny;

const MAX_SHOWN_KEYS: usize = 20;

const MAX_SHOWN_CHARS: usize = 80;

/// Returns the byte range of the value at a pointer.
pub(super) fn find(text: &str, pointer: &str) -> Result<Range<usize>, Fault> {
    let tokens = tokens(pointer)?;
    if serde_json::from_str::<IgnoredAny>(text).is_err() {
        return Err(not_json(text));
    }
    let mut walk = JsonWalker {
        text,
        at: 0,
        tokens: &tokens,
        open: Vec::new(),
        found: None,
        reached: 0,
        end: String::new(),
    };
    walk.run();
    let JsonWalker { found, reached, end, .. } = walk;
    found.ok_or_else(|| {
        let led: String = tokens[..reached].iter().map(|token| format!("/{}", escaped(token))).collect();
        let place = if reached == 0 {
            "the whole value".to_owned()
        } else {
            format!("'{}'", names::quoted(&led, MAX_SHOWN_CHARS))
        };
        let missing = names::quoted(pointer, MAX_SHOWN_CHARS);
        Fault::not_found(format!("'{missing}' not found: {place} is {end}"))
    })
}

pub(super) fn not_json(text: &str) -> Fault {
    let reason = serde_json::from_str::<IgnoredAny>(text).err();
    let reason = reason.map(|error| format!(": {error}")).unwrap_or_default();
    Fault::invalid(format!("cannot resolve a pointer, because the text is not JSON{reason}"))
        .hint("Read it by lines or characters.")
}

/// Splits a pointer into its unescaped tokens.
fn tokens(pointer: &str) -> Result<Vec<String>, Fault> {
    if pointer.is_empty() {
        return Ok(Vec::new());
    }
    let Some(rest) = pointer.strip_prefix('/') else {
        let message = format!("invalid JSON pointer '{}'", names::quoted(pointer, MAX_SHOWN_CHARS));
        return Err(Fault::invalid(message)
            .hint("A pointer starts with '/', such as '/items/3/name'; '' is the whole value."));
    };
    Ok(rest.split('/').map(|token| token.replace("~1", "/").replace("~0", "~")).collect())
}

fn escaped(token: &str) -> String {
    token.replace('~', "~0").replace('/', "~1")
}

struct JsonWalker<'a> {
    text: &'a str,
    at: usize,
    tokens: &'a [String],
    /// Open containers on the path of the pointer.
    open: Vec<JsonContainer<'a>>,
    found: Option<Range<usize>>,
    /// Number of leading tokens that resolve.
    reached: usize,
    /// Description of the value that they resolve to.
    end: String,
}

struct JsonContainer<'a> {
    is_object: bool,
    members: usize,
    /// The first keys, up to [`MAX_SHOWN_KEYS`].
    keys: Vec<Cow<'a, str>>,
}

impl<'a> JsonWalker<'a> {
    fn run(&mut self) {
        self.value();
        loop {
            let level = self.open.len();
            let Some(container) = self.open.last_mut() else { return };
            match self.text.as_bytes()[skip_space(self.text, &mut self.at)] {
                b'}' | b']' => {
                    self.at += 1;
                    let over = self.open.pop();
                    if self.reached == self.open.len()
                        && let Some(over) = over
                    {
                        self.end = over.describe();
                    }
                }
                b',' => self.at += 1,
                _ => {
                    if container.advance_to(self.text, &mut self.at, &self.tokens[level - 1]) {
                        self.value();
                    } else {
                        skip_value(self.text, &mut self.at);
                    }
                }
            }
        }
    }

    /// Reads a value on the path of the pointer. Resets the result, because the last duplicate key counts.
    fn value(&mut self) {
        let begin = skip_space(self.text, &mut self.at);
        self.reached = self.open.len();
        self.found = None;
        let first = self.text.as_bytes()[begin];
        if self.reached == self.tokens.len() {
            skip_value(self.text, &mut self.at);
            self.found = Some(begin..self.at);
        } else if first == b'{' || first == b'[' {
            self.at += 1;
            self.open.push(JsonContainer { is_object: first == b'{', members: 0, keys: Vec::new() });
        } else {
            skip_value(self.text, &mut self.at);
            self.end = match first {
                b'"' => "a string",
                b't' | b'f' => "a boolean",
                b'n' => "null",
                _ => "a number",
            }
            .to_owned();
        }
    }
}

impl<'a> JsonContainer<'a> {
    /// Advances to the value of the next member. Returns true if it matches the token.
    fn advance_to(&mut self, text: &'a str, at: &mut usize, token: &str) -> bool {
        self.members += 1;
        if !self.is_object {
            return token.parse() == Ok(self.members - 1) && is_number(token);
        }
        let begin = *at;
        skip_value(text, at);
        let key = unquoted(&text[begin..*at]);
        skip_space(text, at);
        *at += 1;
        let is_match = key == token;
        if self.keys.len() < MAX_SHOWN_KEYS {
            self.keys.push(key);
        }
        is_match
    }

    fn describe(&self) -> String {
        if !self.is_object {
            return match self.members {
                0 => "an empty array".into(),
                1 => "an array with one value, index 0".into(),
                members => format!("an array of {members} values, indexes 0 to {}", members - 1),
            };
        }
        let keys: Vec<String> =
            self.keys.iter().map(|key| format!("'{}'", names::quoted(key, MAX_SHOWN_CHARS))).collect();
        match self.members.saturating_sub(keys.len()) {
            _ if keys.is_empty() => "an empty object".into(),
            0 => format!("an object with the keys {}", keys.join(", ")),
            more => format!("an object with the keys {} and {more} more", keys.join(", ")),
        }
    }
}

/// Returns true for an RFC 6901 array index: digits only, without leading zeros.
fn is_number(token: &str) -> bool {
    token.bytes().all(|byte| byte.is_ascii_digit()) && (token.len() == 1 || !token.starts_with('0'))
}

fn unquoted(key: &str) -> Cow<'_, str> {
    let plain = key.get(1..key.len().saturating_sub(1)).unwrap_or_default();
    if plain.contains('\\') {
        // A lone surrogate is not valid text, so no pointer can name it.
        return serde_json::from_str::<String>(key).map_or(Cow::Borrowed(plain), Cow::Owned);
    }
    Cow::Borrowed(plain)
}

fn skip_space(text: &str, at: &mut usize) -> usize {
    let space = text.as_bytes()[*at..].iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r'));
    *at += space.count();
    *at
}

fn skip_value(text: &str, at: &mut usize) {
    let bytes = text.as_bytes();
    skip_space(text, at);
    let mut depth = 0_usize;
    while let Some(byte) = bytes.get(*at) {
        match byte {
            b'"' => {
                *at += 1;
                while let Some(byte) = bytes.get(*at).filter(|byte| **byte != b'"') {
                    *at += if *byte == b'\\' { 2 } else { 1 };
                }
                *at += 1;
            }
            b'{' | b'[' => {
                depth += 1;
                *at += 1;
            }
            // At depth 0, this closes the container that holds the value.
            b'}' | b']' if depth == 0 => return,
            b'}' | b']' => {
                depth -= 1;
                *at += 1;
            }
            b',' | b' ' | b'\t' | b'\n' | b'\r' if depth == 0 => return,
            _ => {
                *at += 1;
                continue;
            }
        }
        if depth == 0 {
            return;
        }
    }
}

#[cfg(test)]
mod tests;
