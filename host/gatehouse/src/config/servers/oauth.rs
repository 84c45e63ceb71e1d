//! `[servers.NAME.oauth]`, validated: login settings that are known before the server is contacted.

use gatehouse_core::names::quoted;
use gatehouse_wire::login::{LoginSettings, NamedClient, NamedIssuer};
use toml::Spanned;

use super::transport::TemplateFiller;
use crate::config::{ConfigError, raw};

pub(super) fn read(
    filler: &mut TemplateFiller<'_>,
    given: &raw::RawOAuth,
) -> Result<LoginSettings, ConfigError> {
    let text = filler.text;
    if let (None, Some(secret)) = (&given.client_id, &given.client_secret) {
        return Err(text.error_at(secret.span(), "client_secret requires client_id"));
    }
    // Without an issuer, the server could choose who receives the client's credentials.
    if let (Some(id), None) = (&given.client_id, &given.issuer) {
        let key = if given.client_secret.is_some() { "client_secret needs" } else { "client_id needs" };
        let place = given.client_secret.as_ref().unwrap_or(id).span();
        let why = format!(
            "{key} an issuer; write issuer = \"https://…\", the address of the authorization server that the client \
             is registered at"
        );
        return Err(text.error_at(place, why));
    }
    let client_id = given.client_id.as_ref().map(|id| filler.fill(id)).transpose()?;
    let secret = given.client_secret.as_ref();
    let client_secret = secret.map(|secret| filler.value("client_secret", secret)).transpose()?;
    for scope in &given.scopes {
        let letter = |c: char| c.is_ascii_graphic() && !matches!(c, '"' | '\\');
        if scope.get_ref().is_empty() || !scope.get_ref().chars().all(letter) {
            let why = format!("'{}' is not a scope; scopes are a list of words", quoted(scope.get_ref(), 64));
            return Err(text.error_at(scope.span(), why));
        }
    }
    let issuer = given.issuer.as_ref().map(|issuer| address(filler, issuer)).transpose()?;
    let port = |port: &Spanned<i64>| {
        let fits = u16::try_from(*port.get_ref()).ok().filter(|port| *port > 0);
        fits.ok_or_else(|| {
            let why = format!("redirect_port must be 1 to 65535, not {}", port.get_ref());
            text.error_at(port.span(), why)
        })
    };
    let client = client_id.map(|id| NamedClient { id, secret: client_secret });
    Ok(LoginSettings {
        issuer: issuer.map(|url| NamedIssuer { url, client }),
        scopes: given.scopes.iter().map(|scope| scope.get_ref().clone()).collect(),
        redirect_port: given.redirect_port.as_ref().map(port).transpose()?,
    })
}

fn address(filler: &mut TemplateFiller<'_>, given: &Spanned<String>) -> Result<String, ConfigError> {
    let url = filler.fill(given)?;
    // If a variable is not yet set, the login checks the URL later.
    if url.contains("${") || url.starts_with("https://") || url.starts_with("http://") {
        return Ok(url);
    }
    Err(filler.text.error_at(given.span(), "issuer must be an address such as https://auth.example.com"))
}
