//! Choice of clients that get output schemas and structured content.

use gatehouse_core::{Catalog, preset::StructuredOutputMode};
use rmcp::{RoleServer, service::RequestContext};
use serde_json::{Map, Value};

use super::wire_id;

/// Clients that get structured content if `structured = "auto"`. See docs/protocol.md for the reasons.
const CLIENTS_WITH_DATA: [&str; 3] = ["mcp", "inspector-client", "inspector-cli"];

/// Structured content and output schemas to send to a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StructuredMode {
    None,
    /// Objects only, the limit before 2026-07-28.
    Objects,
    Any,
}

impl StructuredMode {
    /// Returns the mode for a client. `client` is its `clientInfo.name`.
    ///
    /// The name is unknown in sessions from before a restart. They get structured content, because clients that cached
    /// the schemas fail without it.
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

    pub(super) fn for_request(
        catalog: &Catalog,
        context: &RequestContext<RoleServer>,
        since_2026: bool,
    ) -> Self {
        let client = context.client_info();
        Self::for_client(catalog, client.as_ref().map(|client| client.name.as_str()), since_2026)
    }

    /// Returns the mode for programs that do not use MCP.
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
