//! Authentication at registries: the challenge of a 401 and the token that answers it.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use gatehouse_core::names::quoted;
use gatehouse_net::{
    Url,
    header::{HeaderMap, HeaderValue, WWW_AUTHENTICATE},
};
use serde::Deserialize;

use super::{Credentials, RegistryError};
use crate::login::auth_challenges;

/// Registry hosts and token service hosts that belong together despite different names. Any other service gets no
/// credentials, because only the registry's answer vouches for it.
const TOKEN_SERVICES: [(&str, &str); 2] =
    [("registry-1.docker.io", "auth.docker.io"), ("registry.gitlab.com", "gitlab.com")];

pub(super) fn may_receive_credentials(home: &Url, service: &Url) -> bool {
    let listed = |url: &Url| url.scheme() == "https" && url.port().is_none();
    let pair = (home.host_str().unwrap_or_default(), service.host_str().unwrap_or_default());
    home.origin() == service.origin() || (listed(home) && listed(service) && TOKEN_SERVICES.contains(&pair))
}

/// Supported challenge (RFC 7617, or the token protocol of the distribution project).
#[derive(Debug, PartialEq, Eq)]
pub(super) enum SupportedChallenge {
    Basic,
    Bearer { realm: String, service: Option<String> },
}

impl SupportedChallenge {
    /// Returns the first supported challenge, preferably for a token.
    pub(super) fn from_headers(headers: &HeaderMap) -> Option<Self> {
        let values = headers.get_all(WWW_AUTHENTICATE).iter().filter_map(|value| value.to_str().ok());
        let challenges: Vec<_> = values.flat_map(auth_challenges).collect();
        let bearer = challenges.iter().filter(|challenge| challenge.is("bearer")).find_map(|challenge| {
            let realm = challenge.parameter("realm")?.to_owned();
            Some(Self::Bearer { realm, service: challenge.parameter("service").map(str::to_owned) })
        });
        bearer.or_else(|| challenges.iter().any(|challenge| challenge.is("basic")).then_some(Self::Basic))
    }
}

/// Returns the `Authorization` value for a password. Marked sensitive, so `Debug` hides it.
pub(super) fn basic(credentials: &Credentials) -> Result<HeaderValue, RegistryError> {
    let pair = STANDARD.encode(format!("{}:{}", credentials.user, credentials.password));
    secret(&format!("Basic {pair}"))
}

pub(super) fn bearer(answer: &[u8]) -> Result<HeaderValue, RegistryError> {
    #[derive(Deserialize)]
    struct RegistryToken {
        token: Option<String>,
        access_token: Option<String>,
    }
    let issued: Option<RegistryToken> = serde_json::from_slice(answer).ok();
    let token = issued.and_then(|issued| issued.token.or(issued.access_token));
    let token = token.ok_or_else(|| RegistryError::new("the token service sent no token"))?;
    secret(&format!("Bearer {token}"))
}

fn secret(text: &str) -> Result<HeaderValue, RegistryError> {
    let value = HeaderValue::from_str(text);
    let mut value =
        value.map_err(|_| RegistryError::new("the token has characters that a header cannot contain"))?;
    value.set_sensitive(true);
    Ok(value)
}

/// Returns the URL that issues a token for one repository. The scope is never the registry's: only the required
/// actions.
pub(super) fn token_url(
    realm: &str,
    service: Option<&str>,
    repository: &str,
    actions: &str,
) -> Result<Url, RegistryError> {
    let mut url = Url::parse(realm).map_err(|_| {
        let quoted_realm = quoted(realm, 100);
        RegistryError::new(format!(
            "the registry names a token service with an invalid URL: '{quoted_realm}'"
        ))
    })?;
    let mut query = url.query_pairs_mut();
    if let Some(service) = service {
        query.append_pair("service", service);
    }
    query.append_pair("scope", &format!("repository:{repository}:{actions}"));
    drop(query);
    Ok(url)
}

#[cfg(test)]
mod tests;
