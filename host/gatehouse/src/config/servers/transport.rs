//! Transport and login of a server, with environment variables filled in.

use std::{collections::BTreeMap, path::Path};

use gatehouse_core::{
    http::{Secret, SecretTemplate, header},
    names::quoted,
    ports::servers::ServerTransport,
};
use gatehouse_wire::login::LoginSettings;
use toml::Spanned;

use super::redaction::RedactionValues;
use crate::config::{
    ConfigError, Env,
    credentials::{self, CredentialSpan},
    error::ConfigText,
    raw,
};

/// Headers that the protocol sets on each request to a server.
const PROTOCOL_HEADERS: [&str; 5] =
    ["accept", "content-type", "last-event-id", "mcp-protocol-version", "mcp-session-id"];

pub(super) struct ServerKeys {
    pub(super) transport: ServerTransport,
    pub(super) login: LoginSettings,
    pub(super) variables: Vec<String>,
    pub(super) missing: Vec<String>,
    pub(super) secrets: Vec<Secret>,
    pub(super) literals: Vec<String>,
}

/// Fills in templates and records variables, secrets and literal credentials.
pub(super) struct TemplateFiller<'a> {
    pub(super) text: &'a ConfigText,
    env: &'a Env,
    variables: Vec<String>,
    missing: Vec<String>,
    redaction: RedactionValues,
    literals: Vec<String>,
}

pub(super) fn read(
    text: &ConfigText,
    name: &Spanned<String>,
    server: raw::RawServer,
    base: Option<&Path>,
    env: &Env,
) -> Result<ServerKeys, ConfigError> {
    let mut filler = TemplateFiller {
        text,
        env,
        variables: Vec::new(),
        missing: Vec::new(),
        redaction: RedactionValues::default(),
        literals: Vec::new(),
    };
    let asked = server.transport.as_ref().map(|transport| *transport.get_ref());
    let here = |why: &str| match &server.transport {
        Some(transport) => text.error_at(transport.span(), why),
        None => text.error_at(name.span(), why),
    };
    let shown = name.get_ref();
    let transport = match (&server.command, &server.url) {
        (Some(_), Some(url)) => {
            let why =
                format!("server '{shown}' has both command and url; it is either a program or an address");
            return Err(text.error_at(url.span(), why));
        }
        (None, None) => {
            let why = format!("server '{shown}' needs a command (a program) or a url (an address)");
            return Err(text.error_at(name.span(), why));
        }
        (Some(command), None) => {
            if matches!(asked, Some(raw::TransportKind::Http | raw::TransportKind::Sse)) {
                return Err(here("a command uses \"stdio\"; \"http\" and \"sse\" require url"));
            }
            if let Some((header, _)) = server.headers.first_key_value() {
                return Err(text.error_at(header.span(), "headers require url; for a command, use env"));
            }
            if let Some(oauth) = &server.oauth {
                return Err(text.error_at(oauth.span(), "oauth requires url; a program logs in by itself"));
            }
            filler.program(command, &server, base)?
        }
        (None, Some(url)) => {
            let other = server.args.first().map(|arg| ("args", arg.span()));
            let other = other.or_else(|| server.env.keys().next().map(|key| ("env", key.span())));
            let other = other.or_else(|| server.cwd.as_ref().map(|cwd| ("cwd", cwd.span())));
            if let Some((key, place)) = other {
                return Err(text.error_at(place, format!("{key} requires command; for a url, use headers")));
            }
            let url = filler.address(url)?;
            let headers = filler.headers(&server.headers)?;
            match asked {
                Some(raw::TransportKind::Stdio) => {
                    return Err(here("a url uses \"http\" or \"sse\"; \"stdio\" requires command"));
                }
                Some(raw::TransportKind::Sse) => ServerTransport::Sse { url, headers },
                Some(raw::TransportKind::Http) | None => ServerTransport::Http { url, headers },
            }
        }
    };
    let login = server.oauth.as_ref().map(|given| filler.login(given.get_ref()));
    let login = login.transpose()?.unwrap_or_default();
    let TemplateFiller { mut variables, mut missing, redaction, literals, .. } = filler;
    let secrets = redaction.secrets(text, server.redact.as_ref())?;
    for list in [&mut variables, &mut missing] {
        list.sort();
        list.dedup();
    }
    Ok(ServerKeys { transport, login, variables, missing, secrets, literals })
}

