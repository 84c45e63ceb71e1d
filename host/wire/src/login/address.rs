//! URLs of a login: the resource that it is bound to, and the URLs that metadata may send the host to. Metadata is
//! untrusted, so its URLs must be https at public addresses, unless presets.toml names the host.
//!
//! Metadata that combines one company's login page with another's token endpoint would give the code and its verifier to
//! the latter. So presets.toml or the user must confirm endpoints outside the authorization server's own origin.

use std::{collections::BTreeMap, net::IpAddr};

use async_trait::async_trait;
use gatehouse_core::{
    Fault,
    http::{AddressScope, address::is_public},
    names::quoted,
};
use gatehouse_net::Url;

use super::{LoginSettings, login_store::StoredLogin, metadata::AuthorizationServer, parsed};

const MAX_URL: usize = 2048;

/// URL that may be requested, and the addresses that its host may resolve to.
#[derive(Debug, Clone)]
pub(super) struct LoginTarget {
    pub(super) url: Url,
    pub(super) scope: AddressScope,
}

/// Hosts that presets.toml names for one login, with their ports. Another port of this machine is another server; another
/// port of a name must have a certificate for it.
pub(super) struct ConfiguredHosts {
    hosts: Vec<(String, Option<u16>)>,
}

impl ConfiguredHosts {
    pub(super) fn new<'a>(urls: impl IntoIterator<Item = &'a Url>) -> Self {
        let host = |url: &Url| Some((url.host_str()?.to_owned(), url.port_or_known_default()));
        Self { hosts: urls.into_iter().filter_map(host).collect() }
    }

    /// Checks a URL. `subject` starts the error message, such as `the token endpoint of a.example`.
    ///
    /// # Errors
    /// `denied`, with the reason.
    pub(super) fn check(&self, text: &str, subject: &str) -> Result<LoginTarget, Fault> {
        let bad =
            |reason: &str| Fault::denied(format!("refusing {subject}: '{}' {reason}", quoted(text, 200)));
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
        let port = url.port_or_known_default();
        let local = loopback || literal(host).is_some_and(|address| !is_public(address));
        let named = self.hosts.iter().any(|(allowed_host, allowed_port)| match local {
            true => {
                *allowed_port == port && (allowed_host == host || (loopback && is_loopback(allowed_host)))
            }
            false => allowed_host == host,
        });
        if local && !named {
            return Err(bad("is in a private network, and not the server itself").hint(PRIVATE_ISSUER_HINT));
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

/// Dialog with the user who logs in.
#[async_trait]
pub trait LoginDialog: Send + Sync {
    /// Asks if these endpoints belong together. Returns `None` if there is no user to ask.
    async fn confirm(&self, endpoints: &LoginEndpoints) -> Option<bool>;

    fn show(&self, issuer: &Url, address: &Url);
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoginEndpoints {
    pub issuer: Url,
    /// Origins by metadata name: `authorization`, `token`, `registration`, `revocation`.
    pub origins: BTreeMap<String, String>,
}

impl LoginEndpoints {
    pub(super) fn new(authority: &AuthorizationServer) -> Result<Self, Fault> {
        let AuthorizationServer { authorization, token, registration, revocation, .. } = authority;
        let required = [("authorization", Some(authorization)), ("token", Some(token))];
        let optional = [("registration", registration.as_ref()), ("revocation", revocation.as_ref())];
        let endpoints = required.into_iter().chain(optional);
        let origin = |(name, target): (&str, Option<&LoginTarget>)| {
            Some((name.to_owned(), target?.url.origin().ascii_serialization()))
        };
        Ok(Self { issuer: parsed(&authority.issuer)?, origins: endpoints.filter_map(origin).collect() })
    }

    /// Checks that the endpoints belong to the issuer. Returns the origins that the user confirmed, now or for the
    /// earlier login.
    ///
    /// # Errors
    /// `denied` if the origins differ and neither presets.toml nor the user confirms them.
    pub(super) async fn check(
        self,
        server: &str,
        settings: &LoginSettings,
        earlier: Option<&StoredLogin>,
        dialog: &dyn LoginDialog,
    ) -> Result<Option<BTreeMap<String, String>>, Fault> {
        let issuer_origin = self.issuer.origin().ascii_serialization();
        if settings.issuer.is_some() || self.origins.values().all(|origin| *origin == issuer_origin) {
            return Ok(None);
        }
        let confirmed = earlier
            .filter(|login| parsed(&login.issuer).is_ok_and(|issuer| issuer == self.issuer))
            .and_then(|login| login.confirmed_origins.as_ref());
        if confirmed.is_some_and(|confirmed_origins| {
            self.origins.iter().all(|(name, at)| confirmed_origins.get(name) == Some(at))
        }) {
            return Ok(Some(self.origins));
        }
        match dialog.confirm(&self).await {
            Some(true) => Ok(Some(self.origins)),
            Some(false) => Err(Fault::denied(format!("the login to '{server}' was not confirmed"))),
            None => Err(self.unconfirmed(server)),
        }
    }

    fn unconfirmed(&self, server: &str) -> Fault {
        let origins: Vec<String> = self.origins.iter().map(|(name, at)| format!("{name} at {at}")).collect();
        let (issuer, origins) = (&self.issuer, origins.join(", "));
        Fault::denied(format!(
            "the authorization server {issuer} of '{server}' has endpoints at other hosts: {origins}"
        ))
        .hint(format!(
            "If they belong together, set issuer = \"{issuer}\" in [servers.{server}.oauth] of presets.toml, or run \
            `gatehouse servers login {server}` at a terminal and confirm them."
        ))
    }
}

#[cfg(test)]
mod tests;
