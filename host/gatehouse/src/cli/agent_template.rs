//! `gatehouse agent-template`: a subagent for one server, so that its tools and what they answer stay out of the context of
//! whoever asks it.

use std::{fmt::Write as _, path::PathBuf};

use clap::{Args, ValueEnum};
use gatehouse_core::{
    Catalog, CompiledPreset, SourceId, catalog::ToolEntry, isolation, ports::ServerRegistry as _,
    ports::ledger::CallLedger as _, ports::ledger::MetricsFilter, ports::servers::ServerStatus,
};
use serde_json::json;

use super::{CommandError, GlobalArgs, presets, request};
use crate::{compose::Composition, config::Env, out, pinned_command::PinnedCommand};

/// Tools that are named in the text; of more the model finds the others itself.
const MAX_NAMED_TOOLS: usize = 40;

/// Days of the ledger that are looked at.
const LEDGER_DAYS: u32 = 7;

#[derive(Args)]
pub(super) struct Arguments {
    /// The server
    server: String,
    /// How the subagent reaches it: by tools of the gateway (agent), or by requests that start the server each time
    /// (subprocess)
    #[arg(long, value_enum, default_value = "auto")]
    strategy: AgentStrategy,
    /// The preset that the client has [default: the one that serve would choose]
    #[arg(long)]
    preset: Option<String>,
    /// The name that the client gives this gateway
    #[arg(long, default_value = "gatehouse")]
    name: String,
    /// Write a file; for Claude Code .claude/agents/SERVER-gateway.md
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum AgentStrategy {
    Agent,
    Subprocess,
    /// What the server's tools cost, how often they are called and how long it takes to start decides
    Auto,
}

pub(super) async fn run(arguments: Arguments, place: &GlobalArgs, env: &Env) -> Result<(), CommandError> {
    let composition = place.compose(env)?;
    let exposure = composition.config.select(arguments.preset.as_deref(), env)?;
    let catalog = composition.catalog(&exposure).await.map_err(CommandError::Failed)?;
    let servers = &composition.stores.servers.live;
    let status = servers.status().into_iter().find(|status| *status.name == *arguments.server);
    if status.as_ref().is_some_and(|status| !catalog.server_tools.allows_server(status)) {
        let (server, preset) = (&arguments.server, &exposure.preset);
        return Err(CommandError::Usage(format!("preset '{preset}' does not reach server '{server}'")));
    }
    // One that was never asked is asked, and ended again.
    servers.probe(&arguments.server).await?;
    let listed = servers.listing(&arguments.server).await?;
    let tools = catalog.server_tools.entries(&listed);
    let definitions: Vec<_> = tools
        .iter()
        .map(|entry| {
            json!({"name": &*entry.id.name, "description": entry.spec.description, "inputSchema": entry.spec.input_schema})
        })
        .collect();
    let schema_tokens = presets::tokens(&json!(definitions));
    let program = status.as_ref().is_some_and(|status| status.transport == "stdio");
    let facts = facts(&composition, &arguments.server, program, schema_tokens).await?;
    let advice = isolation::advise(&facts);
    let (apart, why) = match arguments.strategy {
        AgentStrategy::Agent => (false, "as was asked".into()),
        AgentStrategy::Subprocess => (true, "as was asked".into()),
        AgentStrategy::Auto => (advice.isolated, advice.reason),
    };
    let taker =
        if apart { request_preset(&composition, &exposure.preset, status.as_ref()).await } else { None };
    let (requests, why) = match (apart, taker) {
        (false, _) => (None, why),
        (true, Some(preset)) => (Some((PinnedCommand::new(&composition.config, place, env)?, preset)), why),
        (true, None) if matches!(arguments.strategy, AgentStrategy::Auto) => {
            (None, "no preset that reaches it has the tool `request`".to_owned())
        }
        (true, None) => return Err(no_request_preset(&arguments.server)),
    };
    let apart = requests.is_some();
    let made = TemplateContext { arguments: &arguments, catalog: &catalog, tools: &tools, requests };
    let text = made.text(&format!("{why}; {} tools, {schema_tokens} tokens", tools.len()))?;
    let Some(file) = &arguments.out else {
        out::line(text.trim_end());
        return Ok(());
    };
    let failed = |error: std::io::Error| {
        CommandError::Failed(format!("{}: cannot be written: {error}", file.display()))
    };
    if let Some(folder) = file.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder).map_err(failed)?;
    }
    gatehouse_files::write_atomic(file, text.as_bytes()).map_err(failed)?;
    out::line(format!(
        "Written to {} ({}: {why}).",
        file.display(),
        if apart { "subprocess" } else { "agent" }
    ));
    Ok(())
}

