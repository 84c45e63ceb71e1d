//! The ID of a request with invalid values, which `serde_json` rejects.

use serde_json::{Deserializer, Value};

/// Maximum nesting of objects and arrays that `serde_json` parses.
pub(super) const MAX_DEPTH: usize = 127;

/// Outline of a message, read from its punctuation. Its values may be invalid.
#[derive(Debug, Default, PartialEq)]
pub(super) struct MessageOutline {
    /// Request ID. `None` if there is no method, no ID, or more than one.
    pub(super) request_id: Option<Value>,
    /// ID of the request that this message answers. `None` if there is a method, no ID, or more than one.
    pub(super) response_id: Option<Value>,
    pub(super) depth: usize,
}

impl MessageOutline {
    pub(super) fn new(text: &[u8]) -> Self {
        let (mut depth, mut deepest, mut at) = (0_usize, 0, 0);
        let (mut ids, mut has_method) = (Vec::new(), false);
        let mut last_string: &[u8] = b"";
        while let Some(byte) = text.get(at) {
            at += 1;
            match byte {
                b'"' => {
                    let end = string_end(text, at);
                    last_string = &text[at..end];
                    at = end + 1;
                }
                b'{' | b'[' => {
                    depth += 1;
                    deepest = deepest.max(depth);
                }
                b'}' | b']' => depth = depth.saturating_sub(1),
                b':' if depth == 1 => match last_string {
                    b"id" => ids.push(at),
                    b"method" => has_method = true,
                    _ => {}
                },
                _ => {}
            }
        }
        let id = match ids.as_slice() {
            [at] => id_at(&text[*at..]),
            _ => None,
        };
        let (request_id, response_id) = if has_method { (id, None) } else { (None, id) };
        Self { request_id, response_id, depth: deepest }
    }
}

/// Returns the ID of the request that a message answers. The message may be invalid.
pub(crate) fn response_id(text: &[u8]) -> Option<Value> {
    MessageOutline::new(text).response_id
}

/// Returns the position of the closing quote, or the end of the text.
fn string_end(text: &[u8], mut at: usize) -> usize {
    while let Some(offset) = text.get(at..).and_then(|rest| memchr::memchr2(b'"', b'\\', rest)) {
        if text[at + offset] == b'"' {
            return at + offset;
        }
        at += offset + 2;
    }
    text.len()
}

fn id_at(text: &[u8]) -> Option<Value> {
    let text = text.trim_ascii_start();
    if !matches!(text.first()?, b'"' | b'-' | b'0'..=b'9') {
        return None;
    }
    Deserializer::from_slice(text).into_iter::<Value>().next()?.ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_id_is_read_from_the_top_level_of_requests_only() {
        for (text, id) in [
            (r#"{"jsonrpc":"2.0","id":7,"method":"m","params":{"a":NaN}}"#, Some(json!(7))),
            (r#"{"method":"m","params":{"id":1,"a":["\"}",{"id":2}]},"id" : "x"}"#, Some(json!("x"))),
            (r#"{"id":7,"method":"m","params":{"a":"cut"#, Some(json!(7))),
            (r#"{"id":7,"result":{"method":"m"}}"#, None),
            (r#"{"id":7,"id":8,"method":"m"}"#, None),
            (r#"{"id":[7],"method":"m"}"#, None),
            (r#"[{"id":7,"method":"m"}]"#, None),
            (r#"{"method":"m","params":{"id":7}}"#, None),
            ("}}]]\"", None),
        ] {
            assert_eq!(MessageOutline::new(text.as_bytes()).request_id, id, "{text}");
        }
        let broken = r#"{"result":{"id":1,"a":[NaN,{"id":2}]},"id":7}"#;
        assert_eq!(response_id(broken.as_bytes()), Some(json!(7)));
        assert_eq!(response_id(br#"{"id":7,"method":"m"}"#), None);
        let nested = format!("{}\"[[\"{}", "[".repeat(MAX_DEPTH), "]".repeat(MAX_DEPTH));
        assert_eq!(MessageOutline::new(nested.as_bytes()).depth, MAX_DEPTH);
        assert!(serde_json::from_str::<Value>(&nested).is_ok());
        assert!(serde_json::from_str::<Value>(&format!("[{nested}]")).is_err());
    }
}
