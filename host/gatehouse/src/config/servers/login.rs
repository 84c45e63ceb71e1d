//! `login` and `oauth` of `[servers.NAME]`: whose login to the server a call uses, and how it is granted.

use gatehouse_core::{names::quoted, ports::servers::ServerLogin};
use gatehouse_wire::login::{LoginGrant, LoginSettings, NamedClient, NamedIssuer};
use toml::Spanned;

use super::{
    super::{ConfigError, error::ConfigText, raw},
    transport::TemplateFiller,
};

/// Validates `login`: principals sign in to an address, and nothing else authenticates there.
pub(super) fn validate(text: &ConfigText, server: &raw::RawServer) -> Result<ServerLogin, ConfigError> {
    let Some(login) = &server.login else { return Ok(ServerLogin::Shared) };
    if *login.get_ref() == raw::LoginKind::Shared {
        return Ok(ServerLogin::Shared);
    }
    if server.url.is_none() {
        let why = "login = \"caller\" requires url; a program has one login for all callers";
        return Err(text.error_at(login.span(), why));
    }
    if let Some(header) =
        server.headers.keys().find(|name| name.get_ref().eq_ignore_ascii_case("authorization"))
    {
        let why = "with login = \"caller\", each caller has an Authorization header; remove this one";
        return Err(text.error_at(header.span(), why));
    }
    if server.preconnect {
        let why = "login = \"caller\" and preconnect exclude each other: a caller's connection starts with its call";
        return Err(text.error_at(login.span(), why));
    }
    if let Some(grant) = server.oauth.as_ref().and_then(|oauth| oauth.get_ref().grant.as_ref())
        && *grant.get_ref() == raw::GrantKind::ClientCredentials
    {
        let why = "with login = \"caller\", users log in; remove grant = \"client-credentials\"";
        return Err(text.error_at(grant.span(), why));
    }
    Ok(ServerLogin::Caller)
}

/// Checks that the clients have an id, and one way to authenticate.
fn check_credentials(text: &ConfigText, given: &raw::RawOAuth) -> Result<(), ConfigError> {
    match (&given.client_id, &given.client_secret, &given.private_key) {
        (None, Some(secret), _) => {
            return Err(text.error_at(secret.span(), "client_secret requires client_id"));
        }
        (None, _, Some(key)) => return Err(text.error_at(key.span(), "private_key requires client_id")),
        (_, secret, key) => check_one_credential(text, secret.as_ref(), key.as_ref())?,
    }
    let Some(provider) = &given.identity_provider else { return Ok(()) };
    if let Some(grant) = &given.grant {
        let why =
            "grant and identity_provider exclude each other: with an identity provider, users sign in there";
        return Err(text.error_at(grant.span(), why));
    }
    if given.client_id.is_none() {
        let why = "identity_provider needs client_id and issuer, the client that the provider knows at the server's \
            authorization server";
        return Err(text.error_at(provider.span(), why));
    }
    let provider = provider.get_ref();
    check_one_credential(text, provider.client_secret.as_ref(), provider.private_key.as_ref())
}

fn check_one_credential(
    text: &ConfigText,
    secret: Option<&Spanned<String>>,
    key: Option<&Spanned<String>>,
) -> Result<(), ConfigError> {
    let (Some(_), Some(key)) = (secret, key) else { return Ok(()) };
    let why = "private_key and client_secret exclude each other; remove the one that the client was not registered \
        with";
    Err(text.error_at(key.span(), why))
}

/// Validates `grant`. A client that logs in as itself needs a secret or a key.
fn grant(
    text: &ConfigText,
    given: Option<&Spanned<raw::GrantKind>>,
    has_credential: bool,
) -> Result<LoginGrant, ConfigError> {
    match given {
        Some(grant) if *grant.get_ref() == raw::GrantKind::ClientCredentials => {
            let why =
                "grant = \"client-credentials\" needs client_id, issuer, and client_secret or private_key";
            if has_credential {
                Ok(LoginGrant::ClientCredentials)
            } else {
                Err(text.error_at(grant.span(), why))
            }
        }
        _ => Ok(LoginGrant::AuthorizationCode),
    }
}

