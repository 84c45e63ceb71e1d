//! Login flow: authorization code with PKCE (S256) for one resource, with a loopback redirect (RFC 6749, 7636, 8252,
//! 8707).

use std::collections::BTreeMap;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use gatehouse_core::{Fault, http::Secret};
use gatehouse_net::{Method, StatusCode, Url, random_bytes};
use sha2::{Digest as _, Sha256};

use super::{
    LoginDialog, LoginGrant, LoginId, LoginSettings, LoginState, Logins,
    address::{ConfiguredHosts, LoginEndpoints, LoginTarget, resource},
    callback::{CallbackListener, ExpectedAnswer},
    challenge::BearerChallenge,
    client::OAuthClient,
    http::RequestContent,
    identity::IdentityProvider,
    metadata::{AuthorizationServer, Discovery},
    parsed,
};

/// Request that shows if a server requires a login. It has no side effects.
const PING: &str = r#"{"jsonrpc":"2.0","id":0,"method":"ping"}"#;

/// A login that waits for the answer of the authorization server.
pub(super) struct StartedLogin {
    pub(super) id: LoginId,
    pub(super) server: Url,
    pub(super) named_issuer: Option<String>,
    pub(super) authority: AuthorizationServer,
    pub(super) confirmed_origins: Option<BTreeMap<String, String>>,
    pub(super) client: OAuthClient,
    /// Identity provider where the user agrees, instead of at the authorization server.
    pub(super) provider: Option<IdentityProvider>,
    pub(super) scopes: Vec<String>,
    /// Where the browser returns to. Empty if no user is asked.
    pub(super) redirect: String,
    state: Secret,
    pub(super) verifier: Secret,
}

/// Proof for which an authorization server issues tokens.
#[derive(Clone, Copy)]
pub(super) enum LoginProof<'a> {
    /// Code that the user's browser brought.
    Code(&'a Secret),
    /// ID token of the identity provider.
    IdToken(&'a Secret),
    /// Secret or key of the client itself.
    ClientCredentials,
}

impl StartedLogin {
    /// Returns the authorization server where the user agrees.
    fn page(&self) -> &AuthorizationServer {
        self.provider.as_ref().map_or(&self.authority, |provider| &provider.authority)
    }

    pub(super) fn issuer(&self) -> &str {
        &self.page().issuer
    }

    /// Returns the URL where the user agrees.
    pub(super) fn address(&self) -> Url {
        let (client, scopes) = match &self.provider {
            Some(provider) => (&provider.client, &provider.authority.scopes),
            None => (&self.client, &self.scopes),
        };
        let authority = self.page();
        let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(self.verifier.reveal().as_bytes()));
        let mut url = authority.authorization.url.clone();
        let mut query = url.query_pairs_mut();
        query.extend_pairs([
            ("response_type", "code"),
            ("client_id", &client.id),
            ("redirect_uri", &self.redirect),
            ("state", self.state.reveal()),
            ("code_challenge", &challenge),
            ("code_challenge_method", "S256"),
        ]);
        if let Some(resource) = &authority.resource {
            query.append_pair("resource", resource);
        }
        if scopes.iter().any(|scope| scope == "offline_access") {
            // Without consent, providers ignore the scope (OpenID Connect Core, section 11).
            query.append_pair("prompt", "consent");
        }
        if !scopes.is_empty() {
            query.append_pair("scope", &scopes.join(" "));
        }
        drop(query);
        url
    }

    pub(super) fn expected_answer(&self) -> ExpectedAnswer<'_> {
        let page = self.page();
        ExpectedAnswer { state: &self.state, issuer: &page.issuer, names_issuer: page.names_issuer }
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
            return self.finish_login(started, LoginProof::ClientCredentials).await;
        }
        let callback = CallbackListener::open(settings.redirect_port).await?;
        let started = self.start_login(id, url, settings, dialog, callback.redirect.clone()).await?;
        dialog.show(&parsed(started.issuer())?, &started.address());
        let code = callback.code(&started.expected_answer()).await?;
        self.finish_login(started, LoginProof::Code(&code)).await
    }

    /// Logs in with an ID token that the user got from the identity provider elsewhere. It is renewed until the ID
    /// token expires.
    ///
    /// # Errors
    /// As [`log_in`](Self::log_in), and if the settings name no identity provider.
    pub async fn log_in_with_id_token(
        &self,
        id: &LoginId,
        url: &str,
        settings: &LoginSettings,
        dialog: &dyn LoginDialog,
        id_token: &Secret,
    ) -> Result<LoginState, Fault> {
        if !matches!(settings.grant, LoginGrant::IdentityProvider(_)) {
            let server = id.server();
            let reason =
                format!("server '{server}' has no identity provider that could have issued an ID token");
            return Err(Fault::invalid(reason)
                .hint(format!("Add [servers.{server}.oauth.identity_provider] to presets.toml.")));
        }
        let started = self.start_login(id, url, settings, dialog, String::new()).await?;
        self.finish_login(started, LoginProof::IdToken(id_token)).await
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
        let unneeded = format!("server '{server}' does not require a login (it answered {status})");
        let authority = discovery.run(&challenge).await.map_err(|fault| match is_challenged {
            true => fault,
            false => Fault { message: format!("{unneeded}: {}", fault.message), ..fault },
        })?;
        let endpoints = LoginEndpoints::new(&authority)?;
        let confirmed_origins = endpoints.check(server, settings, earlier.as_ref(), dialog).await?;
        let client =
            OAuthClient::find_or_register(server, settings, &authority, &shared.http, &redirect).await?;
        let scopes = [settings.scopes.clone(), challenge.scopes(), authority.scopes.clone()];
        let scopes = scopes.into_iter().find(|scopes| !scopes.is_empty()).unwrap_or_default();
        let provider = match &settings.grant {
            LoginGrant::IdentityProvider(named) => {
                Some(IdentityProvider::find(http, server, named, !redirect.is_empty()).await?)
            }
            LoginGrant::AuthorizationCode | LoginGrant::ClientCredentials => None,
        };
        let (state, verifier) = (random()?, random()?);
        Ok(StartedLogin {
            id: id.clone(),
            server: url,
            named_issuer: issuer.map(str::to_owned),
            authority,
            confirmed_origins,
            client,
            provider,
            scopes,
            redirect,
            state,
            verifier,
        })
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

/// Returns 256 random bits as text for URLs.
pub(super) fn random() -> Result<Secret, Fault> {
    Ok(Secret::new(URL_SAFE_NO_PAD.encode(random_bytes::<32>()?)))
}
