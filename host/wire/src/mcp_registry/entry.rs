//! Descriptions of servers, as registries publish them (`server.json`). Unknown members are ignored.

use serde::Deserialize;
use serde_json::Value;

/// Member of `_meta` in which the registry describes the state of an entry.
const OFFICIAL_META: &str = "io.modelcontextprotocol.registry/official";

#[derive(Deserialize)]
pub(super) struct ListAnswer {
    pub(super) servers: Vec<EntryAnswer>,
}

#[derive(Deserialize)]
pub(super) struct EntryAnswer {
    server: RegistryEntry,
    #[serde(rename = "_meta", default)]
    meta: Value,
}

impl EntryAnswer {
    pub(super) fn into_entry(self) -> RegistryEntry {
        let status = self.meta[OFFICIAL_META]["status"].as_str().map(str::to_owned);
        RegistryEntry { status, ..self.server }
    }
}

/// A server in a registry.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct RegistryEntry {
    /// Name in the registry, such as `io.github.user/server`.
    pub name: String,
    pub description: String,
    pub version: String,
    pub packages: Vec<RegistryPackage>,
    pub remotes: Vec<RegistryRemote>,
    /// `active`, `deprecated` or `deleted`. `None` if the registry does not say.
    #[serde(skip)]
    pub status: Option<String>,
}

/// A package that runs the server on this machine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct RegistryPackage {
    /// `npm`, `pypi`, `oci`, `nuget` or `mcpb`.
    pub registry_type: String,
    pub identifier: String,
    pub version: String,
    /// `None` for the default registry of the type.
    pub registry_base_url: Option<String>,
    pub transport: RegistryTransport,
    pub runtime_arguments: Vec<RegistryArgument>,
    pub package_arguments: Vec<RegistryArgument>,
    pub environment_variables: Vec<RegistryInput>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct RegistryTransport {
    #[serde(rename = "type")]
    pub kind: String,
}

/// An address at which the server runs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct RegistryRemote {
    /// `streamable-http` or `sse`.
    #[serde(rename = "type")]
    pub kind: String,
    pub url: String,
    pub headers: Vec<RegistryInput>,
}

/// An argument of a command.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct RegistryArgument {
    /// `positional` or `named`.
    #[serde(rename = "type")]
    pub kind: String,
    #[serde(flatten)]
    pub input: RegistryInput,
    /// Name of a positional argument for users.
    #[serde(rename = "valueHint")]
    pub value_hint: String,
}

/// A value that an entry sets, or the user.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct RegistryInput {
    pub name: String,
    pub description: String,
    pub is_required: bool,
    pub is_secret: bool,
    pub value: Option<String>,
    pub default: Option<String>,
}
