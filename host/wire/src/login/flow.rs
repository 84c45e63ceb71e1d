//! Login flow: authorization code with PKCE (S256) for one resource, with a loopback redirect (RFC 6749, 7636, 8252,
//! 8707).

use std::collections::BTreeMap;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use gatehouse_core::{Fault, http::Secret, names::quoted};
use gatehouse_net::{Method, StatusCode, Url, random_bytes};
use sha2::{Digest as _, Sha256};

use super::{
    LoginDialog, LoginGrant, LoginId, LoginSettings, LoginState, Logins,
    address::{ConfiguredHosts, LoginTarget, resource},
    callback::{CallbackListener, ExpectedAnswer},
    challenge::BearerChallenge,
    client::OAuthClient,
    endpoints::LoginEndpoints,
    http::RequestContent,
    login_store::StoredLogin,
    metadata::{AuthorizationServer, Discovery},
    parsed,
    token::{TokenEndpoint, TokenError, TokenResponse},
};

/// Request that shows if a server requires a login. It has no side effects.
const PING: &str = r#"{"jsonrpc":"2.0","id":0,"method":"ping"}"#;

/// A login that waits for the answer of the authorization server.
pub(super) struct StartedLogin {
    id: LoginId,
    server: Url,
    named_issuer: Option<String>,
    authority: AuthorizationServer,
    confirmed_origins: Option<BTreeMap<String, String>>,
    client: OAuthClient,
    scopes: Vec<String>,
    redirect: String,
    state: Secret,
    verifier: Secret,
}

impl StartedLogin {
    pub(super) fn issuer(&self) -> &str {
        &self.authority.issuer
    }

    /// Returns the URL where the user agrees.
    pub(super) fn address(&self) -> Url {
        let Self { authority, client, redirect, scopes, state, verifier, .. } = self;
        authorization(authority, client, redirect, scopes, state, verifier)
    }

    pub(super) fn expected_answer(&self) -> ExpectedAnswer<'_> {
        let names_issuer = self.authority.names_issuer;
        ExpectedAnswer { state: &self.state, issuer: &self.authority.issuer, names_issuer }
    }
}

impl Logins {
    /// Logs in to the server at `url` and stores the login.
    ///
    /// # Errors
    /// Refusals of the server, the authorization server or the user, and metadata that breaks a rule.
    pub async fn log_in(
        &self,
        id: &LoginId,
        url: &str,
        settings: &LoginSettings,
        dialog: &dyn LoginDialog,
    ) -> Result<LoginState, Fault> {
        if settings.grant == LoginGrant::ClientCredentials {
            let started = self.start_login(id, url, settings, dialog, String::new()).await?;
            return self.finish_login(started, None).await;
        }
        let callback = CallbackListener::open(settings.redirect_port).await?;
        let started = self.start_login(id, url, settings, dialog, callback.redirect.clone()).await?;
        dialog.show(&parsed(started.issuer())?, &started.address());
        let code = callback.code(&started.expected_answer()).await?;
        self.finish_login(started, Some(&code)).await
    }

