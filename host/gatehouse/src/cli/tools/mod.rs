//! `gatehouse tools`: finds, shows and calls tools of MCP servers through the `proxy` gate, as an agent does, and shows
//! metrics of all tools.

mod metrics;
mod shape;

pub(super) use metrics::busiest;
pub(super) use shape::ago;

use std::sync::Arc;

use clap::Subcommand;
use gatehouse_core::{Catalog, SourceId, ToolId};
use serde_json::{Value, json};

use super::{CommandError, CommandResult, GlobalArgs, OutputFormat, call, with_header};
use crate::{compose::Composition, config::Env, out};

#[derive(Subcommand)]
pub(super) enum Command {
    /// Find tools of servers by task
    Search {
        /// Search text
        query: String,
        /// Only tools of this server
        #[arg(long)]
        server: Option<String>,
        /// Maximum number of tools
        #[arg(long, value_name = "N")]
        top_k: Option<u32>,
        #[command(flatten)]
        how: ToolCommandArgs,
    },
    /// Show the full definition of a server's tool
    Schema {
        /// Name of the server
        server: String,
        /// The server's name for the tool
        tool: String,
        #[command(flatten)]
        how: ToolCommandArgs,
    },
    /// Recommend tools for a task, with reasons
    Recommend {
        /// Description of the task
        task: String,
        /// Search mode: semantic, hybrid or llm [default: as the preset defines]
        #[arg(long)]
        mode: Option<String>,
        /// Maximum number of tools
        #[arg(long, value_name = "N")]
        top_k: Option<u32>,
        #[command(flatten)]
        how: ToolCommandArgs,
    },
    /// Call a tool of a server through the gate; `gatehouse call` calls any tool that a preset shows
    Call {
        /// Name of the server
        server: String,
        /// The server's name for the tool
        tool: String,
        /// Arguments of the tool, a JSON object; - reads standard input
        #[arg(default_value = "{}", value_name = "JSON")]
        arguments: String,
        #[command(flatten)]
        how: ToolCommandArgs,
    },
    /// Show metrics of calls in all presets, for servers and gates
    Metrics(metrics::Arguments),
    /// Show alternatives to a tool, and tools that are called with it
    Alternatives {
        /// Name of the server
        server: String,
        /// The server's name for the tool
        tool: String,
        /// Error that the tool returned
        #[arg(long)]
        error: Option<String>,
        #[command(flatten)]
        how: ToolCommandArgs,
    },
}

/// Options of all commands that use the proxy gate.
#[derive(clap::Args)]
pub(super) struct ToolCommandArgs {
    /// Preset whose servers and rules apply [default: the one that `serve` would choose, if it has the tool, else
    /// another one that has it]
    #[arg(long)]
    preset: Option<String>,
    #[command(flatten)]
    output: OutputFormat,
}

pub(super) async fn run(command: Command, global: &GlobalArgs, env: &Env) -> CommandResult {
    let (tool, arguments, how) = match command {
        Command::Metrics(arguments) => return metrics::run(&arguments, &global.compose(env)?).await,
        Command::Search { query, server, top_k, how } => {
            ("search_tools", json!({"query": query, "server": server, "top_k": top_k}), how)
        }
        Command::Recommend { task, mode, top_k, how } => {
            let arguments = json!({"task_description": task, "search_mode": mode, "top_k": top_k});
            ("recommend_tools", arguments, how)
        }
        Command::Schema { server, tool, how } => {
            ("get_tool_schema", json!({"server": server, "tool": tool}), how)
        }
        Command::Alternatives { server, tool, error, how } => {
            let arguments = json!({"server": server, "tool": tool, "error": error});
            ("get_tool_alternatives", arguments, how)
        }
        Command::Call { server, tool, arguments, how } => {
            let tool_arguments = call::arguments(&arguments)?;
            let arguments = json!({"server": server, "tool": tool, "arguments": tool_arguments});
            let through = ProxyTools::open(global, env, how.preset.as_deref(), "call_tool").await?;
            return through.call("call_tool", arguments, how.output.json).await;
        }
    };
    let (through, arguments) =
        (ProxyTools::open(global, env, how.preset.as_deref(), tool).await?, without_nulls(arguments));
    if !how.output.json {
        return through.call(tool, arguments, false).await;
    }
    let name = through.name(tool)?;
    let catalog = Arc::clone(&through.catalog);
    let reply = call::run_tool(&through.composition, catalog, &name, arguments).await?;
    match &reply.structured {
        Some(data) => out::json(data),
        None => out::json(&reply.content.iter().filter_map(call::text_of).collect::<Vec<_>>()),
    }
    if reply.is_error { Err(CommandError::failed(format!("{tool} reported an error"))) } else { Ok(()) }
}

