//! `[presets]` of presets.toml as it is typed.

use std::{borrow::Cow, collections::BTreeMap, fmt, path::PathBuf};

use gatehouse_core::preset;
use indexmap::IndexMap;
use schemars::{JsonSchema, SchemaGenerator, json_schema};
use serde::{
    Deserialize, Deserializer,
    de::{self, Unexpected, Visitor},
};
use serde_json::{Map, Value};
use toml::Spanned;

use super::{raw_servers::RawToolOverride, workflow};

/// What one agent sees.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct RawPreset {
    /// What it is for; clients get it in the server's instructions, after what the gates say of themselves.
    pub(crate) description: Option<String>,
    /// Presets whose lines come first, left to right.
    pub(crate) extends: Vec<String>,
    /// Gates, each with the parameters it gets.
    #[schemars(with = "BTreeMap<String, Map<String, Value>>")]
    pub(crate) gates: IndexMap<Spanned<String>, Map<String, Value>>,
    /// Globs over tool names that are taken away.
    pub(crate) deny: Vec<String>,
    /// Further names for tools: new name = "tool", or "gate.tool" where several gates have a tool of that name.
    pub(crate) aliases: BTreeMap<String, String>,
    /// Whether clients get output schemas, and replies as data beside their text: true, false (default), or "auto" for the
    /// clients that are listed in docs/protocol.md.
    pub(crate) structured: Option<RawStructured>,
    /// Gates that shorten replies, each with globs over the tools whose replies it gets: a tool's name, "gate.tool", or
    /// "server:server.tool". Default, for each gate of the preset that does so: ["server:*", "run_code", "call_tool"].
    pub(crate) filters: BTreeMap<String, Vec<String>>,
    /// Servers of this file whose tools clients see beside those of the gates, as server__tool.
    #[schemars(with = "Vec<String>")]
    pub(crate) servers: Vec<Spanned<String>>,
    /// Globs over the servers that gates of this preset may reach: names, or "tag:name". Default: all.
    pub(crate) proxied: Option<Vec<String>>,
    /// Globs over the tools that clients are shown, where that is not all: the others can be called through them, or by name.
    pub(crate) listed: Option<Vec<String>>,
    /// Which calls a person has to approve, who is asked through the client. What a preset extends asks as well.
    pub(crate) approve: Option<RawApproval>,
    /// Which calls come after which, by the workflow: one step, or a list of them. What a preset extends holds as well.
    #[schemars(with = "BTreeMap<String, workflow::WorkflowSchema>")]
    pub(crate) workflow: BTreeMap<Spanned<String>, workflow::WorkflowSteps>,
    /// The directory of the project whose marks workflows go by, unless a request names one; relative to this file. Default:
    /// the client's only root, or the working directory of a client over stdio.
    #[schemars(with = "Option<String>")]
    pub(crate) project: Option<Spanned<PathBuf>>,
    /// What is changed about tools, by the name that clients would see without.
    #[schemars(with = "BTreeMap<String, RawToolOverride>")]
    pub(crate) tools: BTreeMap<Spanned<String>, RawToolOverride>,
}

/// Value of `structured`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RawStructured(pub(crate) preset::StructuredOutputMode);

impl<'de> Deserialize<'de> for RawStructured {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct StructuredVisitor;
        impl Visitor<'_> for StructuredVisitor {
            type Value = RawStructured;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("true, false or \"auto\"")
            }
            fn visit_bool<E: de::Error>(self, on: bool) -> Result<RawStructured, E> {
                Ok(RawStructured(if on {
                    preset::StructuredOutputMode::On
                } else {
                    preset::StructuredOutputMode::Off
                }))
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<RawStructured, E> {
                match text {
                    "auto" => Ok(RawStructured(preset::StructuredOutputMode::Auto)),
                    _ => Err(E::invalid_value(Unexpected::Str(text), &self)),
                }
            }
        }
        deserializer.deserialize_any(StructuredVisitor)
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

/// Which calls a person has to approve.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct RawApproval {
    /// Globs over tools: a tool's name, "gate.tool", or "server:server.tool".
    pub(crate) tools: Vec<String>,
    /// Tools with this effect or a stronger one: "read-only", "mutating" or "external-exec".
    #[schemars(with = "Option<String>")]
    pub(crate) effect: Option<Spanned<String>>,
    /// Globs over tools that `effect` leaves out. Default: those that only pass calls on, each of which is asked about by
    /// itself: ["gate:proxy.call_tool", "gate:proxy.request", "gate:script.run_code", "gate:script.run_script"].
    pub(crate) except: Option<Vec<String>>,
    /// How long an approval holds: "call" (default), "session", or a time of up to 8 h as "15 min".
    #[schemars(with = "Option<String>")]
    pub(crate) remember: Option<Spanned<String>>,
}
