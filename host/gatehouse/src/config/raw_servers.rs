//! `[servers]`, `[proxy]` and tool overrides of `presets.toml`, as written.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::TextValue;

/// An MCP server behind this host: a program (`command`) or an address (`url`). `${NAME}` means an environment variable
/// in command, args, env, cwd, url and headers. Secrets must be written this way.
#[derive(Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Server {
    /// Program, without its arguments, which are in `args`. With a slash, the path is relative to this file.
    pub(crate) command: Option<TextValue<String>>,
    /// Its arguments. All users of this machine can see them, so put secrets in env.
    pub(crate) args: Vec<TextValue<String>>,
    /// Variables it gets in addition to PATH, HOME and the few listed in docs/servers.md.
    pub(crate) env: BTreeMap<TextValue<String>, TextValue<String>>,
    /// Working directory, relative to this file. Default: the directory of this file.
    pub(crate) cwd: Option<TextValue<String>>,
    /// Its address, http or https.
    pub(crate) url: Option<TextValue<String>>,
    /// Headers sent to this address only.
    pub(crate) headers: BTreeMap<TextValue<String>, TextValue<String>>,
    /// "stdio" for a command. For a url "http" (streamable HTTP, the default) or "sse", for servers from before 2025.
    pub(crate) transport: Option<TextValue<TransportKind>>,
    /// How Gatehouse logs in to it with OAuth, if it requires that (`gatehouse servers login`).
    #[schemars(with = "OAuth")]
    pub(crate) oauth: Option<TextValue<OAuth>>,
    /// Whose login it gets: one for all callers ("shared", the default), or each caller's own ("caller").
    pub(crate) login: Option<TextValue<LoginKind>>,
    /// Whether it is used; true by default.
    pub(crate) enabled: Option<bool>,
    /// Labels for users, for `proxied` of presets ("tag:work"), and for the category of its tools.
    pub(crate) tags: Vec<TextValue<String>>,
    /// Maximum time for one call, "60 s" by default, "100 ms" to "60 min"; a number is seconds.
    #[schemars(with = "Option<DurationSchema>")]
    pub(crate) timeout: Option<TextValue<toml::Value>>,
    /// Maximum time for a call whose server reports progress, which gives it `timeout` again. "60 min" by default, at
    /// most "1440 min".
    #[schemars(with = "Option<DurationSchema>")]
    pub(crate) max_timeout: Option<TextValue<toml::Value>>,
    /// Maximum time of one attempt to connect, "100 ms" to "10 min"; a number is seconds. Default: the value in
    /// `[proxy]`.
    #[schemars(with = "Option<DurationSchema>")]
    pub(crate) connection_timeout: Option<TextValue<toml::Value>>,
    /// True to connect when the host starts, not on the first call.
    pub(crate) preconnect: bool,
    /// Values replaced by `[redacted]` in everything the server sends: true for credentials (the default), false for
    /// nothing, or the names of variables, headers and keys of `env` with such values.
    #[schemars(with = "Option<RedactSchema>")]
    pub(crate) redact: Option<TextValue<toml::Value>>,
    /// Handling of tools that differ from their first known version: serve with a warning ("warn", the default), or
    /// quarantine until `gatehouse servers review` approves them ("quarantine").
    pub(crate) on_change: OnChange,
    /// Rules for its tools, by the server's own names. They override the server's annotations.
    pub(crate) tools: BTreeMap<TextValue<String>, ToolRule>,
}

/// Behavior of one server tool. Requests, workflows, approvals, scripts and the semantic cache use it.
#[derive(Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ToolRule {
    /// Its strongest effect: "read-only", "mutating" or "external-exec".
    pub(crate) effect: Option<TextValue<String>>,
    /// Whether a second call with the same arguments changes nothing.
    pub(crate) idempotent: Option<bool>,
    /// The boolean argument that makes a call a dry run.
    pub(crate) dry_run: Option<TextValue<String>>,
    /// The argument that names the thing to change; `precheck` checks it before the call.
    pub(crate) target: Option<TextValue<String>>,
    /// A read-only tool of the same server that fails if `target` does not exist. Needs `target`.
    pub(crate) precheck: Option<TextValue<String>>,
}

