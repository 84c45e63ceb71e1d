//! OAuth client of Gatehouse at an authorization server, either from presets.toml or registered dynamically (RFC 7591),
//! and its authentication at the token endpoint.

use gatehouse_core::{Fault, http::Secret, names::quoted};
use gatehouse_net::Method;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{
    CALLBACK_PATH, LoginSettings, NamedClient,
    client_assertion::{ASSERTION_TYPE, client_assertion},
    http::{LoginHttp, RequestContent, basic},
    login_store::{optional_secret, reveal},
    metadata::AuthorizationServer,
};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum AuthMethod {
    /// Public client: only its id, protected by PKCE.
    #[default]
    None,
    ClientSecretBasic,
    ClientSecretPost,
    /// The secret is a private key, which signs a JWT for each request.
    PrivateKeyJwt,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct OAuthClient {
    pub(super) id: String,
    #[serde(serialize_with = "reveal", deserialize_with = "optional_secret", default)]
    pub(super) secret: Option<Secret>,
    pub(super) auth_method: AuthMethod,
    /// Issuer for which a private key signs. Empty for other methods.
    #[serde(default)]
    pub(super) audience: String,
}

#[derive(Deserialize)]
struct RegistrationResponse {
    client_id: String,
    client_secret: Option<String>,
    token_endpoint_auth_method: Option<String>,
}

impl OAuthClient {
    pub(super) async fn find_or_register(
        server: &str,
        settings: &LoginSettings,
        authority: &AuthorizationServer,
        http: &LoginHttp,
        redirect: &str,
    ) -> Result<Self, Fault> {
        let issuer = quoted(&authority.issuer, 200);
        let named = settings.issuer.as_ref().and_then(|issuer| issuer.client.as_ref());
        let Some(named) = named else {
            return Self::register(server, authority, http, redirect).await;
        };
        let id = &named.id;
        if id.starts_with("https://") && !authority.takes_client_documents {
            let reason = format!("{issuer} does not support the URL of a document as client_id");
            return Err(needs_registration(server, &issuer, redirect, reason));
        }
        Ok(Self::named(named, authority))
    }

    /// Returns the client that presets.toml names for an authorization server.
    pub(super) fn named(named: &NamedClient, authority: &AuthorizationServer) -> Self {
        let NamedClient { id, secret, private_key } = named;
        let audience = authority.issuer.clone();
        let (secret, auth_method) = match (private_key, secret) {
            (Some(key), _) => (Some(key), AuthMethod::PrivateKeyJwt),
            (None, Some(secret)) => (Some(secret), AuthMethod::for_secret(&authority.auth_methods)),
            (None, None) => (None, AuthMethod::None),
        };
        Self { id: id.clone(), secret: secret.cloned(), auth_method, audience }
    }

    async fn register(
        server: &str,
        authority: &AuthorizationServer,
        http: &LoginHttp,
        redirect: &str,
    ) -> Result<Self, Fault> {
        let issuer = quoted(&authority.issuer, 200);
        let Some(endpoint) = &authority.registration else {
            let reason = format!("{issuer} does not support dynamic client registration");
            return Err(needs_registration(server, &issuer, redirect, reason));
        };
        let about = json!({
            "client_name": "Gatehouse",
            "redirect_uris": [redirect],
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
            "token_endpoint_auth_method": "none",
            "application_type": if redirect.starts_with("https:") { "web" } else { "native" },
        });
        let answer = http.send(Method::POST, endpoint, RequestContent::json(about.to_string())).await?;
        if !answer.status.is_success() {
            let reason = format!("{issuer} refused to register Gatehouse: {}", answer.error_text(&[]));
            return Err(needs_registration(server, &issuer, redirect, reason));
        }
        let registered: RegistrationResponse =
            answer.json(&format!("the registration response of {issuer}"))?;
        let auth_method = match registered.token_endpoint_auth_method.as_deref() {
            Some("none") => AuthMethod::None,
            _ if registered.client_secret.is_none() => AuthMethod::None,
            Some(method) => AuthMethod::for_secret(&[method.to_owned()]),
            None => AuthMethod::for_secret(&authority.auth_methods),
        };
        let (id, secret) = (registered.client_id, registered.client_secret.map(Secret::new));
        Ok(Self { id, secret, auth_method, audience: String::new() })
    }

    /// Adds the credentials of the client to a request.
    ///
    /// # Errors
    /// If its private key is invalid.
    pub(super) fn authenticate(
        &self,
        mut pairs: Vec<(&'static str, String)>,
    ) -> Result<RequestContent, Fault> {
        let mut sent = RequestContent::default();
        match (&self.secret, self.auth_method) {
            (Some(secret), AuthMethod::ClientSecretBasic) => {
                sent.authorization = Some(basic(&self.id, secret))
            }
            (Some(secret), AuthMethod::ClientSecretPost) => {
                pairs.push(("client_id", self.id.clone()));
                pairs.push(("client_secret", secret.reveal().to_owned()));
            }
            (Some(key), AuthMethod::PrivateKeyJwt) => {
                let assertion = client_assertion(&self.id, &self.audience, key)?;
                pairs.push(("client_id", self.id.clone()));
                pairs.push(("client_assertion_type", ASSERTION_TYPE.to_owned()));
                pairs.push(("client_assertion", assertion.reveal().to_owned()));
            }
            _ => pairs.push(("client_id", self.id.clone())),
        }
        let pairs: Vec<(&str, &str)> = pairs.iter().map(|(name, value)| (*name, value.as_str())).collect();
        sent.body = Some(("application/x-www-form-urlencoded", super::http::form(&pairs)));
        Ok(sent)
    }
}

impl AuthMethod {
    /// Selects the method for a client with a secret. The default is `client_secret_basic` (RFC 8414).
    fn for_secret(offered: &[String]) -> Self {
        let has = |name: &str| offered.iter().any(|method| method == name);
        if has("client_secret_post") && !has("client_secret_basic") {
            Self::ClientSecretPost
        } else {
            Self::ClientSecretBasic
        }
    }
}

fn needs_registration(server: &str, issuer: &str, redirect: &str, reason: String) -> Fault {
    // At a terminal, the port is another one each time, which authorization servers accept.
    let redirect = if redirect.ends_with(CALLBACK_PATH) { redirect } else { "http://127.0.0.1/callback" };
    Fault::denied(reason).hint(format!(
        "Register Gatehouse at {issuer} with the redirect URI {redirect}, then set client_id and \
        issuer = \"{issuer}\" in [servers.{server}.oauth] of presets.toml."
    ))
}
