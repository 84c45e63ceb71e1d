//! `[auth]`, as written and validated.

use std::collections::BTreeMap;

use gatehouse_auth::{AuthSettings, IntrospectionSettings, IssuerSettings, SigningAlgorithm, Url};
use gatehouse_core::{http::SecretTemplate, names::quoted};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{ConfigError, ConfigText, Env, TextValue, effect};

/// Names that other kinds of principals have.
const RESERVED_NAMES: [&str; 4] = ["group", "key", "local", "token"];

const MAX_ISSUER_NAME: usize = 32;

/// Callers over HTTP: with this block, each needs an API key (`gatehouse keys`) or an access token of an issuer. Takes
/// effect at the next start.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Auth {
    /// Whether GATEHOUSE_TOKEN is accepted as well, as the principal "token". False by default.
    pub(crate) token: bool,
    /// Address of this host for clients, such as "https://tools.example.com". Issuers require it.
    pub(crate) url: Option<TextValue<String>>,
    /// Issuers of access tokens, by the name that begins their principals.
    pub(crate) issuers: BTreeMap<TextValue<String>, Issuer>,
}

/// An OAuth authorization server whose access tokens are accepted.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Issuer {
    /// Its issuer identifier, exactly as in its metadata and tokens.
    pub(crate) issuer: TextValue<String>,
    /// The only accepted audience. Default: the URL of the preset, or of the host.
    #[serde(default)]
    pub(crate) audience: Option<TextValue<String>>,
    /// Claim with the user, or a JSON pointer to one: "sub" by default.
    #[serde(default)]
    pub(crate) user_claim: Option<TextValue<String>>,
    /// Claim with the groups, or a JSON pointer to one: "groups" by default.
    #[serde(default)]
    pub(crate) groups_claim: Option<TextValue<String>>,
    /// Accepted signature algorithms: "RS256", "PS256", "ES256" and "EdDSA" by default.
    #[serde(default)]
    pub(crate) algorithms: Vec<TextValue<String>>,
    /// Strongest effect for each scope: "read-only", "mutating" or "external-exec". With this, a token needs one of the
    /// scopes.
    #[serde(default)]
    pub(crate) scopes: BTreeMap<TextValue<String>, TextValue<String>>,
    /// Endpoint that checks opaque tokens.
    #[serde(default)]
    pub(crate) introspection: Option<Introspection>,
}

/// Token introspection (RFC 7662).
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Introspection {
    /// Address of the introspection endpoint.
    pub(crate) url: TextValue<String>,
    /// The client that you registered for this host.
    pub(crate) client_id: String,
    /// The secret of that client: "${NAME}".
    pub(crate) client_secret: TextValue<String>,
}

pub(super) fn validate(text: &ConfigText, raw: &Auth, env: &Env) -> Result<AuthSettings, ConfigError> {
    let base_url = raw.url.as_ref().map(|url| text.at(url, base_url(url))).transpose()?;
    if let (None, Some(name)) = (&base_url, raw.issuers.keys().next()) {
        bail_at!(
            text,
            name,
            "issuers need url under [auth]: the address of this host, which access tokens are issued for"
        );
    }
    let mut issuers: Vec<IssuerSettings> = Vec::new();
    for (name, raw_issuer) in &raw.issuers {
        let checked = issuer(text, name, raw_issuer, env)?;
        if let Some(same) = issuers.iter().find(|settings| settings.issuer == checked.issuer) {
            let (first, second) = (&same.name, &checked.name);
            bail_at!(text, raw_issuer.issuer, "issuers '{first}' and '{second}' have the same address");
        }
        if let (Some(second), Some(first)) =
            (&raw_issuer.introspection, issuers.iter().find(|settings| settings.introspection.is_some()))
        {
            bail_at!(
                text,
                second.url,
                "issuer '{}' has introspection already; only one can have it, because opaque tokens do not name their issuer",
                first.name
            );
        }
        issuers.push(checked);
    }
    Ok(AuthSettings { token: raw.token, base_url, issuers })
}