fn without_nulls(mut arguments: Value) -> Value {
    if let Some(arguments) = arguments.as_object_mut() {
        arguments.retain(|_, value| !value.is_null());
    }
    arguments
}

/// Returns the name by which clients see a gate's tool.
fn find(catalog: &Catalog, tool: &str) -> Option<String> {
    let is_it = |id: &ToolId| *id.name == *tool && matches!(id.source, SourceId::Gate(_));
    let gate_tool = catalog.entries().iter().find(|entry| is_it(&entry.id));
    gate_tool.map(|entry| entry.name.to_string())
}

struct ProxyTools {
    composition: Composition,
    catalog: Arc<Catalog>,
}

impl ProxyTools {
    /// Opens the named preset. Without a name, opens the one that `serve` would choose, if it has the tool, else
    /// another preset that has it.
    async fn open(global: &GlobalArgs, env: &Env, named: Option<&str>, tool: &str) -> CommandResult<Self> {
        let composition = global.compose(env)?;
        if composition.stores.servers.status().is_empty() {
            out::note(
                "there are no servers: run `gatehouse servers import`, or add one with `gatehouse servers add`",
            );
        }
        let compiled = composition.config.select(named, env)?;
        let catalog = composition.catalog(&compiled).await?;
        let through = Self { catalog: Arc::new(catalog), composition };
        if named.is_some() || find(&through.catalog, tool).is_some() {
            return Ok(through);
        }
        for other in through.presets_with_proxy() {
            let compiled = through.composition.config.select(Some(&other), env)?;
            let Ok(catalog) = through.composition.catalog(&compiled).await else { continue };
            if find(&catalog, tool).is_some() {
                // The shipped preset is the one that these commands are for.
                if other != "proxy" {
                    let chosen = &through.catalog.preset;
                    out::note(format!("preset '{chosen}' has no tool '{tool}'; using preset '{other}'"));
                }
                return Ok(Self { catalog: Arc::new(catalog), ..through });
            }
        }
        Err(through.missing_tool(tool))
    }

    /// Returns the presets with the `proxy` gate: those of the user's file first, and `proxy` first in each group.
    fn presets_with_proxy(&self) -> Vec<String> {
        let config = &self.composition.config;
        let has = |name: &&String| {
            gatehouse_core::CompiledPreset::compile(&config.presets, name)
                .is_ok_and(|compiled| compiled.gates().any(|gate| **gate == *"proxy"))
        };
        let mut presets: Vec<String> = config.presets.keys().filter(has).cloned().collect();
        presets.sort_by_key(|name| (!config.is_own(name), name != "proxy", name.clone()));
        presets
    }

    fn name(&self, tool: &str) -> CommandResult<String> {
        find(&self.catalog, tool).ok_or_else(|| self.missing_tool(tool))
    }

    fn missing_tool(&self, tool: &str) -> CommandError {
        let next = match self.presets_with_proxy().as_slice() {
            [] => "No preset has that gate; add `gates.proxy = {}` to one.".to_owned(),
            others => format!("Select a preset that has the gate with --preset: {}.", others.join(", ")),
        };
        let preset = &self.catalog.preset;
        CommandError::usage(format!("preset '{preset}' has no tool '{tool}' of the gate proxy. {next}"))
    }

    async fn call(&self, tool: &str, arguments: Value, json: bool) -> CommandResult {
        let name = self.name(tool)?;
        call::call(&self.composition, Arc::clone(&self.catalog), &name, arguments, json).await
    }
}
