//! `[servers]`, `[proxy]` and what a preset changes about tools, as they are typed.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use toml::Spanned;

/// An MCP server behind this host: a program (`command`) or an address (`url`). `${NAME}` stands for an environment
/// variable in command, args, env, cwd, url and headers; secrets are written so and in no other way.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct RawServer {
    /// The program; one with a slash in it is relative to this file.
    #[schemars(with = "Option<String>")]
    pub(crate) command: Option<Spanned<String>>,
    /// Its arguments. Everybody on this machine can see them: secrets belong into env.
    #[schemars(with = "Vec<String>")]
    pub(crate) args: Vec<Spanned<String>>,
    /// Variables that it gets beside PATH, HOME and the few that docs/servers.md names.
    #[schemars(with = "BTreeMap<String, String>")]
    pub(crate) env: BTreeMap<Spanned<String>, Spanned<String>>,
    /// Where it starts, relative to this file. Default: where this file lies.
    #[schemars(with = "Option<String>")]
    pub(crate) cwd: Option<Spanned<String>>,
    /// Where it listens, http or https.
    #[schemars(with = "Option<String>")]
    pub(crate) url: Option<Spanned<String>>,
    /// Headers that are sent to this address, and nowhere else.
    #[schemars(with = "BTreeMap<String, String>")]
    pub(crate) headers: BTreeMap<Spanned<String>, Spanned<String>>,
    /// "stdio" for a command. For a url "http" (streamable HTTP, the default) or "sse", as servers before 2025 have it.
    #[schemars(with = "Option<TransportKind>")]
    pub(crate) transport: Option<Spanned<TransportKind>>,
    /// How Gatehouse logs in to it, where it wants a login by OAuth (`gatehouse servers login`).
    #[schemars(with = "RawOAuth")]
    pub(crate) oauth: Option<Spanned<RawOAuth>>,
    /// Whether it is there at all; true by default.
    pub(crate) enabled: Option<bool>,
    /// Words for people, for `proxied` of presets ("tag:work"), and for the category of its tools.
    #[schemars(with = "Vec<String>")]
    pub(crate) tags: Vec<Spanned<String>>,
    /// The longest one call may take, "60 s" by default, "100 ms" to "60 min"; a number is seconds.
    #[schemars(with = "Option<DurationSchema>")]
    pub(crate) timeout: Option<Spanned<toml::Value>>,
    /// Maximum time of one attempt to connect, "100 ms" to "10 min"; a number is seconds. Default: that of `[proxy]`.
    #[schemars(with = "Option<DurationSchema>")]
    pub(crate) connection_timeout: Option<Spanned<toml::Value>>,
    /// Whether it is connected when the host starts, and not by the first call.
    pub(crate) preconnect: bool,
    /// What is replaced by `[redacted]` in everything that the server sends: true for credentials (the default), false for
    /// nothing, or the names of variables, headers and keys of `env` whose values are.
    #[schemars(with = "Option<RedactSchema>")]
    pub(crate) redact: Option<Spanned<toml::Value>>,
    /// What becomes of a tool that is not what it was when it was first seen: it is served with a warning ("warn", the
    /// default), or held back until `gatehouse servers review` approves it ("quarantine").
    pub(crate) on_change: OnChange,
    /// What its tools do, by the server's own names for them. This decides over what the server says about itself.
    #[schemars(with = "BTreeMap<String, ToolRule>")]
    pub(crate) tools: BTreeMap<Spanned<String>, ToolRule>,
}

/// What one tool of a server does. Requests, workflows, approvals, scripts and the semantic cache go by it.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ToolRule {
    /// The strongest thing that it may do: "read-only", "mutating" or "external-exec".
    #[schemars(with = "Option<String>")]
    pub(crate) effect: Option<Spanned<String>>,
    /// Whether a second call with the same arguments changes nothing.
    pub(crate) idempotent: Option<bool>,
    /// The boolean argument that makes a call a rehearsal.
    #[schemars(with = "Option<String>")]
    pub(crate) dry_run: Option<Spanned<String>>,
    /// The argument that names what is changed; `precheck` checks it before the call.
    #[schemars(with = "Option<String>")]
    pub(crate) target: Option<Spanned<String>>,
    /// A tool of the same server that only reads, and that fails if `target` names nothing. Needs `target`.
    #[schemars(with = "Option<String>")]
    pub(crate) precheck: Option<Spanned<String>>,
}

