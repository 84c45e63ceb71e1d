//! Header validation, and the headers that only the host may set.

/// Headers that frame or route a message. The host drops them from a gate's request.
const FRAMING_HEADERS: [&str; 11] = [
    "accept-encoding",
    "connection",
    "content-length",
    "expect",
    "host",
    "http2-settings",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Headers that a browser drops on a redirect to another origin.
const CREDENTIAL_HEADERS: [&str; 2] = ["authorization", "cookie"];

/// Returns true for headers that only the HTTP client may set.
pub fn is_framing(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    FRAMING_HEADERS.contains(&name.as_str()) || name.starts_with("proxy-")
}

pub fn is_credential_header(name: &str) -> bool {
    CREDENTIAL_HEADERS.iter().any(|personal| personal.eq_ignore_ascii_case(name))
}

/// Returns true for a field name (a token, RFC 9110 section 5.6.2) of at most 256 bytes.
pub fn is_name(name: &str) -> bool {
    let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    (1..=256).contains(&name.len()) && name.bytes().all(token)
}

/// Returns true for a field value (RFC 9110 section 5.5): no control characters except tab.
pub fn is_value(value: &[u8]) -> bool {
    value.iter().all(|byte| *byte == b'\t' || (*byte >= b' ' && *byte != 0x7f))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gate_cannot_frame_the_message() {
        for name in ["Host", "content-length", "Transfer-Encoding", "Proxy-Authorization", "TE"] {
            assert!(is_framing(name), "{name}");
        }
        assert!(!is_framing("Cookie") && !is_framing("Authorization"));
        assert!(
            is_credential_header("cookie")
                && is_credential_header("Authorization")
                && !is_credential_header("accept")
        );
    }

    #[test]
    fn a_line_cannot_be_broken() {
        assert!(is_name("X-Api-Key") && !is_name("X Api") && !is_name("") && !is_name("a\r\nb"));
        assert!(is_value(b"Bearer abc\t1") && !is_value(b"a\r\nHost: b") && !is_value(b"a\0"));
    }
}
