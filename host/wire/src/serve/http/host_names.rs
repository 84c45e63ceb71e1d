//! Parsing of Host and Origin headers.

use std::net::{IpAddr, Ipv6Addr};

use gatehouse_core::names::quoted;
use http::uri::Authority;

use super::settings::SettingError;

/// A host name. Without a port it matches every port, because ports can be mapped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostName {
    name: String,
    port: Option<u16>,
}

impl HostName {
    /// Parses `name`, `name:port`, an address or `[v6]:port`.
    pub fn parse(text: &str) -> Result<Self, SettingError> {
        let wrong = || {
            let shown = quoted(text, 100);
            SettingError(format!(
                "invalid host '{shown}': expected a name such as \"gatehouse.corp\" or \"localhost:8642\""
            ))
        };
        let authority: Authority = text.parse().map_err(|_| wrong())?;
        // User names and wildcards are not allowed, and `Authority` ignores an invalid port.
        let port = text.rsplit_once(':').filter(|(name, _)| !name.contains(':') || name.ends_with(']'));
        if text.contains(['@', '*']) || port.is_some() != authority.port_u16().is_some() {
            return Err(wrong());
        }
        Ok(Self { name: canonical(authority.host()), port: authority.port_u16() })
    }

    /// Returns the names of loopback, and the address `own`.
    pub(super) fn local(own: IpAddr) -> Vec<Self> {
        let names = ["localhost".into(), "127.0.0.1".into(), "[::1]".into(), literal(own)];
        names.map(|name| Self { name, port: None }).into()
    }

    /// True if a request for `given` matches this name.
    pub(super) fn covers(&self, given: &Self) -> bool {
        self.name == given.name && (self.port.is_none() || self.port == given.port)
    }
}

/// The origin of a web page: scheme, host and port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebOrigin {
    scheme: String,
    host: HostName,
}

impl WebOrigin {
    /// Parses `scheme://host[:port]`.
    pub fn parse(text: &str) -> Result<Self, SettingError> {
        let wrong = || {
            let shown = quoted(text, 100);
            SettingError(format!(
                "invalid origin '{shown}': expected an origin such as \"http://localhost:6274\", without a path"
            ))
        };
        let (scheme, authority) = text.split_once("://").ok_or_else(wrong)?;
        let letters = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
        if !scheme.starts_with(|c: char| c.is_ascii_alphabetic()) || !scheme.chars().all(letters) {
            return Err(wrong());
        }
        let scheme = scheme.to_ascii_lowercase();
        let mut host = HostName::parse(authority).map_err(|_| wrong())?;
        host.port = host.port.or(match scheme.as_str() {
            "http" => Some(80),
            "https" => Some(443),
            _ => None,
        });
        Ok(Self { scheme, host })
    }

    pub(super) fn local(own: IpAddr, port: u16) -> Vec<Self> {
        let hosts = HostName::local(own).into_iter();
        hosts
            .map(|host| Self { scheme: "http".into(), host: HostName { port: Some(port), ..host } })
            .collect()
    }
}

fn literal(address: IpAddr) -> String {
    match address {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => format!("[{address}]"),
    }
}

/// Normalizes a name: lower case, no trailing dot, shortest form of IPv6 addresses.
fn canonical(name: &str) -> String {
    let six = name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    if let Some(address) = six.and_then(|address| address.parse::<Ipv6Addr>().ok()) {
        return literal(address.into());
    }
    name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_without_a_port_means_every_port() {
        let host = |text| HostName::parse(text).expect("a host");
        assert!(host("Gatehouse.corp.").covers(&host("gatehouse.corp:9000")));
        assert!(host("a.example:80").covers(&host("a.example:80")));
        assert!(!host("a.example:80").covers(&host("a.example:81")));
        assert!(!host("a.example:80").covers(&host("a.example")));
        assert!(host("[0:0::1]").covers(&host("[::1]:8642")));
        for wrong in ["", "*", "*.example", "a@localhost", "a.example:", "a.example:99999", "a/b", "a b"] {
            assert!(HostName::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_origin_is_scheme_host_and_port() {
        let origin = |text| WebOrigin::parse(text).expect("an origin");
        assert_eq!(origin("https://App.example"), origin("https://app.example:443"));
        assert_ne!(origin("http://localhost:6274"), origin("http://localhost:6275"));
        assert_ne!(origin("http://localhost"), origin("https://localhost"));
        assert_eq!(origin("vscode-webview://abc"), origin("vscode-webview://abc"));
        for wrong in ["null", "*", "localhost:6274", "http://a.example/", "http://*", "://a", "http://u@a"] {
            assert!(WebOrigin::parse(wrong).is_err(), "{wrong}");
        }
    }
}