/// What the ledger has of a server that is not running in this process.
async fn facts(
    composition: &Composition,
    server: &str,
    program: bool,
    schema_tokens: usize,
) -> Result<isolation::ServerUsage, CommandError> {
    let mut facts = isolation::ServerUsage {
        program,
        schema_tokens: Some(schema_tokens),
        ..isolation::ServerUsage::default()
    };
    if let Some(ledger) = composition.stores.ledger.as_ref().filter(|ledger| ledger.path().exists()) {
        let source = Some(SourceId::Server(server.into()));
        for tool in ledger.metrics(&MetricsFilter { source, tool: None, days: Some(LEDGER_DAYS) }).await? {
            facts.calls += tool.calls;
            facts.waited_ms += tool.connecting_ms;
        }
    }
    Ok(facts)
}

/// A preset that takes requests for this server: the chosen one if it does, else `gateway`, else the first by name.
async fn request_preset(
    composition: &Composition,
    chosen: &str,
    server: Option<&ServerStatus>,
) -> Option<String> {
    let others = composition.config.presets.keys().map(String::as_str);
    for preset in [chosen, "gateway"].into_iter().chain(others) {
        let Ok(exposure) = CompiledPreset::compile(&composition.config.presets, preset) else { continue };
        let Ok(catalog) = composition.catalog(&exposure).await else { continue };
        if request::name(&catalog).is_some()
            && server.is_none_or(|server| catalog.server_tools.allows_server(server))
        {
            return Some(preset.to_owned());
        }
    }
    None
}

fn no_request_preset(server: &str) -> CommandError {
    CommandError::Usage(format!(
        "no preset that reaches server '{server}' has the tool `request`, which --strategy subprocess needs; write \
         `gates.proxy = {{ request = true }}` under one, or use --strategy agent"
    ))
}

/// A tool's name by its letters, digits and marks that join them: a server may write anything into it.
fn plain(name: &str) -> String {
    let letter = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/');
    name.chars().take(64).map(|c| if letter(c) { c } else { '_' }).collect()
}

/// What is written.
struct TemplateContext<'a> {
    arguments: &'a Arguments,
    catalog: &'a Catalog,
    tools: &'a [std::sync::Arc<ToolEntry>],
    /// How requests are sent from a shell, and the preset that takes them. `None` if the subagent has tools instead.
    requests: Option<(PinnedCommand, String)>,
}

