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
    pub(super) scope: AddressScope,
}

/// Hosts that presets.toml names for one login.
pub(super) struct ConfiguredHosts {
    hosts: Vec<String>,
    loopback: bool,
}

impl ConfiguredHosts {
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
            return Err(bad("is in a private network").hint(PRIVATE_ISSUER_HINT));
        }
        Ok(LoginTarget { scope: if named { AddressScope::Any } else { AddressScope::Public }, url })
    }
}

pub(super) const PRIVATE_ISSUER_HINT: &str = "If the authorization server is in your network, set its URL as issuer in \
[servers.<name>.oauth] of presets.toml. For an identity provider, set it in [servers.<name>.oauth.identity_provider].";

fn literal(host: &str) -> Option<IpAddr> {
    host.trim_start_matches('[').trim_end_matches(']').parse().ok()
}

pub(crate) fn is_loopback(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost") || literal(host).is_some_and(|address| address.is_loopback())
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
mod tests;