/// How Gatehouse logs in to a server. All of it may be missing: then the server says where, and Gatehouse registers itself.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct RawOAuth {
    /// The client that you registered for Gatehouse, or the https address of a document about it. Needs `issuer`.
    #[schemars(with = "Option<String>")]
    pub(crate) client_id: Option<Spanned<String>>,
    /// The secret of that client, if it has one: "${NAME}".
    #[schemars(with = "Option<String>")]
    pub(crate) client_secret: Option<Spanned<String>>,
    /// What to ask for. Default: what the server asks for.
    #[schemars(with = "Vec<String>")]
    pub(crate) scopes: Vec<Spanned<String>>,
    /// The authorization server: where you registered a client, where the server names several, or where it is in your
    /// own network.
    #[schemars(with = "Option<String>")]
    pub(crate) issuer: Option<Spanned<String>>,
    /// The port that the browser comes back to, where the registration names one. Default: a free one.
    #[schemars(with = "Option<u16>")]
    pub(crate) redirect_port: Option<Spanned<i64>>,
}

/// What is redacted in what a server sends.
#[derive(JsonSchema)]
#[serde(untagged)]
#[allow(dead_code, reason = "only its schema is used")]
pub(crate) enum RedactSchema {
    /// Credentials, or nothing.
    Automatic(bool),
    /// The values under these names.
    Names(Vec<String>),
}

/// How a server is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum TransportKind {
    /// Over standard input and output of a program.
    Stdio,
    /// Streamable HTTP.
    Http,
    /// HTTP with server-sent events, as servers before 2025 have it.
    Sse,
}

/// What becomes of a tool that changed.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum OnChange {
    /// It is served, with a warning.
    #[default]
    Warn,
    /// It is held back until somebody approves it.
    Quarantine,
}

/// A time as text with its unit ("30 s", "2 min"), or as seconds.
#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "it stands in the schema alone")]
pub(crate) enum DurationSchema {
    Seconds(u64),
    Text(String),
}

/// How the servers behind this host are connected.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct RawProxy {
    /// Whether a server is connected by the first call that needs it (the default), or all when the host starts.
    pub(crate) lazy_connect: Option<bool>,
    /// Servers that are connected when the host starts all the same.
    #[schemars(with = "Vec<String>")]
    pub(crate) preconnect_servers: Vec<Spanned<String>>,
    /// How long one attempt to connect may take, "30 s" by default, "100 ms" to "10 min"; a number is seconds.
    #[schemars(with = "Option<DurationSchema>")]
    pub(crate) connection_timeout: Option<Spanned<toml::Value>>,
    /// How often connecting is tried again, 3 by default, at most 10.
    #[schemars(with = "Option<u32>")]
    pub(crate) max_connection_retries: Option<Spanned<i64>>,
    /// After how long without a call a program is stopped, until the next call starts it again: "10 min" by default, "1 s"
    /// to "24 h" in minutes or seconds, or "never"; a number is seconds.
    #[schemars(with = "Option<DurationSchema>")]
    pub(crate) idle_timeout: Option<Spanned<toml::Value>>,
}

/// What a preset changes about one tool.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct RawToolOverride {
    /// The name that clients see instead.
    #[schemars(with = "Option<String>")]
    pub(crate) name: Option<Spanned<String>>,
    /// The description that clients see instead.
    pub(crate) description: Option<String>,
    /// Arguments that the host sets: clients see no such parameter and cannot set it.
    pub(crate) fixed: Map<String, Value>,
    /// Whether nobody sees the tool.
    pub(crate) hide: bool,
    /// Whether clients are shown the tool. One that they are not shown can be called and found by search.
    pub(crate) listed: Option<bool>,
}
