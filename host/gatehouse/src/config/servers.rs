//! `[servers]` and `[proxy]`, validated. An unset variable is not an error here: it disables one server and nothing
//! else.

mod login;
mod redaction;
mod times;
mod tools;
mod transport;

use std::{collections::BTreeMap, path::Path, time::Duration};

use gatehouse_core::{
    call_time::MAX_TASK_PAUSE,
    names::{did_you_mean, quoted},
    ports::{servers::ServerDefinition, tool_index},
    tool_policy::ToolPolicy,
};
use gatehouse_wire::login::LoginSettings;
use serde_json::{Map, Value, json};

use self::times::{connection_timeout, duration};
use super::{Config, ConfigError, ConfigText, Env, PlainError, TextValue, raw};

/// Maximum length of a server name. Exposed tool names contain it and are limited to 64 characters.
pub(crate) const MAX_SERVER_NAME: usize = 32;

const MAX_TAGS: usize = 16;

const TIMEOUT: Duration = Duration::from_secs(60);

/// Maximum size of one server's block that does not come from `presets.toml`, in bytes.
const MAX_DEFINITION: usize = 64 << 10;

#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ServersConfig {
    /// Servers by name, including disabled ones.
    pub(crate) declared: BTreeMap<String, ServerConfig>,
    /// Names in the order of `presets.toml`.
    order: Vec<String>,
    /// Rules for tools of servers that the file does not declare: those that were added.
    pub(super) tools_of_added: BTreeMap<String, BTreeMap<String, ToolPolicy>>,
    pub(crate) proxy: ProxyConfig,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ServerConfig {
    pub(crate) definition: ServerDefinition,
    pub(crate) login: LoginSettings,
    /// True if the server has an `oauth` block.
    pub(crate) wants_login: bool,
    pub(crate) enabled: bool,
    /// Environment variables that the block names.
    pub(crate) variables: Vec<String>,
    /// Names of variables and headers whose values are literal credentials in the file.
    pub(crate) literals: Vec<String>,
    /// Names that suggest a credential, each with the reason that its value is not redacted.
    pub(crate) unredacted: Vec<(String, &'static str)>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ProxyConfig {
    /// True if all servers are connected when the host starts.
    preconnect_all: bool,
    pub(crate) connection_timeout: Option<Duration>,
    pub(crate) retries: u32,
    /// Idle time after which a program is stopped. `None` for never.
    pub(crate) idle_timeout: Option<Duration>,
}

impl Default for ProxyConfig {
    fn default() -> Self {
        Self {
            preconnect_all: false,
            connection_timeout: None,
            retries: 3,
            idle_timeout: Some(Duration::from_secs(600)),
        }
    }
}

impl ServersConfig {
    pub(crate) fn enabled(&self) -> impl Iterator<Item = &ServerDefinition> {
        self.declared.values().filter(|server| server.enabled).map(|server| &server.definition)
    }

    /// Returns the position of a server in `presets.toml`. Servers not in the file sort last.
    pub(crate) fn position(&self, name: &str) -> usize {
        self.order.iter().position(|declared| declared == name).unwrap_or(usize::MAX)
    }

    /// Fails if the server is not declared. The error points to `name`.
    pub(super) fn check_known(&self, text: &ConfigText, name: &TextValue<String>) -> Result<(), ConfigError> {
        if self.declared.contains_key(name.as_str()) {
            return Ok(());
        }
        let names: Vec<&str> = self.declared.keys().map(String::as_str).collect();
        let (suggestion, display_name) = (did_you_mean(name, names.iter().copied()), quoted(name, 64));
        if names.is_empty() {
            bail_at!(
                text,
                name,
                "there is no server '{display_name}'; declare it under [servers.{display_name}] in this file"
            );
        }
        let names = names.join(", ");
        bail_at!(
            text,
            name,
            "there is no server '{display_name}' in this file.{suggestion} There are: {names}."
        );
    }
}

pub(super) fn validate(
    text: &ConfigText,
    servers: BTreeMap<TextValue<String>, raw::Server>,
    proxy: &raw::Proxy,
    env: &Env,
) -> Result<ServersConfig, ConfigError> {
    let mut config = ServersConfig { proxy: checked_proxy(text, proxy)?, ..ServersConfig::default() };
    let mut order: Vec<_> = servers.keys().collect();
    order.sort_by_key(|name| name.span().start);
    config.order = order.into_iter().map(ToString::to_string).collect();
    for (name, mut server) in servers {
        let rules = std::mem::take(&mut server.tools);
        if server == raw::Server::default() && !rules.is_empty() {
            text.at(&name, check_name(&name))?;
            config.tools_of_added.insert(name.into_inner(), tools::validate(text, &rules)?);
            continue;
        }
        server.tools = rules;
        let checked = checked_server(text, &name, server, &config.proxy, env)?;
        config.declared.insert(name.into_inner(), checked);
    }
    for name in &proxy.preconnect_servers {
        config.check_known(text, name)?;
        if let Some(server) = config.declared.get_mut(name.as_str()) {
            server.definition.preconnect = true;
        }
    }
    Ok(config)
}

/// Validates one server, given the keys of its block as JSON. The error names the key and the allowed values.
pub(crate) fn from_json(
    config: &Config,
    name: &str,
    definition: &Map<String, Value>,
    env: &Env,
) -> Result<ServerConfig, PlainError> {
    check_name(name)?;
    if let Some((key, _)) = definition.iter().find(|(_, value)| value.is_null()) {
        bail!("'{}' is null; remove it instead", quoted(key, 64));
    }
    // A client that adds a server must not decide how much its tools are trusted.
    if definition.contains_key("tools") {
        bail!("'tools' belongs in presets.toml, under [servers.{name}.tools]");
    }
    if definition.contains_key("login") {
        bail!("'login' belongs in presets.toml, under [servers.{name}]");
    }
    let table = json!({"servers": {name: definition}});
    // serde_json writes its numbers as tables of TOML.
    let table = serde_json::from_value::<toml::Value>(table);
    let content = table.ok().and_then(|table| toml::to_string(&table).ok());
    let content = content.ok_or("contains null, which is not allowed")?;
    if content.len() > MAX_DEFINITION {
        bail!("is longer than {} KiB", MAX_DEFINITION >> 10);
    }
    let text = ConfigText { file: config.file.clone(), content };
    let raw: raw::RawConfig =
        toml::from_str(&text.content).map_err(|error| text.parse_error(&error).message)?;
    let mut servers = raw.servers.into_iter();
    let (name, server) = servers.next().ok_or("is empty")?;
    checked_server(&text, &name, server, &config.servers.proxy, env).map_err(|error| error.message.into())
}

fn checked_proxy(text: &ConfigText, proxy: &raw::Proxy) -> Result<ProxyConfig, ConfigError> {
    let mut checked =
        ProxyConfig { preconnect_all: proxy.lazy_connect == Some(false), ..ProxyConfig::default() };
    checked.connection_timeout = connection_timeout(text, &proxy.connection_timeout)?;
    if proxy.idle_timeout.as_ref().and_then(|time| time.as_str()) == Some("never") {
        checked.idle_timeout = None;
    } else if proxy.idle_timeout.is_some() {
        let range = Duration::from_secs(1)..=Duration::from_secs(86_400);
        checked.idle_timeout = duration(text, "idle_timeout", &proxy.idle_timeout, range)?;
    }
    if let Some(retries) = &proxy.max_connection_retries {
        let Some(allowed) = u32::try_from(**retries).ok().filter(|retries| *retries <= 10) else {
            bail_at!(text, retries, "max_connection_retries must be 0 to 10, not {retries}");
        };
        checked.retries = allowed;
    }
    Ok(checked)
}

fn checked_server(
    text: &ConfigText,
    name: &TextValue<String>,
    server: raw::Server,
    proxy: &ProxyConfig,
    env: &Env,
) -> Result<ServerConfig, ConfigError> {
    text.at(name, check_name(name))?;
    let range = Duration::from_millis(100)..=Duration::from_secs(3_600);
    let timeout = duration(text, "timeout", &server.timeout, range)?.unwrap_or(TIMEOUT);
    let range = timeout..=Duration::from_secs(86_400);
    let max_timeout = duration(text, "max_timeout", &server.max_timeout, range)?.unwrap_or(MAX_TASK_PAUSE);
    let connecting = connection_timeout(text, &server.connection_timeout)?;
    let base = text.file.as_deref().and_then(Path::parent);
    let (preconnect, on_change) = (server.preconnect || proxy.preconnect_all, server.on_change);
    let (enabled, wants_login) = (server.enabled.unwrap_or(true), server.oauth.is_some());
    let (tags, tools) = (checked_tags(text, &server.tags)?, tools::validate(text, &server.tools)?);
    let login = login::validate(text, &server)?;
    let read = transport::read(text, name, server, base, env)?;
    let definition = ServerDefinition {
        name: name.as_str().into(),
        // Only programs are stopped when idle. A connection to a remote server costs next to nothing.
        idle_timeout: proxy.idle_timeout.filter(|_| read.transport.as_str() == "stdio"),
        transport: read.transport,
        tags,
        timeout,
        max_timeout: max_timeout.max(timeout),
        connection_timeout: connecting,
        preconnect,
        on_change: match on_change {
            raw::OnChange::Warn => tool_index::ChangePolicy::Warn,
            raw::OnChange::Quarantine => tool_index::ChangePolicy::Quarantine,
        },
        login,
        tools,
        missing: read.missing,
        secrets: read.secrets,
    };
    let (variables, literals, unredacted) = (read.variables, read.literals, read.unredacted);
    Ok(ServerConfig { definition, login: read.login, wants_login, enabled, variables, literals, unredacted })
}

/// Returns whether `name` can name a server. Keeps the boundary in `server__tool` unambiguous.
pub(crate) fn is_server_name(name: &str) -> bool {
    let letters = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
    name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.len() <= MAX_SERVER_NAME
        && name.chars().all(letters)
        && !name.contains("__")
        && !name.ends_with('_')
}

fn check_name(name: &str) -> Result<(), PlainError> {
    if is_server_name(name) {
        return Ok(());
    }
    let display_name = quoted(name, 64);
    Err(format!(
        "'{display_name}' cannot be the name of a server: use at most {MAX_SERVER_NAME} of A-Z a-z 0-9 _ -, starting \
        with a letter or digit, not ending with _, and without __"
    )
    .into())
}

/// Validates the tags. Returns them sorted, without duplicates.
fn checked_tags(text: &ConfigText, tags: &[TextValue<String>]) -> Result<Vec<String>, ConfigError> {
    let letters = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    let word = |tag: &str| !tag.is_empty() && tag.len() <= 32 && tag.chars().all(letters);
    if let Some(bad) = tags.iter().find(|tag| !word(tag)) {
        bail_at!(text, bad, "'{}' cannot be a tag: use 1 to 32 of A-Z a-z 0-9 _ - .", quoted(bad, 64));
    }
    if let Some(first) = tags.get(MAX_TAGS) {
        bail_at!(text, first, "a server has at most {MAX_TAGS} tags");
    }
    let mut tags: Vec<String> = tags.iter().map(|tag| tag.to_string()).collect();
    tags.sort();
    tags.dedup();
    Ok(tags)
}

#[cfg(test)]
mod tests;
