//! Logins to servers behind this host, by OAuth: made at a terminal, kept in files, renewed ahead of their end, and shown
//! to the one server that each was made for.
//!
//! Whoever sends requests to a server asks [`Logins::bearer`] before each and, after a 401, [`Logins::refused`] once; it
//! never follows a redirect with a token, and takes it out of what comes back with a [`gatehouse_core::http::Redactor`].
//! Files are read for each request, so that a login which another process made, renewed or removed holds at once.
//!
//! The protocol is written over our own HTTP client. What rmcp has for it counts time by a clock that no test can set, renews
//! again what another host has just renewed, takes no token back, follows redirects while it renews, and needs a second
//! implementation of hashes and random numbers.

mod address;
mod callback;
mod challenge;
mod client;
mod endpoints;
mod flow;
mod http;
mod login_store;
mod metadata;
mod renew;
#[cfg(test)]
mod tests;
mod token;
mod transport;

pub use challenge::BearerChallenge;
pub use endpoints::{LoginDialog, LoginEndpoints};
pub use gatehouse_net::Url;
pub(crate) use transport::{AuthenticatedClient, cause_in_words, fault_of};

use std::{path::PathBuf, sync::Arc};

use gatehouse_core::{Fault, FaultKind, http::Secret, names::quoted, ports::clock::Clock};
use tokio_util::task::TaskTracker;

use self::{
    address::resource,
    http::LoginHttp,
    login_store::{LoginStore, StoredLogin},
    renew::TokenRenewals,
    token::TokenEndpoint,
};

/// What presets.toml says of the login to one server, `[servers.NAME.oauth]`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LoginSettings {
    /// The authorization server. Default: the first that the server names.
    pub issuer: Option<NamedIssuer>,
    /// Scopes to ask for; without them those that the server names.
    pub scopes: Vec<String>,
    /// The port that the browser comes back to, where the registration names one.
    pub redirect_port: Option<u16>,
}

/// Authorization server that presets.toml names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedIssuer {
    /// Its issuer identifier.
    pub url: String,
    /// The client that the user registered there. `None` if Gatehouse registers one.
    pub client: Option<NamedClient>,
}

/// Client of one authorization server, which no other one may see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedClient {
    /// Its `client_id`.
    pub id: String,
    /// Its secret, if it has one.
    pub secret: Option<Secret>,
}

/// How a login does. Times are milliseconds since 1970-01-01T00:00:00Z.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoginState {
    /// There is none.
    None,
    /// It holds.
    Valid {
        /// Until when, as it is now; none where the server did not say.
        until: Option<u64>,
        /// Whether it is renewed ahead of that.
        renewable: bool,
    },
    /// It is over, and cannot be renewed.
    Ended,
    /// It was made for another address than the server has now.
    Elsewhere {
        /// That address.
        server: String,
    },
}

/// What became of a login that was given up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LogoutOutcome {
    /// There was none.
    NoLogin,
    /// It is forgotten here, and the authorization server takes it no more.
    Revoked,
    /// It is forgotten here alone, for this reason.
    Forgotten(String),
}

/// The logins of a host. Nothing is opened or read before the first one is asked for.
pub struct Logins {
    shared: Arc<LoginContext>,
    renewals: TokenRenewals,
    /// Renewals under way.
    tasks: TaskTracker,
}

struct LoginContext {
    store: LoginStore,
    http: LoginHttp,
    clock: Arc<dyn Clock>,
}

impl Logins {
    /// Those in `folder`, which is made with the first one.
    pub fn new(folder: PathBuf, clock: Arc<dyn Clock>) -> Self {
        let shared = Arc::new(LoginContext { store: LoginStore::new(folder), http: LoginHttp::new(), clock });
        Self { shared, renewals: TokenRenewals::default(), tasks: TaskTracker::new() }
    }

    /// The token for a request to `target`, of the server that presets.toml declares at `declared`; renewed first where it
    /// is about to end. None where there is no login, where it was made for another address, and where the request
    /// leaves the origin that was declared.
    ///
    /// # Errors
    /// `denied` where the login is over, and what renewing ends in.
    pub async fn bearer(&self, server: &str, declared: &str, target: &Url) -> Result<Option<Secret>, Fault> {
        let url = parsed(declared)?;
        if url.origin() != target.origin() {
            return Ok(None);
        }
        let Some(login) = self.shared.store.read(server).await? else { return Ok(None) };
        if login.server != resource(&url) {
            return Ok(None);
        }
        let now = self.shared.clock.now_ms();
        if !login.is_due(now) {
            return Ok(Some(login.access_token));
        }
        match self.renew(server, &login.access_token).await {
            Ok(token) => Ok(Some(token)),
            // It still holds, and the next request tries again.
            Err(fault) if !login.is_over(now) => {
                tracing::debug!(server, fault = %fault.message, "a login is not renewed yet");
                Ok(Some(login.access_token))
            }
            Err(fault) => Err(fault),
        }
    }

