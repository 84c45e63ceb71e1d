//! `[presets]` of `presets.toml`, as written.

use std::{borrow::Cow, collections::BTreeMap, path::PathBuf};

use gatehouse_core::{preset::StructuredOutputMode, surface::SurfaceMode};
use indexmap::IndexMap;
use schemars::{JsonSchema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{TextValue, raw_servers::ToolOverride, workflow};

/// Tools and rules for one agent.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Preset {
    /// Purpose of the preset. Clients get it in the server's instructions, after those of the gates.
    pub(crate) description: Option<String>,
    /// Presets to build on, applied left to right before this one.
    pub(crate) extends: Vec<String>,
    /// Gates, each with its parameters.
    #[schemars(with = "BTreeMap<String, Map<String, Value>>")]
    pub(crate) gates: IndexMap<TextValue<String>, Map<String, Value>>,
    /// Globs over tool names to remove.
    pub(crate) deny: Vec<String>,
    /// Additional tool names: new name = "tool", or "gate.tool" if several gates have a tool of that name.
    pub(crate) aliases: BTreeMap<String, String>,
    /// Whether clients get output schemas, and replies as data next to text: true, false (default), or "auto" for the
    /// clients listed in docs/protocol.md.
    pub(crate) structured: Option<RawStructured>,
    /// Gates that shorten replies, each with globs over the tools whose replies it gets: a tool's name, "gate.tool", or
    /// "server:server.tool". Default for each such gate: ["server:*", "run_code", "call_tool"].
    pub(crate) filters: BTreeMap<String, Vec<String>>,
    /// Servers in this file whose tools clients see next to those of the gates, as server__tool.
    pub(crate) servers: Vec<TextValue<String>>,
    /// Globs over the servers that gates of this preset may access: names, or "tag:name". Default: all.
    pub(crate) proxied: Option<Vec<String>>,
    /// Globs over the tools that clients are shown. The others can still be called by name or through a shown tool.
    /// Default: all.
    pub(crate) listed: Option<Vec<String>>,
    /// The tools that a client is shown: "all" (default), or "auto": the servers' tools for clients that search tools
    /// themselves, and the gate that calls these tools for others. "auto" limits `proxied` to `servers`, unless it is
    /// set.
    pub(crate) surface: Option<Surface>,
    /// Globs over tools that each client is shown and loads at once, with any `surface`. Adds to the globs of extended
    /// presets.
    pub(crate) pinned: Vec<String>,
    /// Calls that a user has to approve, asked through the client. Adds to the rules of extended presets.
    pub(crate) approve: Option<Approval>,
    /// Order of calls, by workflow: one step, or a list of steps. Adds to the workflows of extended presets.
    #[schemars(with = "BTreeMap<String, workflow::WorkflowSchema>")]
    pub(crate) workflow: BTreeMap<TextValue<String>, workflow::WorkflowSteps>,
    /// Project directory for workflow marks, unless a request names one; relative to this file. Default: the client's
    /// only root, or the working directory of a stdio client.
    pub(crate) project: Option<TextValue<PathBuf>>,
    /// Folders of agent skills, relative to this file: each skill is a folder with a SKILL.md. Adds to the folders of
    /// extended presets.
    pub(crate) skills: Vec<TextValue<PathBuf>>,
    /// Changes to tools, by the name that clients would see otherwise.
    pub(crate) tools: BTreeMap<TextValue<String>, ToolOverride>,
}

/// Value of `structured`: a boolean or `"auto"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "toml::Value")]
pub(crate) struct RawStructured(pub(crate) StructuredOutputMode);

impl TryFrom<toml::Value> for RawStructured {
    type Error = &'static str;

    fn try_from(value: toml::Value) -> Result<Self, Self::Error> {
        match (value.as_bool(), value.as_str()) {
            (Some(true), _) => Ok(Self(StructuredOutputMode::On)),
            (Some(false), _) => Ok(Self(StructuredOutputMode::Off)),
            (_, Some("auto")) => Ok(Self(StructuredOutputMode::Auto)),
            _ => Err("invalid value: expected true, false or \"auto\""),
        }
    }
}

impl JsonSchema for RawStructured {
    fn schema_name() -> Cow<'static, str> {
        "Structured".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> schemars::Schema {
        json_schema!({ "enum": [true, false, "auto"] })
    }
}

/// Value of `surface`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Surface {
    All,
    Auto,
}

impl From<Surface> for SurfaceMode {
    fn from(surface: Surface) -> Self {
        match surface {
            Surface::All => Self::All,
            Surface::Auto => Self::Auto,
        }
    }
}

/// Calls that a user has to approve.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Approval {
    /// Globs over tools: a tool's name, "gate.tool", or "server:server.tool".
    pub(crate) tools: Vec<String>,
    /// Tools with this effect or a stronger one: "read-only", "mutating" or "external-exec".
    pub(crate) effect: Option<TextValue<String>>,
    /// Globs over tools that `effect` skips. Default: tools that only forward calls, each of which is approved
    /// separately: ["gate:proxy.call_tool", "gate:proxy.request", "gate:script.run_code", "gate:script.run_script"].
    pub(crate) except: Option<Vec<String>>,
    /// How long an approval holds: "call" (default), "session", or a time of up to 480 min such as "15 min".
    pub(crate) remember: Option<TextValue<String>>,
}
