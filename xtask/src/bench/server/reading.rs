//! Facts from a reply line without a full parse.

use serde_json::Value;

/// Returns the id of a reply. `None` for a notification. Servers write the id near the start.
pub(super) fn id(line: &[u8]) -> Option<u64> {
    let start = &line[..line.len().min(64)];
    if let Some(at) = start.windows(5).position(|window| window == b"\"id\":") {
        let digits = line[at + 5..].split(|byte| !byte.is_ascii_digit()).next()?;
        if let Some(id) = std::str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok()) {
            return Some(id);
        }
    }
    serde_json::from_slice::<Value>(line).ok()?["id"].as_u64()
}

pub(super) fn is_echo(reply: &[u8], id: u64) -> bool {
    let Ok(reply) = std::str::from_utf8(reply) else { return false };
    reply.contains(&format!("echo {id} back")) && !reply.contains("\"isError\":true")
}

#[cfg(test)]
mod tests {
    use super::{id, is_echo};

    #[test]
    fn ids_are_found_wherever_a_server_writes_them() {
        assert_eq!(id(br#"{"jsonrpc":"2.0","id":17,"result":{}}"#), Some(17));
        let late = format!(r#"{{"jsonrpc":"2.0","result":{{"text":"{}"}},"id":18}}"#, "x".repeat(100));
        assert_eq!(id(late.as_bytes()), Some(18));
        assert_eq!(id(br#"{"jsonrpc":"2.0","method":"notifications/message"}"#), None);
        assert_eq!(id(br#"{"jsonrpc":"2.0","id":null,"error":{}}"#), None);
    }

    #[test]
    fn an_error_is_no_echo() {
        assert!(is_echo(br#"{"id":1,"result":{"content":[{"text":"echo 1 back"}],"isError":false}}"#, 1));
        assert!(!is_echo(br#"{"id":1,"result":{"content":[{"text":"echo 1 back"}],"isError":true}}"#, 1));
        assert!(!is_echo(br#"{"id":1,"result":{"content":[{"text":"echo 2 back"}]}}"#, 1));
    }
}
