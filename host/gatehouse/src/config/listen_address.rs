//! Addresses to listen on, of `--http` and `[admin]`.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use super::PlainError;

/// Parses `127.0.0.1:8642`, `localhost:8642`, `:8642`, `8642`, or any of them as a URL.
///
/// Other names than `localhost` are refused: the current result of a lookup would decide who can reach the host.
pub(crate) fn listen_address(typed: &str) -> Result<SocketAddr, PlainError> {
    let bare = typed.trim().trim_start_matches("http://").trim_end_matches('/');
    let bare = bare.strip_suffix("/mcp").unwrap_or(bare);
    if let Ok(address) = bare.parse() {
        return Ok(address);
    }
    let loopback = IpAddr::from(Ipv4Addr::LOCALHOST);
    let (host, port) = bare.rsplit_once(':').unwrap_or(("", bare));
    let is_localhost = host.is_empty() || host.eq_ignore_ascii_case("localhost");
    match port.parse() {
        Ok(port) if is_localhost => Ok(SocketAddr::new(loopback, port)),
        _ => Err("write an IP address and a port, for example 127.0.0.1:8642, localhost:8642 or 8642".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_notations_are_addresses() {
        for typed in [
            "127.0.0.1:8720",
            "localhost:8720",
            "LOCALHOST:8720",
            ":8720",
            "8720",
            " 8720",
            "http://localhost:8720/mcp",
            "http://127.0.0.1:8720/",
        ] {
            assert_eq!(
                listen_address(typed).map(|address| address.to_string()).as_deref(),
                Ok("127.0.0.1:8720"),
                "{typed}"
            );
        }
        assert_eq!(listen_address("[::1]:0").map(|address| address.to_string()).as_deref(), Ok("[::1]:0"));
        assert_eq!(
            listen_address("0.0.0.0:1").map(|address| address.to_string()).as_deref(),
            Ok("0.0.0.0:1")
        );
        for typed in [
            "",
            "localhost",
            "example.com:80",
            "127.0.0.1",
            "127.0.0.1:99999",
            "https://localhost:1",
            "::1:1:",
        ] {
            assert!(listen_address(typed).is_err(), "{typed}");
        }
    }
}
