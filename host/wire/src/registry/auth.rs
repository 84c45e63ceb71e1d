//! Authentication at registries: the challenge of a 401 and the token that answers it.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use gatehouse_core::names::quoted;
use gatehouse_net::{
    Url,
    header::{HeaderMap, HeaderValue, WWW_AUTHENTICATE},
};
use serde::Deserialize;

use super::{Credentials, RegistryError};

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
pub(super) enum AuthChallenge {
    Basic,
    Bearer { realm: String, service: Option<String> },
}

impl AuthChallenge {
    /// Returns the first supported challenge, preferably for a token.
    pub(super) fn from_headers(headers: &HeaderMap) -> Option<Self> {
        let told = || headers.get_all(WWW_AUTHENTICATE).iter().filter_map(|value| value.to_str().ok());
        let bearer = told().find_map(|value| {
            let parameters = parameters(after_scheme(value, "bearer")?);
            let find = |wanted: &str| {
                parameters.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.clone())
            };
            Some(Self::Bearer { realm: find("realm")?, service: find("service") })
        });
        bearer.or_else(|| told().any(|value| after_scheme(value, "basic").is_some()).then_some(Self::Basic))
    }
}

fn after_scheme<'a>(value: &'a str, scheme: &str) -> Option<&'a str> {
    let (word, rest) = value.trim().split_once(' ').unwrap_or((value.trim(), ""));
    word.eq_ignore_ascii_case(scheme).then_some(rest)
}

/// Parses `name="value", name=value`. Names become lower case.
fn parameters(text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some((name, after)) = rest.split_once('=') {
        let name = name.trim_matches([',', ' ', '\t']).to_ascii_lowercase();
        let (value, next) = match after.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"').unwrap_or((quoted, "")),
            None => after.split_once(',').unwrap_or((after, "")),
        };
        found.push((name, value.trim().to_owned()));
        rest = next;
    }
    found
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
        let shown = quoted(realm, 100);
        RegistryError::new(format!("the registry names a token service with an invalid URL: '{shown}'"))
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
mod tests {
    use super::*;

    fn challenge(values: &[&str]) -> Option<AuthChallenge> {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(WWW_AUTHENTICATE, value.parse().expect("a header"));
        }
        AuthChallenge::from_headers(&headers)
    }

    #[test]
    fn challenges_are_read_as_registries_write_them() {
        let bearer = |realm: &str, service: Option<&str>| {
            Some(AuthChallenge::Bearer { realm: realm.into(), service: service.map(str::to_owned) })
        };
        assert_eq!(
            challenge(&[
                r#"Bearer realm="https://auth.example/token",service="r.example",scope="x:y,z:pull""#
            ]),
            bearer("https://auth.example/token", Some("r.example"))
        );
        assert_eq!(challenge(&["bearer Realm=https://a.example"]), bearer("https://a.example", None));
        assert_eq!(challenge(&[r#"Basic realm="x""#]), Some(AuthChallenge::Basic));
        assert_eq!(
            challenge(&[r#"Basic realm="x""#, r#"Bearer realm="https://a""#]),
            bearer("https://a", None)
        );
        assert_eq!(challenge(&["Bearer"]), None);
        assert_eq!(challenge(&["Negotiate"]), None);
        assert_eq!(challenge(&[]), None);
    }

    #[test]
    fn credentials_are_for_the_registry_and_its_own_token_service() {
        let may = |home: &str, service: &str| {
            let url = |text: &str| Url::parse(text).expect("a URL");
            may_receive_credentials(&url(home), &url(service))
        };
        assert!(may("https://r.example/v2/", "https://r.example/token"));
        assert!(may("https://r.example:5000/v2/", "https://r.example:5000/token"));
        assert!(may("https://registry-1.docker.io/v2/", "https://auth.docker.io/token"));
        for (home, service) in [
            ("https://r.example/v2/", "https://r.example:8443/token"),
            ("https://r.example/v2/", "https://auth.r.example/token"),
            ("https://r.example/v2/", "https://auth.docker.io/token"),
            ("https://r.example/v2/", "http://r.example/token"),
            ("https://registry-1.docker.io/v2/", "https://auth.docker.io:444/token"),
            ("https://registry-1.docker.io/v2/", "http://auth.docker.io/token"),
            ("https://registry-1.docker.io/v2/", "https://auth.docker.io.evil.example/token"),
            ("http://127.0.0.1:5000/v2/", "http://127.0.0.1:5001/token"),
        ] {
            assert!(!may(home, service), "{home} {service}");
        }
    }

    #[test]
    fn secrets_are_not_shown() {
        let credentials = Credentials { user: "u".into(), password: "hunter2".into() };
        let header = basic(&credentials).expect("a header");
        assert_eq!(header.to_str().ok(), Some("Basic dTpodW50ZXIy"));
        assert!(!format!("{header:?}{credentials:?}").contains("hunter2"));
        assert!(!format!("{header:?}").contains("dTpodW50"), "{header:?}");
        assert!(bearer(b"{}").is_err() && bearer(b"garbage").is_err());
        assert!(bearer(br#"{"token": "a\r\nb"}"#).is_err());
    }
}