    /// Finds the authorization server, and a client there that it sends back to `redirect`.
    pub(super) async fn start_login(
        &self,
        id: &LoginId,
        url: &str,
        settings: &LoginSettings,
        dialog: &dyn LoginDialog,
        redirect: String,
    ) -> Result<StartedLogin, Fault> {
        let (shared, server) = (&self.shared, id.server());
        // Reject a server name that cannot be a file name before the user logs in.
        let earlier = shared.store.read(id).await.or_else(|fault| match fault.kind {
            gatehouse_core::FaultKind::InvalidArguments => Err(fault),
            _ => Ok(None),
        })?;
        let url = parsed(url)?;
        // What the operator confirmed at a terminal holds for all principals.
        let earlier = match earlier {
            None if id.owner().is_some() => {
                shared.store.read(&LoginId::shared(server)).await.unwrap_or_default()
            }
            earlier => earlier,
        };
        let earlier = earlier.filter(|login| login.server == resource(&url));
        let issuer = settings.issuer.as_ref().map(|issuer| issuer.url.as_str());
        let named_issuer = issuer.map(parsed).transpose()?;
        let hosts = ConfiguredHosts::new([&url].into_iter().chain(&named_issuer));
        let target = hosts.check(url.as_str(), &format!("server '{server}'"))?;
        let (challenge, status) = self.probe(&target).await?;
        let is_challenged = status == StatusCode::UNAUTHORIZED;
        let needs_user = settings.grant == LoginGrant::AuthorizationCode;
        let http = &shared.http;
        let discovery = Discovery { http, hosts: &hosts, server: &url, issuer, needs_user, is_challenged };
        let authority = discovery.run(&challenge).await.map_err(|fault| match status {
            StatusCode::UNAUTHORIZED => fault,
            _ => {
                let message = format!(
                    "server '{server}' does not require a login (it answered {status}): {}",
                    fault.message
                );
                Fault { message, ..fault }
            }
        })?;
        let endpoints = LoginEndpoints::new(&authority)?;
        let confirmed_origins = endpoints.check(server, settings, earlier.as_ref(), dialog).await?;
        let client =
            OAuthClient::find_or_register(server, settings, &authority, &shared.http, &redirect).await?;
        let scopes = scopes(settings, &challenge, &authority);
        let (state, verifier) = (random()?, random()?);
        Ok(StartedLogin {
            id: id.clone(),
            server: url,
            named_issuer: issuer.map(str::to_owned),
            authority,
            confirmed_origins,
            client,
            scopes,
            redirect,
            state,
            verifier,
        })
    }

    /// Exchanges the code for tokens, and stores the login. Without a code, the client logs in as itself.
    pub(super) async fn finish_login(
        &self,
        started: StartedLogin,
        code: Option<&Secret>,
    ) -> Result<LoginState, Fault> {
        let shared = &self.shared;
        let StartedLogin { id, server, named_issuer, authority, confirmed_origins, client, .. } = started;
        let (http, target) = (&shared.http, &authority.token);
        let endpoint = TokenEndpoint { http, target, client: &client, resource: &authority.resource };
        let issued = match code {
            Some(code) => endpoint.exchange(code, &started.verifier, &started.redirect).await,
            None => endpoint.issue_to_client(&started.scopes).await,
        };
        let issued = issued.map_err(|refused| match refused {
            TokenError::Grant(why) | TokenError::Client(why) => {
                Fault::denied(format!("the login was refused: {why}"))
            }
            TokenError::Other(fault) => fault,
        })?;
        let mut login = StoredLogin {
            owner: id.owner().map(|owner| owner.as_str().to_owned()),
            server: resource(&server),
            resource: authority.resource,
            issuer: authority.issuer,
            named_issuer,
            confirmed_origins,
            token_endpoint: authority.token.url.into(),
            revocation_endpoint: authority.revocation.map(|endpoint| endpoint.url.into()),
            client,
            scopes: started.scopes,
            access_token: Secret::new(""),
            refresh_token: None,
            client_credentials: code.is_none(),
            issued_at: 0,
            expires_at: None,
        };
        login.replace_tokens(issued, shared.clock.now_ms());
        let state = login.state(shared.clock.now_ms());
        if state == LoginState::Ended {
            let (server, issuer) = (id.server(), quoted(&login.issuer, 200));
            return Err(Fault::unavailable(format!(
                "the login to '{server}' has already expired: {issuer} issued a token that expires immediately, and \
                no refresh token"
            )));
        }
        let _locked = shared.store.lock(&id).await?;
        shared.store.write(&id, &login).await?;
        Ok(state)
    }

