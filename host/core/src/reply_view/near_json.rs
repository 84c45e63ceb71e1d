//! Converts what is almost JSON: `NaN` and infinities, comments, trailing commas, and the values that Python prints.
//!
//! The caller parses the result, so a text that is something else is refused there.

use super::json_token::string_end;

/// Words of JavaScript and Python, and what they are in JSON. An infinity is the largest number, as in jq.
const WORDS: [(&str, &str); 7] = [
    ("NaN", "null"),
    ("nan", "null"),
    ("Infinity", LARGEST),
    ("inf", LARGEST),
    ("None", "null"),
    ("True", "true"),
    ("False", "false"),
];

const LARGEST: &str = "1.7976931348623157e308";

/// Converts a text. `None` if it does not look like JSON, or is too far from it.
pub fn converted(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let mut out = String::with_capacity(text.len());
    let (mut at, mut has_begun) = (0, false);
    while at < bytes.len() {
        let start = out.len();
        match bytes[at] {
            quote @ (b'"' | b'\'') => {
                let end = string_end(bytes, at, quote);
                let literal = text.get(at..end)?;
                match quote {
                    b'"' => out.push_str(literal),
                    _ => push_python_string(literal.strip_prefix('\'')?.strip_suffix('\'')?, &mut out)?,
                }
                at = end;
            }
            b'/' => match bytes.get(at + 1)? {
                b'/' => at += text[at..].find('\n').unwrap_or(text.len() - at),
                b'*' => at += 2 + text[at + 2..].find("*/")? + 2,
                _ => return None,
            },
            b']' | b'}' => {
                // A comma before the bracket.
                let end = out.trim_ascii_end().len();
                let before = out[..end].strip_suffix(',').map(str::trim_ascii_end);
                if before.is_some_and(|before| !before.ends_with(['[', '{', ','])) {
                    out.truncate(end - 1);
                }
                out.push(char::from(bytes[at]));
                at += 1;
            }
            byte if byte.is_ascii_alphabetic() => {
                let length = bytes[at..].iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
                let word = &text[at..at + length];
                let json_word = WORDS.iter().find(|(from, _)| *from == word).map(|(_, to)| *to);
                if json_word == Some("null") && out.ends_with('-') {
                    out.pop();
                }
                out.push_str(json_word.unwrap_or(word));
                at += length;
            }
            // Text outside strings is ASCII in all of these forms.
            byte if byte.is_ascii() => {
                out.push(char::from(byte));
                at += 1;
            }
            _ => return None,
        }
        // Prose is given up at its first word.
        let added = out.get(start..).unwrap_or_default().trim_ascii_start();
        if !has_begun && !added.is_empty() {
            has_begun = true;
            if !added.starts_with(['{', '[', super::RECORD_SEPARATOR]) {
                return None;
            }
        }
    }
    (out != text).then_some(out)
}

/// Appends the content of a Python string in single quotes as a JSON string.
fn push_python_string(content: &str, out: &mut String) -> Option<()> {
    out.push('"');
    let mut rest = content.chars();
    while let Some(c) = rest.next() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => match rest.next()? {
                '\'' => out.push('\''),
                'x' => {
                    let digits: String = rest.by_ref().take(2).collect();
                    let code = u8::from_str_radix(&digits, 16).ok().filter(|_| digits.len() == 2)?;
                    out.push_str(&format!("\\u{code:04x}"));
                }
                escape @ ('n' | 't' | 'r' | '\\' | '"' | 'u') => out.extend(['\\', escape]),
                _ => return None,
            },
            c => out.push(c),
        }
    }
    out.push('"');
    Some(())
}
