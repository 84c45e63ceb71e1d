//! OAuth logins to MCP servers: made in a terminal, stored in files, renewed before they expire, and sent only to the
//! server that each was made for.
//!
//! Before each request, a caller gets a token from [`Logins::bearer`]; after a 401, it calls
//! [`Logins::renew_refused_token`] once. It never follows redirects with a token, and redacts the token from responses.
//! Files are read for each request, so that changes by other processes apply immediately.
//!
//! The OAuth support of rmcp is not used: its clock cannot be set by tests, it repeats renewals of other hosts, it does
//! not revoke tokens, and it follows redirects while renewing.

mod address;
mod callback;
mod challenge;
mod client;
mod client_assertion;
mod finish;
mod flow;
mod http;
mod identity;
mod login_id;
mod login_store;
mod metadata;
mod renew;
mod sign_ins;
#[cfg(test)]
mod tests;
mod token;

pub(crate) use address::is_loopback;
pub use address::{LoginDialog, LoginEndpoints};
pub use challenge::BearerChallenge;
pub(crate) use challenge::auth_challenges;
pub use gatehouse_net::Url;
pub use login_id::LoginId;
use login_id::is_safe_in_shell;
pub(crate) use sign_ins::{CALLBACK_PATH, SIGN_IN_PATH};
pub use sign_ins::{LoginTargets, SignIns};

use std::{path::PathBuf, sync::Arc};

use gatehouse_core::{Fault, Principal, http::Secret, names::quoted, ports::Clock};
use tokio_util::task::TaskTracker;

use self::{address::resource, http::LoginHttp, login_store::LoginStore, renew::TokenRenewals};

/// Maximum bytes of the scopes in a command that a message names.
const MAX_SCOPES: usize = 500;

/// Login settings of one server, `[servers.NAME.oauth]`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LoginSettings {
    /// Authorization server. Default: the first that the server lists.
    pub issuer: Option<NamedIssuer>,
    /// Scopes to request. Default: those that the server names.
    pub scopes: Vec<String>,
    /// Port of the redirect URI, if the client registration requires a certain one.
    pub redirect_port: Option<u16>,
    pub grant: LoginGrant,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum LoginGrant {
    /// A user agrees in a browser.
    #[default]
    AuthorizationCode,
    /// The client logs in with its own secret or key (extension `io.modelcontextprotocol/oauth-client-credentials`).
    ClientCredentials,
    /// A user agrees at this identity provider, which vouches for the user at the authorization server (extension
    /// `io.modelcontextprotocol/enterprise-managed-authorization`).
    IdentityProvider(NamedIssuer),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedIssuer {
    pub url: String,
    /// Client that the user registered there. `None` if Gatehouse registers one.
    pub client: Option<NamedClient>,
}

/// Client of one authorization server. Never sent to another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedClient {
    pub id: String,
    pub secret: Option<Secret>,
    /// PEM text of a key in PKCS#8 that authenticates the client instead of a secret.
    pub private_key: Option<Secret>,
}

