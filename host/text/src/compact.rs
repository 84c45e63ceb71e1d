//! Says a text in fewer tokens and leaves nothing out.

use gatehouse_core::ports::{
    TokenCounter,
    text::{Compact, Encoding},
};

use crate::Tokens;

/// Bytes of the longest text that is tried: both forms are counted, and what is longer gets a digest anyway.
const MOST: usize = 256 << 10;

/// See [`gatehouse_core::ports::Text::compact`].
pub(crate) fn compact(text: &str) -> Option<Compact> {
    if text.len() > MOST {
        return None;
    }
    let form = minified(text)?;
    let tokens_in = Tokens.count(text, Encoding::O200k);
    let tokens_out = Tokens.count_up_to(&form, tokens_in.checked_sub(1)?, Encoding::O200k)?;
    Some(Compact {
        text: form,
        tokens_in: u32::try_from(tokens_in).ok()?,
        tokens_out: u32::try_from(tokens_out).ok()?,
    })
}

/// JSON without the blanks between its parts.
fn minified(text: &str) -> Option<String> {
    serde_json::from_str::<serde::de::IgnoredAny>(text).ok()?;
    let mut out = String::with_capacity(text.len());
    let (mut inside, mut escaped) = (false, false);
    for c in text.chars() {
        if inside {
            (inside, escaped) = (escaped || c != '"', !escaped && c == '\\');
        } else if matches!(c, ' ' | '\n' | '\r' | '\t') {
            continue;
        } else {
            inside = c == '"';
        }
        out.push(c);
    }
    Some(out)
}