impl TemplateFiller<'_> {
    /// Fills in the variables of a text. Returns the text as written if a variable is not set.
    pub(super) fn fill(&mut self, given: &Spanned<String>) -> Result<String, ConfigError> {
        let typed = given.get_ref();
        if typed.contains('\0') {
            return Err(self.text.error_at(given.span(), "NUL characters are not allowed"));
        }
        let template = self.text.at(given, SecretTemplate::parse_text(typed))?;
        let lookup = |name: &str| self.env.secret(name);
        self.variables.extend(template.variables().map(str::to_owned));
        let unset: Vec<String> =
            template.variables().filter(|name| lookup(name).is_none()).map(str::to_owned).collect();
        for (name, value) in template.variables().filter_map(|name| Some((name, lookup(name)?))) {
            self.redaction.variable(name, &value);
        }
        self.missing.extend(unset);
        Ok(template.expand(lookup).unwrap_or_else(|_| typed.clone()))
    }

    /// Fills in a named value. A credential in it is secret even if it is written in the file.
    pub(super) fn value(&mut self, name: &str, given: &Spanned<String>) -> Result<Secret, ConfigError> {
        let value = Secret::new(self.fill(given)?);
        let found = credentials::in_value(name, given.get_ref());
        self.literals(name, given.get_ref(), found);
        self.redaction.add_named(name, value.reveal());
        self.redaction.credentials(value.reveal(), credentials::in_value(name, value.reveal()));
        Ok(value)
    }

    /// Records credentials that are literals in this text. Messages call it `place`.
    fn literals(&mut self, place: &str, text: &str, found: impl IntoIterator<Item = CredentialSpan>) {
        for CredentialSpan { range, name } in found {
            self.redaction.credentials(text, [CredentialSpan { range, name: None }]);
            let name = name.filter(|name| name != place).map(|name| format!(" ({name})"));
            self.literals.push(format!("{place}{}", name.unwrap_or_default()));
        }
    }

    fn program(
        &mut self,
        command: &Spanned<String>,
        server: &raw::RawServer,
        base: Option<&Path>,
    ) -> Result<ServerTransport, ConfigError> {
        let mut program = self.fill(command)?;
        if program.trim().is_empty() {
            return Err(self.text.error_at(command.span(), "command is empty"));
        }
        if let Some(base) = base.filter(|_| program.contains('/')) {
            program = base.join(program).display().to_string();
        }
        let args: Vec<String> = server.args.iter().map(|arg| self.fill(arg)).collect::<Result<_, _>>()?;
        let filled: Vec<&str> = args.iter().map(String::as_str).collect();
        for (arg, found) in filled.iter().zip(credentials::in_args(&filled)) {
            self.redaction.credentials(arg, found);
        }
        let typed: Vec<&str> = server.args.iter().map(|arg| arg.get_ref().as_str()).collect();
        for (index, found) in credentials::in_args(&typed).into_iter().enumerate() {
            self.literals(&format!("args[{index}]"), typed[index], found);
        }
        let mut env = Vec::new();
        for (name, value) in &server.env {
            if name.get_ref().is_empty() || name.get_ref().contains(['=', '\0']) {
                let why = format!("'{}' is not a valid variable name", quoted(name.get_ref(), 64));
                return Err(self.text.error_at(name.span(), why));
            }
            env.push((name.get_ref().clone(), self.value(name.get_ref(), value)?));
        }
        let cwd = server.cwd.as_ref().map(|cwd| self.fill(cwd)).transpose()?;
        let cwd = match (base, cwd) {
            (Some(base), cwd) => Some(base.join(cwd.unwrap_or_default())),
            (None, Some(cwd)) => Some(std::path::absolute(&cwd).unwrap_or_else(|_| cwd.into())),
            (None, None) => None,
        };
        Ok(ServerTransport::Stdio { command: program, args, env, cwd })
    }

    fn address(&mut self, given: &Spanned<String>) -> Result<String, ConfigError> {
        let unset = self.missing.len();
        let url = self.fill(given)?;
        self.literals("url", given.get_ref(), credentials::in_url(given.get_ref()));
        self.redaction.credentials(&url, credentials::in_url(&url));
        let bad = |why: &str| self.text.error_at(given.span(), why);
        // A URL with unset variables is checked when they are set.
        if self.missing.len() > unset {
            return Ok(url);
        }
        let rest = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://"));
        let rest = rest.ok_or_else(|| bad("url must begin with http:// or https://"))?;
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        if authority.contains('@') {
            return Err(bad("url must not contain a password; put it in headers, as ${NAME}"));
        }
        if authority.is_empty() || url.contains(|c: char| c.is_whitespace() || c.is_control()) {
            return Err(bad("url is not an address such as https://mcp.example.com/mcp"));
        }
        Ok(url)
    }

    fn headers(
        &mut self,
        given: &BTreeMap<Spanned<String>, Spanned<String>>,
    ) -> Result<Vec<(String, Secret)>, ConfigError> {
        let mut headers = Vec::new();
        for (name, value) in given {
            let shown = quoted(name.get_ref(), 64);
            if !header::is_name(name.get_ref()) || header::is_framing(name.get_ref()) {
                let why = format!("'{shown}' is not a header name that can be set");
                return Err(self.text.error_at(name.span(), why));
            }
            if PROTOCOL_HEADERS.iter().any(|own| name.get_ref().eq_ignore_ascii_case(own)) {
                let why =
                    format!("header '{shown}' belongs to the protocol: Gatehouse sets it itself. Remove it");
                return Err(self.text.error_at(name.span(), why));
            }
            self.text.at(value, SecretTemplate::parse(value.get_ref()))?;
            // Keys read from files end in a line break.
            let filled = Secret::new(self.value(name.get_ref(), value)?.reveal().trim());
            if !header::is_value(filled.reveal().as_bytes()) {
                // An invalid header value counts as a missing variable: it disables this server only.
                let template = SecretTemplate::parse_text(value.get_ref()).ok();
                let named = template.iter().flat_map(SecretTemplate::variables).map(str::to_owned);
                self.missing.extend(named);
            }
            headers.push((name.get_ref().clone(), filled));
        }
        Ok(headers)
    }
}
