//! The value at a JSON pointer (RFC 6901) as it stands in a text: no number is rewritten and no key changes its place.
//!
//! One pass, however deep the pointer and the text are. Where an object has a key twice the last one counts, as it does
//! for nearly every reader of JSON.

use std::{borrow::Cow, ops::Range};

use gatehouse_core::{names, outcome::Fault};
use serde::de::IgnoredAny;

/// Keys that are shown where a pointer leads nowhere.
const MAX_SHOWN_KEYS: usize = 20;

/// Letters of a key, or of a pointer, that are shown.
const MAX_SHOWN_CHARS: usize = 80;

/// Where the value is.
///
/// # Errors
/// `invalid-arguments` where the pointer is none, or the text no JSON; `not-found` where there is no such value.
pub(super) fn find(text: &str, pointer: &str) -> Result<Range<usize>, Fault> {
    let tokens = tokens(pointer)?;
    if let Err(error) = serde_json::from_str::<IgnoredAny>(text) {
        return Err(Fault::invalid(format!("It is not JSON, so no pointer leads into it: {error}."))
            .hint("Read it by lines or characters."));
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
            "the whole".to_owned()
        } else {
            format!("'{}'", names::quoted(&led, MAX_SHOWN_CHARS))
        };
        let missing = names::quoted(pointer, MAX_SHOWN_CHARS);
        Fault::not_found(format!("There is no '{missing}' in it: {place} is {end}."))
    })
}

/// The names and numbers that a pointer is made of.
fn tokens(pointer: &str) -> Result<Vec<String>, Fault> {
    if pointer.is_empty() {
        return Ok(Vec::new());
    }
    let Some(rest) = pointer.strip_prefix('/') else {
        let message = format!("'{}' is no JSON pointer.", names::quoted(pointer, MAX_SHOWN_CHARS));
        return Err(
            Fault::invalid(message).hint("It begins with '/', for example '/items/3/name'; '' is the whole.")
        );
    };
    Ok(rest.split('/').map(|token| token.replace("~1", "/").replace("~0", "~")).collect())
}

fn escaped(token: &str) -> String {
    token.replace('~', "~0").replace('/', "~1")
}

/// A way through a text that is known to be JSON.
struct JsonWalker<'a> {
    text: &'a str,
    at: usize,
    tokens: &'a [String],
    /// The containers on the way of the pointer that are not over yet.
    open: Vec<JsonContainer<'a>>,
    found: Option<Range<usize>>,
    /// How many tokens lead to something.
    reached: usize,
    /// What that is.
    end: String,
}

/// An object or an array.
struct JsonContainer<'a> {
    is_object: bool,
    /// Members so far.
    members: usize,
    /// Their first keys.
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

    /// A value that the pointer leads to or through; of those with the same key the last one counts.
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
                b'"' => "a text",
                b't' | b'f' => "true or false",
                b'n' => "null",
                _ => "a number",
            }
            .to_owned();
        }
    }
}

impl<'a> JsonContainer<'a> {
    /// Goes to the value of the next member; says whether it is the one that is wanted.
    fn advance_to(&mut self, text: &'a str, at: &mut usize, token: &str) -> bool {
        self.members += 1;
        if !self.is_object {
            return token.parse() == Ok(self.members - 1) && is_number(token);
        }
        let begin = *at;
        skip_value(text, at);
        let key = unquoted(&text[begin..*at]);
        skip_space(text, at);
        // The colon.
        *at += 1;
        let wanted = key == token;
        if self.keys.len() < MAX_SHOWN_KEYS {
            self.keys.push(key);
        }
        wanted
    }

    /// For people.
    fn describe(&self) -> String {
        if !self.is_object {
            return match self.members {
                0 => "an empty array".into(),
                1 => "an array with one value, number 0".into(),
                members => format!("an array of {members} values, numbers 0 to {}", members - 1),
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

/// Whether a token is a number as pointers have them: no sign, and no zero before it.
fn is_number(token: &str) -> bool {
    token.bytes().all(|byte| byte.is_ascii_digit()) && (token.len() == 1 || !token.starts_with('0'))
}

/// A key as it is meant.
fn unquoted(key: &str) -> Cow<'_, str> {
    let plain = key.get(1..key.len().saturating_sub(1)).unwrap_or_default();
    if plain.contains('\\') {
        // A lone surrogate is no text; no pointer can name it.
        return serde_json::from_str::<String>(key).map_or(Cow::Borrowed(plain), Cow::Owned);
    }
    Cow::Borrowed(plain)
}

/// Goes past white space; gives where it ends.
fn skip_space(text: &str, at: &mut usize) -> usize {
    let space = text.as_bytes()[*at..].iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r'));
    *at += space.count();
    *at
}

/// Goes past a value.
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
            // Where nothing is open, it ends the container that the value is in.
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
