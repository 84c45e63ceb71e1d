//! `gatehouse servers search`: finds servers in an MCP registry.

use clap::Args;
use gatehouse_core::names::quoted;
use gatehouse_wire::mcp_registry::{DEFAULT_MCP_REGISTRY, McpRegistry, RegistryEntry};
use serde_json::json;

use super::{CommandError, CommandResult, OutputFormat, with_header};
use crate::out;

const MAX_DESCRIPTION: usize = 100;

#[derive(Args)]
pub(in crate::cli) struct ServerSearchArgs {
    /// Part of the name of a server
    query: String,
    /// URL of the registry
    #[arg(long, value_name = "URL", default_value = DEFAULT_MCP_REGISTRY)]
    registry: String,
    /// Maximum number of servers
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=100))]
    limit: u32,
    #[command(flatten)]
    output: OutputFormat,
}

pub(super) async fn search(arguments: &ServerSearchArgs) -> CommandResult {
    let registry = McpRegistry::new(&arguments.registry).map_err(CommandError::usage)?;
    let found = registry.search(&arguments.query, arguments.limit).await?;
    arguments.output.print(&found.iter().map(to_json).collect::<Vec<_>>(), || {
        if found.is_empty() {
            return out::line(format!("no server matches '{}'", quoted(&arguments.query, 100)));
        }
        let row = |entry: &RegistryEntry| {
            let about = quoted(&entry.description, MAX_DESCRIPTION);
            vec![quoted(&entry.name, 200), quoted(&entry.version, 32), kinds(entry).join(", "), about]
        };
        let header = ["NAME", "VERSION", "RUNS AS", "DESCRIPTION"];
        out::table(&with_header(header, found.iter().map(row)));
        out::note(
            "Anybody can publish there. To add one: gatehouse servers add NAME --from NAME_IN_REGISTRY",
        );
    });
    Ok(())
}

/// Returns the ways to run a server, and its state if it is not active.
fn kinds(entry: &RegistryEntry) -> Vec<String> {
    let packages = entry.packages.iter().map(|package| quoted(&package.registry_type, 16));
    let remotes = entry.remotes.iter().map(|remote| quoted(&remote.kind, 16));
    let status = entry.status.iter().filter(|status| **status != "active").map(|status| quoted(status, 16));
    let mut kinds: Vec<String> = packages.chain(remotes).chain(status).collect();
    kinds.dedup();
    kinds
}

fn to_json(entry: &RegistryEntry) -> serde_json::Value {
    json!({
        "name": entry.name, "version": entry.version, "description": entry.description, "status": entry.status,
        "packages": entry.packages.iter().map(|package| &package.registry_type).collect::<Vec<_>>(),
        "remotes": entry.remotes.iter().map(|remote| &remote.url).collect::<Vec<_>>(),
    })
}