    /// Stores a token that the user got from the server elsewhere, such as a personal access token.
    ///
    /// # Errors
    /// If it is not a bearer token (RFC 6750), or the login cannot be written.
    pub async fn store_token(&self, id: &LoginId, url: &str, token: &Secret) -> Result<LoginState, Fault> {
        const MAX_TOKEN: usize = 16 << 10;
        let given = token.reveal();
        let is_token = |c: char| c.is_ascii_alphanumeric() || "-._~+/=".contains(c);
        if given.is_empty() || given.len() > MAX_TOKEN || !given.chars().all(is_token) {
            return Err(Fault::invalid(format!(
                "invalid token: expected 1 to {MAX_TOKEN} letters, digits or -._~+/="
            )));
        }
        let (shared, server) = (&self.shared, resource(&parsed(url)?));
        let login = StoredLogin {
            owner: id.owner().map(|owner| owner.as_str().to_owned()),
            resource: server.clone(),
            issuer: server.clone(),
            server,
            named_issuer: None,
            confirmed_origins: None,
            token_endpoint: String::new(),
            revocation_endpoint: None,
            client: OAuthClient::unused(),
            scopes: Vec::new(),
            access_token: token.clone(),
            refresh_token: None,
            client_credentials: false,
            issued_at: shared.clock.now_ms(),
            expires_at: None,
        };
        let _locked = shared.store.lock(id).await?;
        shared.store.write(id, &login).await?;
        Ok(login.state(shared.clock.now_ms()))
    }

    /// Returns the server's challenge to an unauthenticated request. Older servers do not accept POST here.
    async fn probe(&self, target: &LoginTarget) -> Result<(BearerChallenge, StatusCode), Fault> {
        let ping = RequestContent::json(PING.to_owned());
        let mut answer = self.shared.http.send(Method::POST, target, ping).await?;
        if matches!(answer.status, StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED) {
            answer = self.shared.http.get(target).await?;
        }
        Ok((BearerChallenge::from_headers(answer.challenges()), answer.status))
    }
}

impl StoredLogin {
    /// Replaces the tokens. The old refresh token remains if the server issued no new one.
    pub(super) fn replace_tokens(&mut self, issued: TokenResponse, now: u64) {
        self.access_token = issued.access;
        self.refresh_token = issued.refresh.or_else(|| self.refresh_token.take());
        self.issued_at = now;
        self.expires_at = issued.life.map(|life| now.saturating_add(life * 1000));
        self.scopes = issued.scopes.unwrap_or_else(|| std::mem::take(&mut self.scopes));
    }
}

/// Returns the configured scopes, else those of the challenge, else all supported ones.
fn scopes(
    settings: &LoginSettings,
    challenge: &BearerChallenge,
    authority: &AuthorizationServer,
) -> Vec<String> {
    let candidates = [settings.scopes.clone(), challenge.scopes(), authority.scopes.clone()];
    candidates.into_iter().find(|scopes| !scopes.is_empty()).unwrap_or_default()
}

/// Returns 256 random bits as text for URLs.
pub(super) fn random() -> Result<Secret, Fault> {
    Ok(Secret::new(URL_SAFE_NO_PAD.encode(random_bytes::<32>()?)))
}

fn authorization(
    authority: &AuthorizationServer,
    client: &OAuthClient,
    redirect: &str,
    scopes: &[String],
    state: &Secret,
    verifier: &Secret,
) -> Url {
    let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.reveal().as_bytes()));
    let mut url = authority.authorization.url.clone();
    let mut query = url.query_pairs_mut();
    query.extend_pairs([
        ("response_type", "code"),
        ("client_id", &client.id),
        ("redirect_uri", redirect),
        ("state", state.reveal()),
        ("code_challenge", &challenge),
        ("code_challenge_method", "S256"),
        ("resource", &authority.resource),
    ]);
    if !scopes.is_empty() {
        query.append_pair("scope", &scopes.join(" "));
    }
    drop(query);
    url
}
