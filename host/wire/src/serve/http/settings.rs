//! HTTP server settings: host names and web origins, as in headers, connections and timeouts.

use std::{
    net::{IpAddr, Ipv6Addr},
    ops::RangeInclusive,
    time::Duration,
};

use gatehouse_core::names::quoted;
use http::uri::Authority;
use ipnet::IpNet;

pub const MAX_CONNECTIONS: usize = 1_000;

const CONNECTION_RANGE: RangeInclusive<usize> = 8..=65_536;

const MIN_TIMEOUT: Duration = Duration::from_millis(100);

/// Maximum of timeouts within a request.
const MAX_TIMEOUT: Duration = Duration::from_secs(10 * 60);

/// Maximum time between two requests.
const MAX_IDLE_TIMEOUT: Duration = Duration::from_secs(3600);

/// Error of an invalid setting. The message contains the allowed values.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SettingError(pub(crate) String);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpSettings {
    /// Names in the Host header, in addition to loopback names. If empty, a server beyond loopback accepts every name.
    pub hosts: Vec<HostName>,
    /// Web origins that may call. They get CORS headers.
    pub origins: Vec<WebOrigin>,
    /// Proxies whose `X-Forwarded-For` names the client.
    pub trusted_proxies: Vec<IpNet>,
    pub connections: usize,
    /// Time from the connection, or the first byte of a later request, to the end of its headers.
    pub header_timeout: Duration,
    /// Time from the end of the headers to the end of the body.
    pub body_timeout: Duration,
    /// Maximum time without progress while writing a response.
    pub write_timeout: Duration,
    /// Maximum time between two requests on a connection.
    pub idle_timeout: Duration,
    /// Time for running requests to finish during shutdown.
    pub drain: Duration,
    /// Memory limit of the process in bytes. `None` if unlimited.
    pub memory: Option<u64>,
}

impl Default for HttpSettings {
    fn default() -> Self {
        Self {
            hosts: Vec::new(),
            origins: Vec::new(),
            trusted_proxies: Vec::new(),
            connections: MAX_CONNECTIONS,
            header_timeout: Duration::from_secs(10),
            body_timeout: Duration::from_secs(30),
            write_timeout: Duration::from_secs(30),
            // Longer than the connection pools of common clients, so that none sends a request while this side closes.
            idle_timeout: Duration::from_secs(120),
            drain: Duration::from_secs(30),
            memory: None,
        }
    }
}

impl HttpSettings {
    pub fn with_connections(mut self, connections: usize) -> Result<Self, SettingError> {
        if !CONNECTION_RANGE.contains(&connections) {
            let (least, most) = CONNECTION_RANGE.into_inner();
            return Err(SettingError(format!("connections must be {least} to {most}")));
        }
        self.connections = connections;
        Ok(self)
    }

    /// Sets the memory limit of the process, which larger requests share.
    #[must_use]
    pub fn with_memory(self, memory: Option<u64>) -> Self {
        Self { memory, ..self }
    }

    pub fn with_timeout(mut self, name: &str, time: Duration) -> Result<Self, SettingError> {
        let (set, longest) = match name {
            "header_timeout" => (&mut self.header_timeout, MAX_TIMEOUT),
            "body_timeout" => (&mut self.body_timeout, MAX_TIMEOUT),
            "write_timeout" => (&mut self.write_timeout, MAX_TIMEOUT),
            "idle_timeout" => (&mut self.idle_timeout, MAX_IDLE_TIMEOUT),
            "drain" => (&mut self.drain, MAX_TIMEOUT),
            _ => return Err(SettingError(format!("unknown timeout '{name}'"))),
        };
        if !(MIN_TIMEOUT..=longest).contains(&time) {
            let (least, most) = (MIN_TIMEOUT.as_millis(), longest.as_secs());
            return Err(SettingError(format!("{name} must be {least} ms to {most} s")));
        }
        *set = time;
        Ok(self)
    }
}

/// Parses an address or a network of proxies, such as `10.0.0.7` or `10.0.0.0/8`.
pub fn parse_proxy(text: &str) -> Result<IpNet, SettingError> {
    let address = || text.parse::<IpAddr>().map(IpNet::from);
    text.parse::<IpNet>().or_else(|_| address()).map_err(|_| {
        let quoted_proxy = quoted(text, 100);
        SettingError(format!(
            "invalid proxy '{quoted_proxy}': expected an address or a network such as \"10.0.0.7\" or \"10.0.0.0/8\""
        ))
    })
}

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
            let quoted_host = quoted(text, 100);
            SettingError(format!(
                "invalid host '{quoted_host}': expected a name such as \"gatehouse.corp\" or \"localhost:8642\""
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

    /// Returns the names of loopback and of `address`.
    pub(super) fn local(address: IpAddr) -> Vec<Self> {
        let names = ["localhost".into(), "127.0.0.1".into(), "[::1]".into(), literal(address)];
        names.map(|name| Self { name, port: None }).into()
    }

    /// True if a request for `requested` matches this name.
    pub(super) fn covers(&self, requested: &Self) -> bool {
        self.name == requested.name && (self.port.is_none() || self.port == requested.port)
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
            let quoted_origin = quoted(text, 100);
            SettingError(format!(
                "invalid origin '{quoted_origin}': expected an origin such as \"http://localhost:6274\", without a path"
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

    pub(super) fn local(address: IpAddr, port: u16) -> Vec<Self> {
        let hosts = HostName::local(address).into_iter();
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
    fn what_is_out_of_bounds_says_them() {
        let settings = HttpSettings::default;
        let few = settings().with_connections(7);
        assert_eq!(few, Err(SettingError("connections must be 8 to 65536".into())));
        let never = settings().with_timeout("idle_timeout", Duration::from_secs(3601));
        assert_eq!(never, Err(SettingError("idle_timeout must be 100 ms to 3600 s".into())));
        assert!(settings().with_timeout("header_timeout", Duration::ZERO).is_err());
        let d = settings();
        let times = [
            ("header_timeout", d.header_timeout),
            ("body_timeout", d.body_timeout),
            ("write_timeout", d.write_timeout),
            ("idle_timeout", d.idle_timeout),
            ("drain", d.drain),
        ];
        let again = settings().with_connections(d.connections);
        let again =
            times.into_iter().try_fold(again.expect("allowed"), |s, (name, time)| s.with_timeout(name, time));
        assert_eq!(again, Ok(d), "the defaults are allowed");
    }

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
