//! `add_mcp_server` and `remove_mcp_server`: change this host's servers for all presets. They exist only if the preset
//! sets `admin`, and the host also requires a grant, because a server is a program that the host runs.

use gatehouse_sdk::{Call, Effect, Fault, Intent, Reply, Tool, servers_admin, to_json};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::Params;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AddArgs {
    name: String,
    /// Keys as in presets.toml: `command` and `args`, or `url`; `env`, `headers`, …
    definition: Map<String, Value>,
}

#[derive(Serialize, JsonSchema)]
struct AddServerReply {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_count: Option<u32>,
    /// Connection error; the server stays configured.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
}

pub(crate) fn add() -> Tool<Params> {
    gatehouse_sdk::tool::<Params, AddArgs>("add_mcp_server")
        .description(|_| "Add a server, for all presets, and connect it.")
        .only_if(|params| params.admin)
        .intent(Intent::Modify)
        .effect(Effect::ExternalExec)
        .idempotent()
        .output::<AddServerReply>()
        .run(run_add)
}

fn run_add(_: &Call<Params>, args: AddArgs) -> Result<Reply, Fault> {
    let definition = to_json(&args.definition)?;
    let servers_admin::Added { name, tool_count, problem } = servers_admin::change(&args.name, &definition)?;
    let text = match (&problem, tool_count) {
        (Some(problem), _) => format!("{name} is configured, but could not be connected: {problem}"),
        (None, Some(count)) => format!("{name} is connected and has {count} tools."),
        (None, None) => format!("{name} is configured."),
    };
    Reply::markdown(text).structured(&AddServerReply { name, tool_count, problem })
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RemoveArgs {
    name: String,
}

#[derive(Serialize, JsonSchema)]
struct RemoveServerReply {
    removed: bool,
}

pub(crate) fn remove() -> Tool<Params> {
    gatehouse_sdk::tool::<Params, RemoveArgs>("remove_mcp_server")
        .description(|_| "Remove an added server, for all presets.")
        .only_if(|params| params.admin)
        .intent(Intent::Modify)
        .effect(Effect::Mutating)
        .idempotent()
        .output::<RemoveServerReply>()
        .run(run_remove)
}

fn run_remove(_: &Call<Params>, args: RemoveArgs) -> Result<Reply, Fault> {
    let removed = servers_admin::remove(&args.name)?;
    let text = if removed { "Removed." } else { "No added server has this name." };
    Reply::markdown(text).structured(&RemoveServerReply { removed })
}