    /// The token to repeat a request with, once, after the server answered 401. `used` is the token that the request had.
    ///
    /// # Errors
    /// `denied` where somebody has to log in, and what renewing ends in.
    pub async fn renew_refused_token(
        &self,
        server: &str,
        declared: &str,
        used: Option<&Secret>,
    ) -> Result<Secret, Fault> {
        let url = parsed(declared)?;
        let Some(login) = self.shared.store.read(server).await? else {
            return Err(needs_login(server, "wants a login"));
        };
        if login.server != resource(&url) {
            let (was, is) = (quoted(&login.server, 200), quoted(&resource(&url), 200));
            let fault = format!("The login to '{server}' was made for {was}, and the server is at {is} now.");
            return Err(run_login(Fault::denied(fault), server));
        }
        let now = self.shared.clock.now_ms();
        if used != Some(&login.access_token) && !login.is_due(now) {
            return Ok(login.access_token);
        }
        self.renew(server, used.unwrap_or(&login.access_token)).await
    }

    /// What to say where a server refuses the token that [`Logins::refused`] gave.
    pub fn refused_again_fault(server: &str) -> Fault {
        login_ended_fault(server)
    }

    /// What to say of a 403 that wants more scopes; none where the challenge says something else.
    pub fn lacks_scope(server: &str, challenge: &BearerChallenge) -> Option<Fault> {
        if challenge.error.as_deref() != Some("insufficient_scope") {
            return None;
        }
        let scopes = quoted(&challenge.scopes().join(" "), 200);
        let fault =
            Fault::denied(format!("The login to '{server}' lacks the scopes that this needs: {scopes}."));
        Some(fault.hint(format!("Run: gatehouse servers login {server} --scope \"{scopes}\"")))
    }

    /// How the login to the server at `url` does. Asks nobody but the disk.
    pub async fn state(&self, server: &str, url: &str) -> Result<LoginState, Fault> {
        let Some(login) = self.shared.store.read(server).await? else { return Ok(LoginState::None) };
        if login.server != resource(&parsed(url)?) {
            return Ok(LoginState::Elsewhere { server: login.server });
        }
        Ok(login.state(self.shared.clock.now_ms()))
    }

    /// Forgets a login, and has it taken back where its authorization server does that.
    ///
    /// # Errors
    /// Where the file cannot be removed.
    pub async fn log_out(&self, server: &str) -> Result<LogoutOutcome, Fault> {
        let shared = &self.shared;
        let _locked = shared.store.lock(server).await?;
        let revoked = match shared.store.read(server).await {
            Ok(None) => return Ok(LogoutOutcome::NoLogin),
            Ok(Some(login)) => shared.revoke(&login).await,
            Err(fault) => Err(fault),
        };
        shared.store.remove(server).await?;
        Ok(revoked.map_or_else(|fault| LogoutOutcome::Forgotten(fault.message), |()| LogoutOutcome::Revoked))
    }

    /// The time that logins go by.
    pub fn now_ms(&self) -> u64 {
        self.shared.clock.now_ms()
    }

    /// Waits for renewals under way: what an authorization server has sent is kept before the host ends.
    pub async fn close(&self) {
        self.tasks.close();
        self.tasks.wait().await;
    }
}

impl LoginContext {
    async fn revoke(&self, login: &StoredLogin) -> Result<(), Fault> {
        let Some(endpoint) = &login.revocation_endpoint else {
            return Err(Fault::unavailable(format!("{} takes no token back.", quoted(&login.issuer, 200))));
        };
        let target = login.named()?.check(endpoint, "The revocation endpoint")?;
        let endpoint = TokenEndpoint {
            http: &self.http,
            target: &target,
            client: &login.client,
            resource: &login.resource,
        };
        match &login.refresh_token {
            Some(token) => endpoint.revoke(token, "refresh_token").await,
            None => endpoint.revoke(&login.access_token, "access_token").await,
        }
    }
}

fn parsed(url: &str) -> Result<Url, Fault> {
    Url::parse(url).map_err(|_| {
        Fault::new(FaultKind::InvalidArguments, format!("'{}' is not an address.", quoted(url, 200)))
    })
}

fn needs_login(server: &str, what: &str) -> Fault {
    run_login(Fault::denied(format!("Server '{server}' {what}.")), server)
}

fn login_ended_fault(server: &str) -> Fault {
    run_login(Fault::denied(format!("The login to '{server}' is not valid any more.")), server)
}

fn run_login(fault: Fault, server: &str) -> Fault {
    fault.hint(format!("Run: gatehouse servers login {server}"))
}