/// State of a login. Times are milliseconds since 1970-01-01T00:00:00Z.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoginState {
    None,
    Valid {
        /// Current expiry. `None` if the server did not set one.
        until: Option<u64>,
        renewable: bool,
    },
    /// Expired, and cannot be renewed.
    Ended,
    Elsewhere {
        server: String,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LogoutOutcome {
    NoLogin,
    Revoked,
    /// Removed only here, with the reason.
    Forgotten(String),
}

/// Logins of a host. Opens and reads nothing before the first use.
pub struct Logins {
    shared: Arc<LoginContext>,
    renewals: TokenRenewals,
    tasks: TaskTracker,
    sign_ins: SignIns,
}

struct LoginContext {
    store: LoginStore,
    http: LoginHttp,
    clock: Arc<dyn Clock>,
}

impl Logins {
    /// Uses the logins in `folder`, which the first login creates.
    pub fn new(folder: PathBuf, clock: Arc<dyn Clock>) -> Self {
        let shared = Arc::new(LoginContext { store: LoginStore { folder }, http: LoginHttp::new(), clock });
        Self {
            shared,
            renewals: TokenRenewals::default(),
            tasks: TaskTracker::new(),
            sign_ins: SignIns::default(),
        }
    }

    /// Returns the token for a request to `target`, renewed if necessary. `None` if there is no login for the URL
    /// `declared`, or if `target` has another origin.
    ///
    /// # Errors
    /// `denied` if the login has expired, or the error of the renewal.
    pub async fn bearer(&self, id: &LoginId, declared: &str, target: &Url) -> Result<Option<Secret>, Fault> {
        let url = parsed(declared)?;
        if url.origin() != target.origin() {
            return Ok(None);
        }
        let Some(login) = self.shared.store.read(id).await? else { return Ok(None) };
        if login.server != resource(&url) {
            return Ok(None);
        }
        let now = self.shared.clock.now_ms();
        if !login.is_due(now) {
            return Ok(Some(login.access_token));
        }
        match self.renew(id, &login.access_token).await {
            Ok(token) => Ok(Some(token)),
            Err(fault) if !login.has_expired(now) => {
                tracing::debug!(server = id.server(), fault = %fault.message, "a login is not renewed yet");
                Ok(Some(login.access_token))
            }
            Err(fault) => Err(fault),
        }
    }

    /// Returns a token to repeat a request with, once, after a 401. `used` is the token of the refused request.
    ///
    /// # Errors
    /// `denied` if the user must log in, or the error of the renewal.
    pub async fn renew_refused_token(
        &self,
        id: &LoginId,
        declared: &str,
        used: Option<&Secret>,
    ) -> Result<Secret, Fault> {
        let url = parsed(declared)?;
        let Some(login) = self.shared.store.read(id).await? else {
            return Err(id.missing_fault());
        };
        if login.server != resource(&url) {
            let (was, is) = (quoted(&login.server, 200), quoted(&resource(&url), 200));
            let server = id.server();
            let fault = format!("the login to '{server}' was made for {was}, but the server is now at {is}");
            return Err(id.hint_login(Fault::denied(fault)));
        }
        let now = self.shared.clock.now_ms();
        if used != Some(&login.access_token) && !login.is_due(now) {
            return Ok(login.access_token);
        }
        self.renew(id, used.unwrap_or(&login.access_token)).await
    }

    /// Returns the fault for a server that refuses a token that was just renewed.
    pub(crate) async fn refused_again(&self, id: &LoginId, token: &Secret) -> Fault {
        match self.shared.end_refused(id, token).await {
            Ok(()) => id.ended_fault(),
            Err(fault) => fault,
        }
    }

    /// Returns the fault for a 403 that demands more scopes. `None` for other challenges.
    pub(crate) async fn lacks_scope(&self, id: &LoginId, challenge: &BearerChallenge) -> Option<Fault> {
        if challenge.error.as_deref() != Some("insufficient_scope") {
            return None;
        }
        let (server, required) = (id.server(), challenge.scopes());
        // A login replaces the earlier one, so it has to ask for those scopes too.
        let stored = self.shared.store.read(id).await.ok().flatten();
        let mut scopes = stored.map(|login| login.scopes).unwrap_or_default();
        scopes.extend(required.iter().filter(|scope| !scopes.contains(scope)).cloned().collect::<Vec<_>>());
        let (quoted_scopes, scopes) = (quoted(&required.join(" "), 200), scopes.join(" "));
        let fault =
            Fault::denied(format!("the login to '{server}' lacks the required scopes: {quoted_scopes}"));
        // Operators paste the command into a shell, and the server chose the scopes.
        let is_safe =
            scopes.len() <= MAX_SCOPES && scopes.chars().all(|c| c == ' ' || c == '/' || is_safe_in_shell(c));
        Some(fault.hint(id.command(&if is_safe { format!(" --scope \"{scopes}\"") } else { String::new() })))
    }

    /// Returns the state of the login to the server at `url`, without network access.
    pub async fn state(&self, id: &LoginId, url: &str) -> Result<LoginState, Fault> {
        let Some(login) = self.shared.store.read(id).await? else { return Ok(LoginState::None) };
        if login.server != resource(&parsed(url)?) {
            return Ok(LoginState::Elsewhere { server: login.server });
        }
        Ok(login.state(self.shared.clock.now_ms()))
    }

    /// Returns the logins of principals, sorted by server and owner. Those that cannot be read are left out.
    pub async fn of_principals(&self) -> Result<Vec<LoginId>, Fault> {
        self.shared.store.of_principals().await
    }

    /// Returns the logins of one principal, also those that cannot be read.
    pub async fn of_principal(&self, principal: &Principal) -> Result<Vec<LoginId>, Fault> {
        self.shared.store.of_principal(principal).await
    }

    /// Removes a login, and revokes it if the authorization server supports that.
    ///
    /// # Errors
    /// If the file cannot be removed.
    pub async fn log_out(&self, id: &LoginId) -> Result<LogoutOutcome, Fault> {
        let shared = &self.shared;
        let _locked = shared.store.lock(id).await?;
        let revoked = match shared.store.read(id).await {
            Ok(None) => return Ok(LogoutOutcome::NoLogin),
            Ok(Some(login)) => shared.revoke(&login).await,
            Err(fault) => Err(fault),
        };
        shared.store.remove(id).await?;
        Ok(revoked.map_or_else(|fault| LogoutOutcome::Forgotten(fault.message), |()| LogoutOutcome::Revoked))
    }

    pub fn sign_ins(&self) -> &SignIns {
        &self.sign_ins
    }

    pub fn now_ms(&self) -> u64 {
        self.shared.clock.now_ms()
    }

    /// Waits for running renewals, so that new tokens are stored before the host exits.
    pub async fn close(&self) {
        self.tasks.close();
        self.tasks.wait().await;
    }
}

fn parsed(url: &str) -> Result<Url, Fault> {
    Url::parse(url).map_err(|_| Fault::invalid(format!("invalid URL '{}'", quoted(url, 200))))
}
