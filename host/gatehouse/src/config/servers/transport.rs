//! Transport and login of a server, with environment variables filled in.

use std::{collections::BTreeMap, path::Path};

use gatehouse_core::{
    http::{Secret, SecretTemplate, header},
    names::quoted,
    ports::servers::ServerTransport,
};
use gatehouse_wire::login::LoginSettings;

use super::redaction::RedactionValues;
use crate::config::{
    ConfigError, ConfigText, Env, TextValue,
    credentials::{self, CredentialSpan},
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
    pub(super) unredacted: Vec<(String, &'static str)>,
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
    name: &TextValue<String>,
    server: raw::Server,
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
    let kind = server.transport.as_ref();
    let transport = match (&server.command, &server.url) {
        (Some(_), Some(url)) => {
            bail_at!(
                text,
                url,
                "server '{name}' has both command and url; it is either a program or an address"
            )
        }
        (None, None) => {
            bail_at!(text, name, "server '{name}' needs a command (a program) or a url (an address)")
        }
        (Some(command), None) => {
            if let Some(kind) = kind.filter(|kind| ***kind != raw::TransportKind::Stdio) {
                bail_at!(text, kind, "a command uses \"stdio\"; \"http\" and \"sse\" require url");
            }
            if let Some((header, _)) = server.headers.first_key_value() {
                bail_at!(text, header, "headers require url; for a command, use env");
            }
            if let Some(oauth) = &server.oauth {
                bail_at!(text, oauth, "oauth requires url; a program logs in by itself");
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
            match kind.map(|kind| (kind, **kind)) {
                Some((kind, raw::TransportKind::Stdio)) => {
                    bail_at!(text, kind, "a url uses \"http\" or \"sse\"; \"stdio\" requires command")
                }
                Some((_, raw::TransportKind::Sse)) => ServerTransport::Sse { url, headers },
                Some((_, raw::TransportKind::Http)) | None => ServerTransport::Http { url, headers },
            }
        }
    };
    let login = server.oauth.as_ref().map(|oauth| filler.login(oauth));
    let login = login.transpose()?.unwrap_or_default();
    let TemplateFiller { mut variables, mut missing, redaction, literals, .. } = filler;
    let is_default = matches!(server.redact.as_deref(), None | Some(toml::Value::Boolean(true)));
    let unredacted = if is_default { redaction.left_out.clone() } else { Vec::new() };
    let secrets = redaction.secrets(text, server.redact.as_ref())?;
    for list in [&mut variables, &mut missing] {
        list.sort();
        list.dedup();
    }
    Ok(ServerKeys { transport, login, variables, missing, secrets, unredacted, literals })
}

impl TemplateFiller<'_> {
    /// Fills in the variables of a text. Returns the text as written if a variable is not set.
    pub(super) fn fill(&mut self, raw_value: &TextValue<String>) -> Result<String, ConfigError> {
        if raw_value.contains('\0') {
            bail_at!(self.text, raw_value, "NUL characters are not allowed");
        }
        let template = self.text.at(raw_value, SecretTemplate::parse_text(raw_value))?;
        let lookup = |name: &str| self.env.secret(name);
        self.variables.extend(template.variables().into_iter().map(str::to_owned));
        let resolved = template.resolve(&lookup);
        for (name, value) in &resolved.set {
            self.redaction.variable(name, value.reveal());
        }
        self.missing.extend(resolved.missing.iter().map(|name| (*name).to_owned()));
        Ok(if resolved.missing.is_empty() { resolved.text } else { raw_value.to_string() })
    }

    /// Fills in a named value. A credential in it is secret even if it is written in the file.
    pub(super) fn value(&mut self, name: &str, raw_value: &TextValue<String>) -> Result<Secret, ConfigError> {
        let value = Secret::new(self.fill(raw_value)?);
        let span = credentials::in_value(name, raw_value);
        self.literals(name, raw_value, span);
        self.redaction.variable(name, credentials::without_scheme(value.reveal()));
        Ok(value)
    }

    /// Records credentials that are literals in this text. Messages call it `place`.
    fn literals(&mut self, place: &str, text: &str, spans: impl IntoIterator<Item = CredentialSpan>) {
        for CredentialSpan { range, name } in spans {
            self.redaction.credentials(text, [CredentialSpan { range, name: name.clone() }]);
            let name = name.filter(|name| name != place).map(|name| format!(" ({name})"));
            self.literals.push(format!("{place}{}", name.unwrap_or_default()));
        }
    }

    fn program(
        &mut self,
        command: &TextValue<String>,
        server: &raw::Server,
        base: Option<&Path>,
    ) -> Result<ServerTransport, ConfigError> {
        let mut program = self.fill(command)?;
        if program.trim().is_empty() {
            bail_at!(self.text, command, "command is empty");
        }
        if let Some(base) = base.filter(|_| program.contains('/')) {
            program = base.join(program).display().to_string();
        }
        let args: Vec<String> = server.args.iter().map(|arg| self.fill(arg)).collect::<Result<_, _>>()?;
        let filled: Vec<&str> = args.iter().map(String::as_str).collect();
        for (arg, found) in filled.iter().zip(credentials::in_args(&filled)) {
            self.redaction.credentials(arg, found);
        }
        let typed: Vec<&str> = server.args.iter().map(|arg| arg.as_str()).collect();
        for (index, found) in credentials::in_args(&typed).into_iter().enumerate() {
            self.literals(&format!("args[{index}]"), typed[index], found);
        }
        let mut env = Vec::new();
        for (name, value) in &server.env {
            if name.is_empty() || name.contains(['=', '\0']) {
                bail_at!(self.text, name, "'{}' is not a valid variable name", quoted(name, 64));
            }
            env.push((name.to_string(), self.value(name, value)?));
        }
        let cwd = server.cwd.as_ref().map(|cwd| self.fill(cwd)).transpose()?;
        let cwd = match (base, cwd) {
            (Some(base), cwd) => Some(base.join(cwd.unwrap_or_default())),
            (None, Some(cwd)) => Some(std::path::absolute(&cwd).unwrap_or_else(|_| cwd.into())),
            (None, None) => None,
        };
        Ok(ServerTransport::Stdio { command: program, args, env, cwd })
    }

    fn address(&mut self, raw_url: &TextValue<String>) -> Result<String, ConfigError> {
        let unset = self.missing.len();
        let url = self.fill(raw_url)?;
        self.literals("url", raw_url, credentials::in_url(raw_url));
        self.redaction.credentials(&url, credentials::in_url(&url));
        // A URL with unset variables is checked when they are set.
        if self.missing.len() > unset {
            return Ok(url);
        }
        let Some(rest) = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://")) else {
            bail_at!(self.text, raw_url, "url must begin with http:// or https://");
        };
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        if authority.contains('@') {
            bail_at!(self.text, raw_url, "url must not contain a password; put it in headers, as ${{NAME}}");
        }
        if authority.is_empty() || url.contains(|c: char| c.is_whitespace() || c.is_control()) {
            bail_at!(self.text, raw_url, "url is not an address such as https://mcp.example.com/mcp");
        }
        Ok(url)
    }

    fn headers(
        &mut self,
        raw_headers: &BTreeMap<TextValue<String>, TextValue<String>>,
    ) -> Result<Vec<(String, Secret)>, ConfigError> {
        let mut headers = Vec::new();
        for (name, value) in raw_headers {
            let display_name = quoted(name, 64);
            if !header::is_name(name) || header::is_framing(name) {
                bail_at!(self.text, name, "'{display_name}' is not a header name that can be set");
            }
            if PROTOCOL_HEADERS.iter().any(|protocol_header| name.eq_ignore_ascii_case(protocol_header)) {
                bail_at!(
                    self.text,
                    name,
                    "header '{display_name}' belongs to the protocol: Gatehouse sets it itself. Remove it"
                );
            }
            self.text.at(value, SecretTemplate::parse(value))?;
            // Keys read from files end in a line break.
            let filled = Secret::new(self.value(name, value)?.reveal().trim());
            if !header::is_value(filled.reveal().as_bytes()) {
                // An invalid header value counts as a missing variable: it disables this server only.
                let template = SecretTemplate::parse_text(value).ok();
                let named = template.iter().flat_map(SecretTemplate::variables).map(str::to_owned);
                self.missing.extend(named);
            }
            headers.push((name.to_string(), filled));
        }
        Ok(headers)
    }
}
