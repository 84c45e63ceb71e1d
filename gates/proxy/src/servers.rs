//! `list_mcp_servers` and `refresh_mcp_server` list the servers and reload their tools. `add_mcp_server` and
//! `remove_mcp_server` change this host's servers for all presets. They exist only if the preset sets `admin`, and the
//! host also requires a grant, because a server is a program that the host runs.

use gatehouse_sdk::{
    Call, Effect, Fault, FaultKind, Intent, Reply, Tool,
    servers::{self, Circuit, RefreshReport, Server, State},
    servers_admin, to_json,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{Params, reply_format};

pub(crate) const LIST: &str = "list_mcp_servers";

const MAX_ERROR_CHARS: usize = 200;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ListArgs {
    name_filter: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct ServerEntry {
    name: String,
    state: &'static str,
    transport: String,
    /// Absent if the server was never asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_count: Option<u32>,
    /// Milliseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    connected_at: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_error: Option<String>,
    circuit: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    recovery_in_ms: Option<u64>,
    /// Milliseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_schema_change: Option<u64>,
}

#[derive(Serialize, JsonSchema)]
struct ServerList {
    servers: Vec<ServerEntry>,
    total: usize,
    connected: usize,
}

pub(crate) fn list() -> Tool<Params> {
    gatehouse_sdk::tool::<Params, ListArgs>(LIST)
        .description(|_| "List servers, their state and tool count.")
        .idempotent()
        .output::<ServerList>()
        .run(run_list)
}

fn run_list(_: &Call<Params>, args: ListArgs) -> Result<Reply, Fault> {
    let name_filter = args.name_filter.unwrap_or_default().to_lowercase();
    let all_servers = servers::servers()?;
    let total = all_servers.len();
    let mut servers: Vec<ServerEntry> = all_servers.into_iter().map(server_entry).collect();
    let connected = servers.iter().filter(|server| server.state == "connected").count();
    servers.retain(|server| server.name.to_lowercase().contains(&name_filter));
    let mut lines: Vec<String> = servers.iter().map(line).collect();
    lines.push(match total {
        0 => "There are no servers.".to_owned(),
        _ if lines.is_empty() => format!("None of the {total} servers matches the name filter."),
        _ => format!("{total} servers, {connected} connected."),
    });
    Reply::markdown(lines.join("\n")).structured(&ServerList { servers, total, connected })
}

fn server_entry(server: Server) -> ServerEntry {
    ServerEntry {
        name: server.name,
        state: match server.state {
            State::Configured => "configured",
            State::Connecting => "connecting",
            State::Connected => "connected",
            State::Dormant => "dormant",
            State::Failed => "failed",
        },
        transport: server.transport,
        tool_count: server.tool_count,
        connected_at: server.connected_at,
        last_error: server.last_error.map(|error| reply_format::line(&error, MAX_ERROR_CHARS)),
        circuit: match server.circuit {
            Circuit::Closed => "closed",
            Circuit::Open => "open",
            Circuit::HalfOpen => "half-open",
        },
        recovery_in_ms: server.recovery_in_ms,
        last_schema_change: server.last_schema_change,
    }
}

fn line(server: &ServerEntry) -> String {
    let ServerEntry { name, state, transport, .. } = server;
    let tools = server.tool_count.map(|count| format!(", {count} tools")).unwrap_or_default();
    let circuit = match (server.circuit, server.recovery_in_ms) {
        ("closed", _) => String::new(),
        (circuit, Some(ms)) => format!(", circuit {circuit} for {:.1} s", ms as f64 / 1000.0),
        (circuit, None) => format!(", circuit {circuit}"),
    };
    let error = server.last_error.as_ref().map(|error| format!(", last error: {error}")).unwrap_or_default();
    format!("{name}: {state}{tools}, {transport}{circuit}{error}")
}

/// Adds a hint to a fault if a server was not found.
pub(crate) fn with_names(fault: Fault) -> Fault {
    match reply_format::hint(LIST, |list| format!("{list} lists the servers.")) {
        Some(hint) if fault.kind == FaultKind::NotFound && fault.hint.is_none() => fault.hint(hint),
        _ => fault,
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RefreshArgs {
    server: Option<String>,
    force: Option<bool>,
}

#[derive(Serialize, JsonSchema)]
struct RefreshFailure {
    server: String,
    error: String,
}

#[derive(Serialize, JsonSchema)]
struct RefreshReply {
    added: u32,
    updated: u32,
    removed: u32,
    unchanged: u32,
    /// Recomputed vectors.
    embeddings: u32,
    failed: Vec<RefreshFailure>,
}

pub(crate) fn refresh() -> Tool<Params> {
    gatehouse_sdk::tool::<Params, RefreshArgs>("refresh_mcp_server")
        .description(|_| "Reload the tools of one or all servers.")
        .intent(Intent::Modify)
        .effect(Effect::Mutating)
        .idempotent()
        .output::<RefreshReply>()
        .run(run_refresh)
}

fn run_refresh(_: &Call<Params>, args: RefreshArgs) -> Result<Reply, Fault> {
    let report = servers::refresh(args.server.as_deref(), args.force.unwrap_or(false)).map_err(with_names)?;
    let RefreshReport { added, updated, removed, unchanged, embeddings, failed } = report;
    let failed: Vec<RefreshFailure> = failed
        .into_iter()
        .map(|(server, error)| RefreshFailure { server, error: reply_format::line(&error, MAX_ERROR_CHARS) })
        .collect();
    let mut lines =
        vec![format!("Tools: {added} added, {updated} updated, {removed} removed, {unchanged} unchanged.")];
    lines.extend(failed.iter().map(|failure| format!("{}: {}", failure.server, failure.error)));
    let refreshed = RefreshReply { added, updated, removed, unchanged, embeddings, failed };
    Reply::markdown(lines.join("\n")).structured(&refreshed)
}

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
