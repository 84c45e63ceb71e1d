//! `login` and `oauth` of `[servers.NAME]`: whose login to the server a call uses, and how it is granted.

use gatehouse_core::{names::quoted, ports::servers::ServerLogin};
use gatehouse_wire::login::{LoginGrant, LoginSettings, NamedClient, NamedIssuer};

use super::{
    super::{ConfigError, ConfigText, TextValue, raw},
    transport::TemplateFiller,
};

/// Validates `login`: principals sign in to an address, and nothing else authenticates there.
pub(super) fn validate(text: &ConfigText, server: &raw::Server) -> Result<ServerLogin, ConfigError> {
    let Some(login) = server.login.as_ref().filter(|login| ***login == raw::LoginKind::Caller) else {
        return Ok(ServerLogin::Shared);
    };
    if server.url.is_none() {
        bail_at!(text, login, "login = \"caller\" requires url; a program has one login for all callers");
    }
    if let Some(header) = server.headers.keys().find(|name| name.eq_ignore_ascii_case("authorization")) {
        bail_at!(
            text,
            header,
            "with login = \"caller\", each caller has an Authorization header; remove this one"
        );
    }
    if server.preconnect {
        bail_at!(
            text,
            login,
            "login = \"caller\" and preconnect exclude each other: a caller's connection starts with its call"
        );
    }
    if let Some(grant) = server.oauth.as_ref().and_then(|oauth| oauth.grant.as_ref())
        && **grant == raw::GrantKind::ClientCredentials
    {
        bail_at!(text, grant, "with login = \"caller\", users log in; remove grant = \"client-credentials\"");
    }
    Ok(ServerLogin::Caller)
}

/// Checks that the clients have an id, and one way to authenticate.
fn check_credentials(text: &ConfigText, given: &raw::OAuth) -> Result<(), ConfigError> {
    match (&given.client_id, &given.client_secret, &given.private_key) {
        (None, Some(secret), _) => bail_at!(text, secret, "client_secret requires client_id"),
        (None, _, Some(key)) => bail_at!(text, key, "private_key requires client_id"),
        (_, secret, key) => check_one_credential(text, secret.as_ref(), key.as_ref())?,
    }
    let Some(provider) = &given.identity_provider else { return Ok(()) };
    if let Some(grant) = &given.grant {
        bail_at!(
            text,
            grant,
            "grant and identity_provider exclude each other: with an identity provider, users sign in there"
        );
    }
    if given.client_id.is_none() {
        bail_at!(
            text,
            provider,
            "identity_provider needs client_id and issuer, the client that the provider knows at the server's \
            authorization server"
        );
    }
    check_one_credential(text, provider.client_secret.as_ref(), provider.private_key.as_ref())
}

fn check_one_credential(
    text: &ConfigText,
    secret: Option<&TextValue<String>>,
    key: Option<&TextValue<String>>,
) -> Result<(), ConfigError> {
    let (Some(_), Some(key)) = (secret, key) else { return Ok(()) };
    bail_at!(
        text,
        key,
        "private_key and client_secret exclude each other; remove the one that the client was not registered with"
    );
}

impl TemplateFiller<'_> {
    /// Validates `[servers.NAME.oauth]`: login settings that are known before the server is contacted.
    pub(super) fn login(&mut self, given: &raw::OAuth) -> Result<LoginSettings, ConfigError> {
        let text = self.text;
        check_credentials(text, given)?;
        // Without an issuer, the server could choose who receives the client's credentials.
        if let (Some(id), None) = (&given.client_id, &given.issuer) {
            let (key, place) = match (&given.client_secret, &given.private_key) {
                (Some(secret), _) => ("client_secret needs", secret),
                (None, Some(key)) => ("private_key needs", key),
                (None, None) => ("client_id needs", id),
            };
            bail_at!(
                text,
                place,
                "{key} an issuer; write issuer = \"https://…\", the address of the authorization server that the \
                client is registered at"
            );
        }
        let client = self.client(given.client_id.as_ref(), &given.client_secret, &given.private_key)?;
        let letter = |c: char| c.is_ascii_graphic() && !matches!(c, '"' | '\\');
        let is_scope = |scope: &str| !scope.is_empty() && scope.chars().all(letter);
        if let Some(scope) = given.scopes.iter().find(|scope| !is_scope(scope)) {
            bail_at!(text, scope, "'{}' is not a scope; scopes are a list of words", quoted(scope, 64));
        }
        let issuer = given.issuer.as_ref().map(|issuer| self.issuer(issuer)).transpose()?;
        let port = |port: &TextValue<i64>| {
            let fits = u16::try_from(**port).ok().filter(|port| *port > 0);
            text.at(port, fits.ok_or_else(|| format!("redirect_port must be 1 to 65535, not {port}")))
        };
        let grant = match (&given.identity_provider, &given.grant) {
            (Some(provider), _) => LoginGrant::IdentityProvider(self.identity_provider(provider)?),
            (None, Some(grant)) if **grant == raw::GrantKind::ClientCredentials => {
                if given.client_secret.is_none() && given.private_key.is_none() {
                    bail_at!(
                        text,
                        grant,
                        "grant = \"client-credentials\" needs client_id, issuer, and client_secret or private_key"
                    );
                }
                LoginGrant::ClientCredentials
            }
            _ => LoginGrant::AuthorizationCode,
        };
        Ok(LoginSettings {
            issuer: issuer.map(|url| NamedIssuer { url, client }),
            scopes: given.scopes.iter().map(|scope| scope.to_string()).collect(),
            redirect_port: given.redirect_port.as_ref().map(port).transpose()?,
            grant,
        })
    }

    fn identity_provider(&mut self, given: &raw::IdentityProvider) -> Result<NamedIssuer, ConfigError> {
        let url = self.issuer(&given.issuer)?;
        let client = self.client(Some(&given.client_id), &given.client_secret, &given.private_key)?;
        Ok(NamedIssuer { url, client })
    }

    /// Fills in a client. `None` if it has no id.
    fn client(
        &mut self,
        id: Option<&TextValue<String>>,
        secret: &Option<TextValue<String>>,
        private_key: &Option<TextValue<String>>,
    ) -> Result<Option<NamedClient>, ConfigError> {
        let Some(id) = id else { return Ok(None) };
        Ok(Some(NamedClient {
            id: self.fill(id)?,
            secret: secret.as_ref().map(|secret| self.value("client_secret", secret)).transpose()?,
            private_key: private_key.as_ref().map(|key| self.value("private_key", key)).transpose()?,
        }))
    }

    fn issuer(&mut self, given: &TextValue<String>) -> Result<String, ConfigError> {
        let url = self.fill(given)?;
        // If a variable is not yet set, the login checks the URL later.
        if url.contains("${") || url.starts_with("https://") || url.starts_with("http://") {
            return Ok(url);
        }
        bail_at!(self.text, given, "issuer must be an address such as https://auth.example.com");
    }
}
