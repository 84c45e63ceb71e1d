//! Endpoints outside the authorization server's own origin. Metadata that combines one company's login page with
//! another's token endpoint would give the code and its verifier to the latter, so such endpoints require presets.toml
//! or the user to confirm them.

use std::collections::BTreeMap;

use async_trait::async_trait;
use gatehouse_core::Fault;
use gatehouse_net::Url;

use super::{LoginSettings, login_store::StoredLogin, metadata::AuthorizationServer, parsed};

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
        let all = required.into_iter().chain(optional);
        let origin = |(name, target): (&str, Option<&super::address::LoginTarget>)| {
            Some((name.to_owned(), target?.url.origin().ascii_serialization()))
        };
        Ok(Self { issuer: parsed(&authority.issuer)?, origins: all.filter_map(origin).collect() })
    }

    fn share_one_origin(&self) -> bool {
        let own = self.issuer.origin().ascii_serialization();
        self.origins.values().all(|origin| *origin == own)
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
        if settings.issuer.is_some() || self.share_one_origin() {
            return Ok(None);
        }
        let confirmed = earlier
            .filter(|login| parsed(&login.issuer).is_ok_and(|issuer| issuer == self.issuer))
            .and_then(|login| login.confirmed_origins.as_ref());
        if confirmed.is_some_and(|known| self.origins.iter().all(|(name, at)| known.get(name) == Some(at))) {
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
