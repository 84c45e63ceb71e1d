//! `gatehouse agent-template`: a subagent for one server, which keeps its tools and their results out of the caller's
//! context.

use std::{path::PathBuf, sync::Arc};

use clap::{Args, ValueEnum};
use gatehouse_core::{
    Catalog, Principal, SourceId, catalog::ToolEntry, isolation, ports::ServerRegistry as _,
    ports::ledger::MetricsFilter,
};
use serde_json::json;

use super::{CommandError, CommandResult, GlobalArgs, presets, request, write_file};
use crate::{config::Env, out, pinned_command::PinnedCommand};

/// Maximum number of tools in the text. The model can find the others.
const MAX_NAMED_TOOLS: usize = 40;

const LEDGER_DAYS: u32 = 7;

#[derive(Args)]
pub(super) struct Arguments {
    /// Name of the server
    server: String,
    /// Access to the server: by tools of the gateway (agent), or by requests that start the server each time
    /// (subprocess)
    #[arg(long, value_enum, default_value = "auto")]
    strategy: AgentStrategy,
    /// Preset of the client [default: the one that `serve` would choose]
    #[arg(long)]
    preset: Option<String>,
    /// Name that the client gives this gateway
    #[arg(long, default_value = "gatehouse")]
    name: String,
    /// File to write; for Claude Code .claude/agents/SERVER-gateway.md
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum AgentStrategy {
    Agent,
    Subprocess,
    /// Decide by the cost of the server's tools, the number of calls and the start time
    Auto,
}

pub(super) async fn run(arguments: Arguments, global: &GlobalArgs, env: &Env) -> CommandResult {
    let composition = global.compose(env)?;
    let compiled = composition.config.select(arguments.preset.as_deref(), env)?;
    let catalog = composition.catalog(&compiled).await?;
    let servers = &composition.stores.servers.live;
    let status = servers.status().into_iter().find(|status| *status.name == *arguments.server);
    if status.as_ref().is_some_and(|status| !catalog.server_tools.allows_server(status)) {
        let (server, preset) = (&arguments.server, &compiled.preset);
        return Err(CommandError::usage(format!("preset '{preset}' has no access to server '{server}'")));
    }
    // Starts the server for a moment if it was never listed.
    servers.probe(&arguments.server, &Principal::Local).await?;
    let listed = servers.listing(&arguments.server, &Principal::Local).await?;
    let tools = catalog.server_tools.entries(&listed);
    let definition = |entry: &Arc<ToolEntry>| {
        let (name, spec) = (&*entry.id.name, &entry.spec);
        json!({"name": name, "description": spec.description, "inputSchema": spec.input_schema})
    };
    let schema_tokens = presets::tokens(&tools.iter().map(definition).collect());
    let (is_isolated, mut reason) = match arguments.strategy {
        AgentStrategy::Agent => (false, "as requested".into()),
        AgentStrategy::Subprocess => (true, "as requested".into()),
        AgentStrategy::Auto => {
            let mut facts = isolation::ServerUsage {
                program: status.as_ref().is_some_and(|status| status.transport == "stdio"),
                schema_tokens: Some(schema_tokens),
                ..isolation::ServerUsage::default()
            };
            let source = Some(SourceId::Server(arguments.server.as_str().into()));
            let filter = MetricsFilter { source, tool: None, days: Some(LEDGER_DAYS) };
            for tool in composition.stores.metrics(&filter).await? {
                facts.calls += tool.calls;
                facts.waited_ms += tool.connecting_ms;
            }
            let advice = isolation::advise(&facts);
            (advice.isolated, advice.reason)
        }
    };
    let mut requests = None;
    if is_isolated {
        let preset = &compiled.preset;
        // Another preset would give the subagent other tools.
        match request::name(&catalog) {
            Some(_) => requests = Some(PinnedCommand::new(&composition.config, global, env)?),
            None if matches!(arguments.strategy, AgentStrategy::Auto) => {
                reason = format!("preset '{preset}' lacks the tool `request`");
            }
            None => {
                return Err(CommandError::usage(format!(
                    "preset '{preset}' lacks the tool `request`, which --strategy subprocess needs; write \
                    `gates.proxy = {{ request = true }}` under [presets.{preset}], choose another preset with --preset, \
                    or use --strategy agent"
                )));
            }
        }
    }
    let strategy = if requests.is_some() { "subprocess" } else { "agent" };
    let context = TemplateContext { arguments: &arguments, catalog: &catalog, tools: &tools, requests };
    let text =
        context.text(&format!("{strategy} ({reason}; {} tools, {schema_tokens} tokens)", tools.len()))?;
    match &arguments.out {
        None => out::line(text.trim_end()),
        Some(file) => {
            write_file(file, &text)?;
            out::line(format!("wrote {} ({strategy}: {reason})", file.display()));
        }
    }
    Ok(())
}

/// Replaces unusual characters in a tool's name, which the server chooses freely.
fn plain(name: &str) -> String {
    let letter = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/');
    name.chars().take(64).map(|c| if letter(c) { c } else { '_' }).collect()
}

struct TemplateContext<'a> {
    arguments: &'a Arguments,
    catalog: &'a Catalog,
    tools: &'a [Arc<ToolEntry>],
    /// Command for requests in a shell. `None` if the subagent has tools instead.
    requests: Option<PinnedCommand>,
}