fn issuer(
    text: &ConfigText,
    name: &TextValue<String>,
    raw: &Issuer,
    env: &Env,
) -> Result<IssuerSettings, ConfigError> {
    text.at(name, check_name(name))?;
    text.at(&raw.issuer, secure_url(&raw.issuer).map(drop))?;
    let claim = |setting: &Option<TextValue<String>>, default: &str| match setting {
        None => Ok(default.to_owned()),
        Some(claim) if claim.trim_start_matches('/').is_empty() => {
            bail_at!(text, claim, "the name of the claim is empty")
        }
        Some(claim) => Ok(claim.to_string()),
    };
    let mut algorithms = Vec::new();
    for algorithm in &raw.algorithms {
        let parsed = SigningAlgorithm::parse(algorithm).ok_or_else(|| {
            let names = SigningAlgorithm::NAMES.join(", ");
            format!("unknown algorithm '{}'; the asymmetric ones are {names}", quoted(algorithm, 32))
        });
        algorithms.push(text.at(algorithm, parsed)?);
    }
    if algorithms.is_empty() {
        algorithms = SigningAlgorithm::DEFAULTS.to_vec();
    }
    let mut scopes = BTreeMap::new();
    for (scope, word) in &raw.scopes {
        let letter = |c: char| c.is_ascii_graphic() && !matches!(c, '"' | '\\');
        if scope.is_empty() || !scope.chars().all(letter) {
            bail_at!(text, scope, "'{}' is not a scope; a scope is one word", quoted(scope, 64));
        }
        let parsed_effect = effect(word).ok_or_else(|| {
            let display_word = quoted(word, 32);
            format!("unknown effect '{display_word}'; effects are read-only, mutating and external-exec")
        });
        scopes.insert(scope.to_string(), text.at(word, parsed_effect)?);
    }
    Ok(IssuerSettings {
        name: name.to_string(),
        issuer: raw.issuer.to_string(),
        audience: raw.audience.as_ref().map(|audience| audience.to_string()),
        user_claim: claim(&raw.user_claim, "sub")?,
        groups_claim: claim(&raw.groups_claim, "groups")?,
        algorithms,
        scopes,
        introspection: raw
            .introspection
            .as_ref()
            .map(|section| introspection(text, section, env))
            .transpose()?,
    })
}

fn introspection(
    text: &ConfigText,
    raw: &Introspection,
    env: &Env,
) -> Result<IntrospectionSettings, ConfigError> {
    let url = text.at(&raw.url, secure_url(&raw.url))?;
    let template = text.at(&raw.client_secret, SecretTemplate::parse_text(&raw.client_secret))?;
    if template.variables().is_empty() {
        bail_at!(
            text,
            raw.client_secret,
            "a secret belongs in the environment; write client_secret = \"${{NAME}}\""
        );
    }
    let resolved = template.resolve(&|name| env.secret(name));
    let client_secret = match resolved.missing.first() {
        // Secrets read from files end in a line break.
        None => Ok(gatehouse_core::http::Secret::new(resolved.text.trim())),
        Some(variable) => Err((*variable).to_owned()),
    };
    Ok(IntrospectionSettings { url, client_id: raw.client_id.clone(), client_secret })
}

fn check_name(name: &str) -> Result<(), String> {
    let letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if RESERVED_NAMES.contains(&name) {
        return Err(format!("an issuer cannot be named '{name}', because other principals have that name"));
    }
    if (1..=MAX_ISSUER_NAME).contains(&name.len()) && name.bytes().all(letter) {
        return Ok(());
    }
    let display_name = quoted(name, 64);
    Err(format!(
        "'{display_name}' cannot be the name of an issuer: it has 1 to {MAX_ISSUER_NAME} characters a-z, 0-9 and -"
    ))
}

/// Parses an address that is https, or http on this machine.
fn secure_url(address: &str) -> Result<Url, String> {
    let display_url = quoted(address, 100);
    let url = Url::parse(address)
        .map_err(|_| format!("'{display_url}' is not an address such as https://auth.example.com"))?;
    let is_loopback = matches!(url.host_str(), Some("localhost" | "127.0.0.1" | "[::1]"));
    if url.scheme() != "https" && !(url.scheme() == "http" && is_loopback) {
        return Err(format!("'{display_url}' must begin with https://; http:// works only on this machine"));
    }
    if !url.username().is_empty() || url.password().is_some() || url.fragment().is_some() {
        return Err(format!("'{display_url}' must not have a user name, password or fragment"));
    }
    Ok(url)
}

/// Returns the address without the final slash.
fn base_url(address: &str) -> Result<String, String> {
    let url = secure_url(address)?;
    if url.path() != "/" || url.query().is_some() {
        let display_url = quoted(address, 100);
        return Err(format!("'{display_url}' must not have a path: clients add /mcp and /mcp/p/PRESET"));
    }
    Ok(url.as_str().trim_end_matches('/').to_owned())
}

#[cfg(test)]
mod tests;
