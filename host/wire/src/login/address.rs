//! URLs of a login: the resource that it is bound to, and the URLs that metadata may send the host to. Metadata is
//! untrusted, so its URLs must be https at public addresses, unless presets.toml names the host.

use std::net::IpAddr;

use gatehouse_core::{
    Fault,
    http::{AddressScope, address::is_public},
    names::quoted,
};
use gatehouse_net::Url;

const MAX_URL: usize = 2048;

/// URL that may be requested, and the addresses that its host may resolve to.
#[derive(Debug, Clone)]
pub(super) struct LoginTarget {
    pub(super) url: Url,
    pub(super) reach: AddressScope,
}

/// Hosts that presets.toml names for one login.
pub(super) struct NamedHosts {
    hosts: Vec<String>,
    loopback: bool,
}

impl NamedHosts {
    pub(super) fn new<'a>(urls: impl IntoIterator<Item = &'a Url>) -> Self {
        let hosts: Vec<String> =
            urls.into_iter().filter_map(|url| Some(url.host_str()?.to_owned())).collect();
        let loopback = hosts.iter().any(|host| is_loopback(host));
        Self { hosts, loopback }
    }

    /// Checks a URL. `what` starts the error message, such as `the token endpoint of a.example`.
    ///
    /// # Errors
    /// `denied`, with the reason.
    pub(super) fn check(&self, text: &str, what: &str) -> Result<LoginTarget, Fault> {
        let bad = |why: &str| Fault::denied(format!("refusing {what}: '{}' {why}", quoted(text, 200)));
        if text.len() > MAX_URL {
            return Err(bad("is too long"));
        }
        let url = Url::parse(text).map_err(|_| bad("is not a URL"))?;
        let host = url.host_str().unwrap_or_default();
        let loopback = is_loopback(host);
        match url.scheme() {
            "https" => {}
            "http" if loopback => {}
            _ => return Err(bad("does not start with https://")),
        }
        if !url.username().is_empty() || url.password().is_some() || url.fragment().is_some() {
            return Err(bad("has a user name, a password or a fragment"));
        }
        let named = self.hosts.iter().any(|one| one == host) || (loopback && self.loopback);
        let local = loopback || literal(host).is_some_and(|address| !is_public(address));
        if local && !named {
            return Err(bad("is in a private network").hint(NAME_IT));
        }
        Ok(LoginTarget { reach: if named { AddressScope::Any } else { AddressScope::Public }, url })
    }
}

pub(super) const NAME_IT: &str = "If the authorization server is in your network, set its URL as issuer in \
[servers.<name>.oauth] of presets.toml.";

fn literal(host: &str) -> Option<IpAddr> {
    host.trim_start_matches('[').trim_end_matches(']').parse().ok()
}

pub(super) fn is_loopback(host: &str) -> bool {
    host == "localhost" || literal(host).is_some_and(|address| address.is_loopback())
}

/// Returns the resource that a login is bound to: scheme, host, port and path of the server.
pub(super) fn resource(url: &Url) -> String {
    let mut resource = url.clone();
    resource.set_query(None);
    resource.set_fragment(None);
    resource.into()
}

/// True if the server at `url` belongs to the resource: same origin, and the same path or one below it.
pub(super) fn covers(resource: &Url, url: &Url) -> bool {
    let (of, path) = (resource.path().trim_end_matches('/'), url.path());
    let below = path.strip_prefix(of).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    resource.origin() == url.origin() && below
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).expect("a URL")
    }

    #[test]
    fn documents_of_public_servers_lead_to_public_addresses_over_https() {
        let named = NamedHosts::new([&url("https://mcp.example/mcp")]);
        let reach = |text: &str| named.check(text, "It").map(|target| target.reach).ok();
        assert_eq!(reach("https://auth.example/token"), Some(AddressScope::Public));
        assert_eq!(reach("https://mcp.example:8443/token"), Some(AddressScope::Any));
        for bad in [
            "http://auth.example/token",
            "http://mcp.example/token",
            "ftp://auth.example/",
            "file:///etc/passwd",
            "https://127.0.0.1/",
            "http://localhost:8080/",
            "https://[::1]/",
            "https://169.254.169.254/latest",
            "https://0x7f.1/",
            "https://2130706433/",
            "https://10.0.0.1/",
            "https://u:p@auth.example/",
            "https://auth.example/#x",
            "auth.example",
        ] {
            assert_eq!(reach(bad), None, "{bad}");
        }
        assert_eq!(reach(&format!("https://auth.example/{}", "x".repeat(MAX_URL))), None);
    }

    #[test]
    fn what_presets_toml_names_may_be_private() {
        let named = NamedHosts::new([&url("http://127.0.0.1:1/mcp"), &url("https://sso.corp")]);
        let reach = |text: &str| named.check(text, "It").map(|target| target.reach).ok();
        assert_eq!(reach("http://localhost:9/x"), Some(AddressScope::Any));
        assert_eq!(reach("https://sso.corp/x"), Some(AddressScope::Any));
        assert_eq!(reach("https://other.corp/x"), Some(AddressScope::Public));
        assert_eq!(reach("https://10.0.0.1/x"), None);
    }

    #[test]
    fn a_resource_covers_what_lies_below_it() {
        let covered = |resource: &str, server: &str| covers(&url(resource), &url(server));
        assert!(covered("https://a.example", "https://a.example/mcp"));
        assert!(covered("https://a.example/mcp/", "https://a.example:443/mcp"));
        for (resource, server) in [
            ("https://a.example/mcp", "https://a.example/mcp2"),
            ("https://a.example/mcp/x", "https://a.example/mcp"),
            ("https://a.example", "http://a.example"),
            ("https://a.example", "https://a.example:444"),
            ("https://a.example", "https://a.example.evil"),
        ] {
            assert!(!covered(resource, server), "{resource} {server}");
        }
        assert_eq!(resource(&url("https://A.example:443/Mcp?x=1#y")), "https://a.example/Mcp");
    }
}