impl TemplateContext<'_> {
    /// Returns the subagent. `strategy` has the reason for it.
    fn text(&self, strategy: &str) -> CommandResult<String> {
        let server = &self.arguments.server;
        // Only names: descriptions from the server could act as instructions to an agent with a shell.
        let names: Vec<String> = self.tools.iter().map(|entry| plain(&entry.id.name)).collect();
        let about = match names.as_slice() {
            [] => String::new(),
            names => format!("Among its tools: {}.", names[..names.len().min(6)].join(", ")),
        };
        let (allowed, way) = match &self.requests {
            Some(pinned) => self.by_requests(pinned),
            None => self.by_tools()?,
        };
        let mut text = format!(
            "---\nname: {server}-gateway\ndescription: \"Does tasks that need the MCP server {server}, and reports \
            the result. {about}\"\ntools: {allowed}\n\
            model: inherit\n---\n\n<!-- strategy: {strategy}. Made by: gatehouse agent-template {server} \
            -->\n\nYou do work for another agent with the tools of the server `{server}`, so that neither their \
            definitions nor their raw results fill that agent's context.\n\n\
            {way}\n\n1. Activate the context: find out which project, account or directory is meant before the first \
            call; ask if the task does not say.\n2. Validate first: read a tool's arguments before you call it, and \
            see that what you are to change exists.\n\
            3. Assess the impact: before you change anything, say what will change, and use a dry run if the tool \
            has one. Change only what was requested.\n\
            4. One complete answer: end with the result, what was changed, and what could not be done, with the \
            reason. No raw output; name the artifact if a full result was stored.\n\n\
            Tools of `{server}`:\n"
        );
        text.extend(names.iter().take(MAX_NAMED_TOOLS).map(|name| format!("- `{name}`\n")));
        if names.len() > MAX_NAMED_TOOLS {
            text += &format!("- and {} more\n", names.len() - MAX_NAMED_TOOLS);
        }
        Ok(text)
    }

    /// Returns the tools and instructions for a subagent that uses tools: the server's own, if the preset lists them,
    /// else those of the proxy gate.
    fn by_tools(&self) -> Result<(String, String), CommandError> {
        let (client, server) = (&self.arguments.name, &self.arguments.server);
        let named = |is_meant: &dyn Fn(&ToolEntry) -> bool| {
            let entries = self.catalog.in_gate_order().into_iter();
            let meant = entries.filter(|entry| entry.listed && is_meant(entry));
            meant.map(|entry| format!("mcp__{client}__{}", entry.name)).collect::<Vec<_>>().join(", ")
        };
        let server_tools =
            named(&|entry| matches!(&entry.id.source, SourceId::Server(name) if **name == **server));
        if !server_tools.is_empty() {
            return Ok((server_tools, format!("Its tools are `mcp__{client}__{server}__…`.")));
        }
        let proxy =
            named(&|entry| ["search_tools", "get_tool_schema", "call_tool"].contains(&&*entry.id.name));
        if proxy.is_empty() {
            let preset = &self.catalog.preset;
            return Err(CommandError::usage(format!(
                "preset '{preset}' shows neither the tools of '{server}' nor the gate proxy; add one, or use \
                --strategy subprocess"
            )));
        }
        let way = format!(
            "`search_tools` with `server: \"{server}\"` finds its tools, `get_tool_schema` has their arguments, \
            `call_tool` calls them."
        );
        Ok((proxy, way))
    }

    /// Returns the tools and instructions for a subagent that sends requests from a shell. Each request starts and ends
    /// the server.
    fn by_requests(&self, pinned: &PinnedCommand) -> (String, String) {
        let (server, preset) = (&self.arguments.server, &self.catalog.preset);
        let request = pinned.shell_line(&["request"], preset);
        let schema = pinned.shell_line(&["tools", "schema", server, "TOOL"], preset);
        let way = format!(
            "Each call is one request, which starts and ends the server:\n\n\
            ```bash\n{request} <<'EOF'\n{{\"intent\": \"QUERY\", \"action\": \"{server}/TOOL\", \"params\": {{}}, \
            \"constraints\": {{\"isolation\": \"subprocess\"}}}}\n\
            EOF\n```\n\n`intent` is QUERY for reads, MODIFY for changes, EXECUTE for anything else. The answer is \
            one JSON object; if `ok` is false, `error` names the next step. This prints a tool's arguments:\n\n\
            ```bash\n{schema}\n```"
        );
        ("Bash".into(), way)
    }
}
