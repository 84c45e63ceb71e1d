//! The clients that Gatehouse knows by `clientInfo.name`, and the form of lists and replies that fits each one.
//!
//! docs/protocol.md has this table, with the reasons.

use gatehouse_core::{Catalog, surface::ToolSurface};

/// Clients that get structured content if `structured = "auto"`.
const CLIENTS_WITH_DATA: [&str; 3] = ["mcp", "inspector-client", "inspector-cli"];

/// Beginnings of the names of clients that load a tool's definition only when they need it.
const CLIENTS_THAT_SEARCH: [&str; 3] = ["claude-code", "codex-mcp-client", "Visual Studio Code"];

/// Longest result that Claude Code shows its model, in characters, for a tool that asks for it. It writes a result of over
/// 50,000 characters of another tool to a file, and shows 2 kB of it.
const MAX_RESULT_CHARS: u32 = 500_000;

/// Returns the longest result, in characters, to ask for in the list of tools. `None` for clients without such a limit.
pub(super) fn max_result_chars(client: &str) -> Option<u32> {
    (client == "claude-code").then_some(MAX_RESULT_CHARS)
}

pub(super) fn reads_data(client: &str) -> bool {
    CLIENTS_WITH_DATA.contains(&client)
}

/// Returns true if this client does not read every tool definition at its start.
pub fn searches_tools(client: &str) -> bool {
    CLIENTS_THAT_SEARCH.iter().any(|prefix| client.starts_with(prefix))
}

/// Returns the tools to list to a client. An unknown one reads everything at its start.
pub(super) fn surface(catalog: &Catalog, client: Option<&str>) -> ToolSurface {
    ToolSurface::for_client(catalog, client.is_some_and(searches_tools))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the names in a table of docs/protocol.md that have this word, and those that do not.
    fn table(heading: &str, word: &str) -> [Vec<&'static str>; 2] {
        let page = include_str!("../../../../docs/protocol.md");
        let section = page.split(heading).nth(1).expect("the section");
        let section = section.split("\n## ").next().expect("the section");
        let rows = section.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
        let (on, off): (Vec<_>, Vec<_>) = rows.partition(|(_, rest)| rest.contains(&format!("| {word} |")));
        [on, off].map(|rows| rows.into_iter().map(|(name, _)| name).collect())
    }

    #[test]
    fn the_documentation_has_the_same_clients() {
        let [on, off] = table("## Data of replies", "on");
        assert_eq!(on, CLIENTS_WITH_DATA);
        assert!(!off.is_empty() && off.iter().all(|name| !reads_data(name)));
        let [searching, others] = table("## Clients that search tools", "yes");
        assert_eq!(searching, CLIENTS_THAT_SEARCH);
        assert!(!others.is_empty() && others.iter().all(|name| !searches_tools(name)));
        assert!(searches_tools("Visual Studio Code - Insiders"));
    }
}
