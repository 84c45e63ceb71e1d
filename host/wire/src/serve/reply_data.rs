//! Which clients get output schemas, and replies as data beside their text.

use gatehouse_core::{Catalog, preset::StructuredOutputMode};
use rmcp::{RoleServer, service::RequestContext};
use serde_json::{Map, Value};

use super::wire_id;

/// Names of the clients that get data where the preset says `structured = "auto"`; docs/protocol.md has the reasons.
const CLIENTS_WITH_DATA: [&str; 3] = ["mcp", "inspector-client", "inspector-cli"];

/// Which data of replies clients get beside their text, and which schemas of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StructuredMode {
    /// None.
    None,
    /// That which is an object: versions before 2026-07-28 know no other.
    Objects,
    /// Any.
    Any,
}

impl StructuredMode {
    /// Returns what a client of this name and version gets under a preset. `client` is its `clientInfo.name`.
    ///
    /// A session from before a restart of the host has lost the name. It gets the data, because its client may know the
    /// schemas, and a reply without what they promise is an error to it.
    pub(super) fn for_client(catalog: &Catalog, client: Option<&str>, since_2026: bool) -> Self {
        let wants = match catalog.structured {
            StructuredOutputMode::Off => false,
            StructuredOutputMode::On => true,
            StructuredOutputMode::Auto => client
                .is_some_and(|name| name == wire_id::UNKNOWN_CLIENT || CLIENTS_WITH_DATA.contains(&name)),
        };
        match (wants, since_2026) {
            (false, _) => Self::None,
            (true, false) => Self::Objects,
            (true, true) => Self::Any,
        }
    }

    /// The same for the client of this request.
    pub(super) fn for_request(
        catalog: &Catalog,
        context: &RequestContext<RoleServer>,
        since_2026: bool,
    ) -> Self {
        let client = context.client_info();
        Self::for_client(catalog, client.as_ref().map(|client| client.name.as_str()), since_2026)
    }

    /// Returns what programs get under a preset that speak no MCP.
    pub fn for_programs(catalog: &Catalog) -> Self {
        if catalog.structured == StructuredOutputMode::Off { Self::None } else { Self::Any }
    }

    pub(super) fn has(self, data: &Value) -> bool {
        self == Self::Any || (self == Self::Objects && data.is_object())
    }

    pub(super) fn has_schema(self, schema: &Map<String, Value>) -> bool {
        let is_object = || schema.get("type").and_then(Value::as_str) == Some("object");
        self == Self::Any || (self == Self::Objects && is_object())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clients_are_those_of_the_documentation() {
        let page = include_str!("../../../../docs/protocol.md");
        let table = page.split("## Data of replies").nth(1).expect("the section");
        let table = table.split("\n## ").next().expect("the section");
        let rows = table.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
        let (on, off): (Vec<_>, Vec<_>) = rows.partition(|(_, rest)| rest.contains("| on |"));
        assert_eq!(on.into_iter().map(|(name, _)| name).collect::<Vec<_>>(), CLIENTS_WITH_DATA);
        assert!(!off.is_empty() && off.iter().all(|(_, rest)| rest.contains("| off |")));
    }
}