/// OAuth login to a server. Every key is optional: by default the server names its issuer, and Gatehouse registers
/// itself.
#[derive(Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct OAuth {
    /// The client that you registered for Gatehouse, or the https URL of its metadata document. Needs `issuer`.
    pub(crate) client_id: Option<TextValue<String>>,
    /// The secret of that client, if it has one: "${NAME}".
    pub(crate) client_secret: Option<TextValue<String>>,
    /// The private key of that client instead of a secret, PEM in PKCS#8: "${NAME}".
    pub(crate) private_key: Option<TextValue<String>>,
    /// Scopes to request. Default: the scopes that the server requests.
    pub(crate) scopes: Vec<TextValue<String>>,
    /// The authorization server. Set it if you registered a client there, the server names several, or it is in your
    /// own network.
    pub(crate) issuer: Option<TextValue<String>>,
    /// Port of the browser redirect, if the registration names one. Default: a free one.
    #[schemars(with = "Option<u16>")]
    pub(crate) redirect_port: Option<TextValue<i64>>,
    /// `client-credentials` if the client logs in with its own secret or key, without a user. Default: `authorization-code`.
    pub(crate) grant: Option<TextValue<GrantKind>>,
    /// Your company's identity provider, where users sign in. It vouches for them at `issuer`. Needs `client_id`.
    pub(crate) identity_provider: Option<TextValue<IdentityProvider>>,
}

/// An identity provider that vouches for its users at the authorization servers of MCP servers.
#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct IdentityProvider {
    /// Its address, as its metadata has it.
    pub(crate) issuer: TextValue<String>,
    /// The client that you registered for Gatehouse at the provider.
    pub(crate) client_id: TextValue<String>,
    /// The secret of that client, if it has one: "${NAME}".
    #[serde(default)]
    pub(crate) client_secret: Option<TextValue<String>>,
    /// The private key of that client instead of a secret, PEM in PKCS#8: "${NAME}".
    #[serde(default)]
    pub(crate) private_key: Option<TextValue<String>>,
}

/// How a login is granted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum GrantKind {
    AuthorizationCode,
    ClientCredentials,
}

/// Values to redact in everything a server sends.
#[derive(JsonSchema)]
#[serde(untagged)]
#[allow(dead_code, reason = "only its schema is used")]
pub(crate) enum RedactSchema {
    /// Credentials, or nothing.
    Automatic(bool),
    /// The values under these names.
    Names(Vec<String>),
}

/// Transport to a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum TransportKind {
    /// Standard input and output of a program.
    Stdio,
    /// Streamable HTTP.
    Http,
    /// HTTP with server-sent events, for servers from before 2025.
    Sse,
}

/// Whose login a server gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum LoginKind {
    /// One login for all callers.
    Shared,
    /// A login and a connection for each principal, who signs in on a page of this host.
    Caller,
}

/// Handling of a tool that changed.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum OnChange {
    /// Serve it with a warning.
    #[default]
    Warn,
    /// Quarantine it until a user approves it.
    Quarantine,
}

/// A time as text with its unit ("30 s", "2 min"), or as seconds.
#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "only used for its schema")]
pub(crate) enum DurationSchema {
    Seconds(u64),
    Text(String),
}

/// Connections to the servers behind this host.
#[derive(Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Proxy {
    /// True to connect a server on its first call (the default), false to connect all when the host starts.
    pub(crate) lazy_connect: Option<bool>,
    /// Servers to connect when the host starts, even if `lazy_connect` is true.
    pub(crate) preconnect_servers: Vec<TextValue<String>>,
    /// Maximum time of one attempt to connect. By default "30 s" for addresses and "2 min" for programs; "100 ms" to
    /// "10 min". A number is seconds.
    #[schemars(with = "Option<DurationSchema>")]
    pub(crate) connection_timeout: Option<TextValue<toml::Value>>,
    /// Maximum connection retries, 3 by default, at most 10.
    #[schemars(with = "Option<u32>")]
    pub(crate) max_connection_retries: Option<TextValue<i64>>,
    /// Idle time after which a program is stopped until the next call: "10 min" by default, "1 s" to "1440 min", or
    /// "never"; a number is seconds.
    #[schemars(with = "Option<DurationSchema>")]
    pub(crate) idle_timeout: Option<TextValue<toml::Value>>,
}

/// Changes to one tool in a preset.
#[derive(Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ToolOverride {
    /// The name that clients see instead.
    pub(crate) name: Option<TextValue<String>>,
    /// The description that clients see instead.
    pub(crate) description: Option<String>,
    /// Arguments that the host sets; clients cannot see or set them.
    pub(crate) fixed: Map<String, Value>,
    /// True to hide the tool from all clients.
    pub(crate) hide: bool,
    /// Whether clients are shown the tool. An unlisted tool can still be called and found by search.
    pub(crate) listed: Option<bool>,
}
