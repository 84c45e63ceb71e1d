//! Host patterns in `[gates.<name>.http]`: `[scheme://][*.]host[:port]`.

use std::fmt;

use url::{Host, Url};

use crate::{InvalidValue, names::quoted};

/// A host and port, or all subdomains of a domain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostPattern {
    is_https: bool,
    /// True if the pattern matches subdomains of `host`, but not `host` itself.
    subdomains: bool,
    /// Domains are lower-case punycode without a trailing dot.
    host: Host,
    port: u16,
}

impl HostPattern {
    /// Parses a key of presets.toml. The error names the fault and shows a valid key.
    pub fn parse(text: &str) -> Result<Self, InvalidValue> {
        let bad = |reason: &str| {
            let display_text = quoted(text, 100);
            Err(format!(
                "'{display_text}' {reason}; write a host such as \"api.example.com\" or \"*.example.com\""
            )
            .into())
        };
        let (scheme, rest) = text.split_once("://").unwrap_or(("https", text));
        if !["http", "https"].contains(&scheme) {
            return bad("has a scheme that is neither http nor https");
        }
        // A URL parser drops some of these characters silently; here they are errors.
        if rest.contains(|c: char| c.is_whitespace() || c.is_control() || "/\\?#@".contains(c)) {
            return bad("is not a host");
        }
        let (subdomains, host) = match rest.strip_prefix("*.") {
            Some(host) => (true, host),
            None => (false, rest),
        };
        if host.contains('*') {
            return bad("has a `*` that is not a leading `*.`");
        }
        match Url::parse(&format!("{scheme}://{host}/")).ok().and_then(|url| Self::from_url(&url)) {
            None => bad("is not a host"),
            Some(key) if subdomains && !matches!(key.host, Host::Domain(_)) => {
                bad("is an IP address, which has no subdomains")
            }
            Some(key) => Ok(Self { subdomains, ..key }),
        }
    }

    /// Returns the pattern that matches exactly the host of `url`.
    pub fn parse_url(url: &str) -> Option<Self> {
        Self::from_url(&Url::parse(url).ok()?)
    }

    /// Returns the pattern that matches exactly the host of `url`. `None` if its scheme is not http or https.
    pub fn from_url(url: &Url) -> Option<Self> {
        let is_https = url.scheme() == "https";
        if !is_https && url.scheme() != "http" {
            return None;
        }
        let host = match url.host()?.to_owned() {
            Host::Domain(name) => {
                let name = name.strip_suffix('.').unwrap_or(&name);
                if name.split('.').any(str::is_empty) {
                    return None;
                }
                Host::Domain(name.to_owned())
            }
            address => address,
        };
        Some(Self { is_https, subdomains: false, host, port: url.port_or_known_default()? })
    }

    /// Returns how specifically this pattern matches the exact host `exact`; higher wins. `None` if it does not match.
    pub(super) fn match_length(&self, exact: &Self) -> Option<usize> {
        if self.is_https != exact.is_https || self.port != exact.port {
            return None;
        }
        match (&self.host, &exact.host) {
            (Host::Domain(suffix), Host::Domain(name)) if self.subdomains => {
                let label = name.strip_suffix(suffix.as_str())?.strip_suffix('.')?;
                (!label.is_empty()).then_some(suffix.len())
            }
            (own, other) => (own == other).then_some(usize::MAX),
        }
    }

    /// Returns true for an IP address or localhost. DNS cannot redirect these, so private addresses are allowed.
    pub(super) fn is_fixed_address(&self) -> bool {
        match &self.host {
            Host::Domain(name) => !self.subdomains && name == "localhost",
            Host::Ipv4(_) | Host::Ipv6(_) => true,
        }
    }
}

impl fmt::Display for HostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (scheme, default_port) = if self.is_https { ("", 443) } else { ("http://", 80) };
        write!(f, "{scheme}{}", if self.subdomains { "*." } else { "" })?;
        match &self.host {
            // `Host` prints the embedded IPv4 address in hexadecimal.
            Host::Ipv6(address) => write!(f, "[{address}]")?,
            host => write!(f, "{host}")?,
        }
        if self.port != default_port {
            write!(f, ":{}", self.port)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        HostPattern::parse(text).map_or_else(|reason| reason.to_string(), |key| key.to_string())
    }

    #[test]
    fn keys_are_made_canonical() {
        let same = [
            ("API.Example.COM.", "api.example.com"),
            ("https://api.example.com:443", "api.example.com"),
            ("http://api.example.com:80", "http://api.example.com"),
            ("http://api.example.com:443", "http://api.example.com:443"),
            ("*.Bücher.example", "*.xn--bcher-kva.example"),
            ("http://0x7f.1:8080", "http://127.0.0.1:8080"),
            ("2130706433", "127.0.0.1"),
            ("017700000001", "127.0.0.1"),
            ("[::FFFF:127.0.0.1]", "[::ffff:127.0.0.1]"),
        ];
        for (text, canonical) in same {
            assert_eq!(shown(text), canonical);
        }
    }

    #[test]
    fn invalid_host_patterns_are_refused() {
        let bad = [
            "",
            "*",
            "*.",
            "*.*.example.com",
            "a.*.com",
            "ftp://a.example",
            "https://",
            "a.example/path",
            "user@a.example",
            "a.example?q",
            "a b.example",
            "a.example:0x50",
            "a.example:99999",
            "a..b",
            "*.127.0.0.1",
            "http:a.example",
            "a\texample.com",
            "1.2.3.4.5",
            "[::1",
            "\\a",
        ];
        for text in bad {
            assert!(HostPattern::parse(text).is_err(), "{text:?} is {}", shown(text));
        }
    }
}