impl TemplateFiller<'_> {
    /// Validates `[servers.NAME.oauth]`: login settings that are known before the server is contacted.
    pub(super) fn login(&mut self, given: &raw::RawOAuth) -> Result<LoginSettings, ConfigError> {
        let text = self.text;
        check_credentials(text, given)?;
        // Without an issuer, the server could choose who receives the client's credentials.
        if let (Some(id), None) = (&given.client_id, &given.issuer) {
            let (key, place) = match (&given.client_secret, &given.private_key) {
                (Some(secret), _) => ("client_secret needs", secret),
                (None, Some(key)) => ("private_key needs", key),
                (None, None) => ("client_id needs", id),
            };
            let why = format!(
                "{key} an issuer; write issuer = \"https://…\", the address of the authorization server that the \
                client is registered at"
            );
            return Err(text.error_at(place.span(), why));
        }
        let client_id = given.client_id.as_ref().map(|id| self.fill(id)).transpose()?;
        let client_secret =
            given.client_secret.as_ref().map(|secret| self.value("client_secret", secret)).transpose()?;
        let private_key = given.private_key.as_ref().map(|key| self.value("private_key", key)).transpose()?;
        let letter = |c: char| c.is_ascii_graphic() && !matches!(c, '"' | '\\');
        let is_scope = |scope: &str| !scope.is_empty() && scope.chars().all(letter);
        if let Some(scope) = given.scopes.iter().find(|scope| !is_scope(scope.get_ref())) {
            let why = format!("'{}' is not a scope; scopes are a list of words", quoted(scope.get_ref(), 64));
            return Err(text.error_at(scope.span(), why));
        }
        let issuer = given.issuer.as_ref().map(|issuer| self.issuer(issuer)).transpose()?;
        let port = |port: &Spanned<i64>| {
            let fits = u16::try_from(*port.get_ref()).ok().filter(|port| *port > 0);
            let why = || format!("redirect_port must be 1 to 65535, not {}", port.get_ref());
            text.at(port, fits.ok_or_else(why))
        };
        let has_credential = client_secret.is_some() || private_key.is_some();
        let grant = match &given.identity_provider {
            Some(provider) => LoginGrant::IdentityProvider(self.identity_provider(provider.get_ref())?),
            None => grant(text, given.grant.as_ref(), has_credential)?,
        };
        let client = client_id.map(|id| NamedClient { id, secret: client_secret, private_key });
        Ok(LoginSettings {
            issuer: issuer.map(|url| NamedIssuer { url, client }),
            scopes: given.scopes.iter().map(|scope| scope.get_ref().clone()).collect(),
            redirect_port: given.redirect_port.as_ref().map(port).transpose()?,
            grant,
        })
    }

    fn identity_provider(&mut self, given: &raw::RawIdentityProvider) -> Result<NamedIssuer, ConfigError> {
        let url = self.issuer(&given.issuer)?;
        let id = self.fill(&given.client_id)?;
        let secret =
            given.client_secret.as_ref().map(|secret| self.value("client_secret", secret)).transpose()?;
        let private_key = given.private_key.as_ref().map(|key| self.value("private_key", key)).transpose()?;
        Ok(NamedIssuer { url, client: Some(NamedClient { id, secret, private_key }) })
    }

    fn issuer(&mut self, given: &Spanned<String>) -> Result<String, ConfigError> {
        let url = self.fill(given)?;
        // If a variable is not yet set, the login checks the URL later.
        if url.contains("${") || url.starts_with("https://") || url.starts_with("http://") {
            return Ok(url);
        }
        Err(self.text.error_at(given.span(), "issuer must be an address such as https://auth.example.com"))
    }
}