impl TemplateContext<'_> {
    fn text(&self, why: &str) -> Result<String, CommandError> {
        let server = &self.arguments.server;
        let strategy = if self.requests.is_some() { "subprocess" } else { "agent" };
        // Names alone: what a server says of its tools would be an instruction to whoever has a shell.
        let name = |entry: &std::sync::Arc<ToolEntry>| plain(&entry.id.name);
        let about: Vec<String> = self.tools.iter().take(6).map(name).collect();
        let about =
            if about.is_empty() { String::new() } else { format!("Among its tools: {}.", about.join(", ")) };
        let (allowed, way) = match &self.requests {
            Some((pinned, preset)) => self.by_requests(pinned, preset),
            None => self.by_tools()?,
        };
        let mut text = format!(
            "---\nname: {server}-gateway\ndescription: \"Does whatever needs the MCP server {server}, and answers with what came of \
             it. {about}\"\ntools: {allowed}\nmodel: inherit\n---\n\n\
             <!-- strategy: {strategy} ({why}). Made by: gatehouse agent-template {server} -->\n\n\
             You do work for another agent with the tools of the server `{server}`, so that neither their definitions nor their \
             raw results fill that agent's context.\n\n{way}\n\n\
             1. Activate the context: find out which project, account or folder is meant before the first call; ask back where \
             the task does not say.\n\
             2. Validate first: read a tool's arguments before you call it, and see that what you are to change exists.\n\
             3. Assess the impact: before anything is changed, say what will be, and make a rehearsal where the tool has one. \
             Do not change what was not asked for.\n\
             4. One complete answer: end with the result, what was changed, and what could not be done, with the reason. No raw \
             output; name the artifact where a result was kept whole.\n\nTools of `{server}`:\n"
        );
        for entry in self.tools.iter().take(MAX_NAMED_TOOLS) {
            let _ = writeln!(text, "- `{}`", plain(&entry.id.name));
        }
        if self.tools.len() > MAX_NAMED_TOOLS {
            let _ = writeln!(text, "- and {} more", self.tools.len() - MAX_NAMED_TOOLS);
        }
        Ok(text)
    }

    /// By tools that the preset has: those of the server, else the ones that find and call them.
    fn by_tools(&self) -> Result<(String, String), CommandError> {
        let (client, server) = (&self.arguments.name, &self.arguments.server);
        let listed = || self.catalog.in_gate_order().into_iter().filter(|entry| entry.listed);
        let named = |entries: Vec<&ToolEntry>| {
            entries
                .iter()
                .map(|entry| format!("mcp__{client}__{}", entry.name))
                .collect::<Vec<_>>()
                .join(", ")
        };
        let own: Vec<&ToolEntry> = listed()
            .filter(|entry| matches!(&entry.id.source, SourceId::Server(name) if **name == **server))
            .map(|entry| &**entry)
            .collect();
        if !own.is_empty() {
            return Ok((named(own), format!("Its tools are `mcp__{client}__{server}__…`.")));
        }
        let proxy: Vec<&ToolEntry> = listed()
            .filter(|entry| ["search_tools", "get_tool_schema", "call_tool"].contains(&&*entry.id.name))
            .map(|entry| &**entry)
            .collect();
        if proxy.is_empty() {
            let preset = &self.catalog.preset;
            return Err(CommandError::Usage(format!(
                "preset '{preset}' shows neither the tools of '{server}' nor the gate proxy; add one, or use --strategy subprocess"
            )));
        }
        let way = format!(
            "`search_tools` with `server: \"{server}\"` finds its tools, `get_tool_schema` has their arguments, `call_tool` calls \
             them."
        );
        Ok((named(proxy), way))
    }

    /// By requests from a shell, each of which starts the server and ends it.
    fn by_requests(&self, pinned: &PinnedCommand, preset: &str) -> (String, String) {
        let server = &self.arguments.server;
        let request = pinned.shell_line(&["request"], preset);
        let schema = pinned.shell_line(&["tools", "schema", server, "TOOL"], preset);
        let way = format!(
            "Each call is one request, for which the server is started and ended again:\n\n```bash\n\
             {request} <<'EOF'\n{{\"intent\": \"QUERY\", \"action\": \"{server}/TOOL\", \"params\": {{}}, \
             \"constraints\": {{\"isolation\": \"subprocess\"}}}}\nEOF\n```\n\n\
             `intent` is QUERY for what only reads, MODIFY for what changes something, EXECUTE for the rest. The answer is one \
             JSON object; where `ok` is false, `error` says what to do. This prints a tool's arguments:\n\n```bash\n{schema}\n```"
        );
        ("Bash".into(), way)
    }
}
