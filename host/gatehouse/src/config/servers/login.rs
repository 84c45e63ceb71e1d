//! `login` of `[servers.NAME]`: whose login to the server a call uses.

use gatehouse_core::ports::servers::ServerLogin;

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
    Ok(ServerLogin::Caller)
}
