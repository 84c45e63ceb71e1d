//! `login` and `oauth.grant` of `[servers.NAME]`: whose login to the server a call uses, and how it is granted.

use gatehouse_core::ports::servers::ServerLogin;
use gatehouse_wire::login::LoginGrant;
use toml::Spanned;

use super::super::{ConfigError, error::ConfigText, raw};

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

/// Checks that a client has an id, and one way to authenticate.
pub(super) fn check_credentials(text: &ConfigText, given: &raw::RawOAuth) -> Result<(), ConfigError> {
    match (&given.client_id, &given.client_secret, &given.private_key) {
        (None, Some(secret), _) => Err(text.error_at(secret.span(), "client_secret requires client_id")),
        (None, _, Some(key)) => Err(text.error_at(key.span(), "private_key requires client_id")),
        (_, Some(_), Some(key)) => {
            let why = "private_key and client_secret exclude each other; remove the one that the client was not \
                registered with";
            Err(text.error_at(key.span(), why))
        }
        _ => Ok(()),
    }
}

/// Validates `grant`. A client that logs in as itself needs a secret or a key.
pub(super) fn grant(
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
