//! Helpers for JSON between the script and the host.

/// Maximum depth of JSON, because the engine parses recursively.
const MAX_DEPTH: usize = 400;

/// Returns whether JSON is nested too deeply for the engine. Ignores brackets in strings.
pub(super) fn is_deep(json: &str) -> bool {
    let (mut depth, mut in_string, mut escaped) = (0usize, false, false);
    for byte in json.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'[' | b'{' if !in_string => {
                depth += 1;
                if depth > MAX_DEPTH {
                    return true;
                }
            }
            b']' | b'}' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    false
}

/// Replaces escapes of lone surrogates, which JavaScript writes but other parsers reject.
pub(super) fn well_formed(json: String) -> String {
    if !json.contains("\\ud") {
        return json;
    }
    let mut out = String::with_capacity(json.len());
    let mut rest = json.as_str();
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        // An escape has two bytes, or six for `\uXXXX`. The engine only writes `\ud…` for lone surrogates.
        let half = rest[at..].starts_with("\\ud");
        let end = if half { at + 6 } else { at + 2 };
        out.push_str(if half { "\u{fffd}" } else { rest.get(at..end).unwrap_or_default() });
        rest = rest.get(end..).unwrap_or_default();
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_is_counted_outside_of_strings() {
        assert!(is_deep(&"[".repeat(100_000)));
        assert!(!is_deep(&format!("\"{}\\\"\"", "[".repeat(100_000))));
        assert!(!is_deep(&"[]".repeat(10_000)));
    }

    #[test]
    fn halves_of_characters_are_replaced() {
        assert_eq!(well_formed(r#""a\ud83db\\ud83d\n""#.into()), "\"a\u{fffd}b\\\\ud83d\\n\"");
    }
}
