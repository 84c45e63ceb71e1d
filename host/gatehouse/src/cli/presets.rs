//! `gatehouse presets`: lists, shows, checks and measures presets.

mod cost;

use std::sync::Arc;

use clap::Subcommand;
use gatehouse_core::{SourceId, catalog::ToolEntry};
use serde_json::{Map, Value, json};

pub(crate) use self::cost::tokens;
use super::{CommandError, CommandResult, GlobalArgs, OutputFormat, PlainError, compile_preset, with_header};
use crate::{
    check::providers,
    compose::Composition,
    config::{Config, Env, applied},
    control::{self, RunningHost},
    out::{self, TerminalColor},
};

/// More than any model reads at once.
const MAX_HOST_TOKENS: u64 = 100_000_000;

#[derive(Subcommand)]
pub(super) enum Command {
    /// List presets
    List(OutputFormat),
    /// Show the gates, parameters and tools of a preset
    Show {
        /// Name of the preset
        preset: String,
        #[command(flatten)]
        output: OutputFormat,
    },
    /// Load every preset and report problems
    Check {
        /// Start MCP servers that were never listed, to check the patterns over their tools
        #[arg(long)]
        start_servers: bool,
        #[command(flatten)]
        output: OutputFormat,
    },
    /// Apply presets.toml as it is to hosts that wait, because it allows more than before
    Apply,
    /// Count the tokens that tools/list costs a client, per preset and tool (o200k_base)
    Cost {
        /// Count for this client instead, with the requests that a question takes: the name that it sends, such as
        /// claude-code
        #[arg(long, value_name = "NAME", value_parser = clap::builder::NonEmptyStringValueParser::new())]
        client: Option<String>,
        /// Tokens that the client sends with each request to its model, in addition to the tools of Gatehouse
        #[arg(long, value_name = "N", default_value_t = 0, requires = "client",
              value_parser = clap::value_parser!(u64).range(..=MAX_HOST_TOKENS))]
        host_tokens: u64,
        #[command(flatten)]
        output: OutputFormat,
    },
}

pub(super) async fn run(command: Command, global: &GlobalArgs, env: &Env) -> CommandResult {
    if let Command::Apply = command {
        return apply(&global.config(env)?).await;
    }
    let composition = match command {
        Command::Check { start_servers: false, .. } | Command::List(_) => {
            global.compose_without_servers(env)?
        }
        _ => global.compose(env)?,
    };
    match command {
        Command::Apply => {}
        Command::List(output) => list(&composition.config, output),
        Command::Show { preset, output } => show(&composition, &preset, output).await?,
        Command::Check { output, .. } => return check(&composition, output).await,
        Command::Cost { client: None, output, .. } => return cost::tools(&composition, output).await,
        Command::Cost { client: Some(name), host_tokens, output } => {
            let client = cost::Client { name, host_tokens };
            return cost::questions(&composition, &client, output).await;
        }
    }
    Ok(())
}

/// Records the content of the file, and makes the hosts on it read it.
async fn apply(config: &Config) -> CommandResult {
    let Some(file) = &config.file else {
        return Err(CommandError::usage(
            "the built-in presets need no `presets apply`; name a file with --config",
        ));
    };
    tokio::task::block_in_place(|| applied::apply(config))?;
    let (silent, hosts): (Vec<_>, Vec<_>) =
        control::reload(&config.state, file).await.into_iter().partition(|host| host.silent.is_some());
    let file = file.display();
    if hosts.is_empty() {
        out::line(format!("{file} applies at the next start; no host of {} uses it", config.state.display()));
    }
    for RunningHost { facts, silent, .. } in &silent {
        let reason = silent.as_deref().unwrap_or_default();
        out::note(format!(
            "the host of process {} {reason}. If it uses {file}, it may apply it later.",
            facts.pid
        ));
    }
    let mut refused = 0;
    for RunningHost { facts, health, .. } in &hosts {
        let pid = facts.pid;
        if let Some(reason) = &health.configuration {
            out::line(format!("{file} is not applied to the host of process {pid}: {reason}"));
            refused += 1;
            continue;
        }
        let rest = health.restart.as_ref().map(|keys| format!("; {keys} take effect when it is restarted"));
        out::line(format!("{file} is applied to the host of process {pid}{}", rest.unwrap_or_default()));
    }
    if refused > 0 {
        bail!("{refused} of {} hosts did not apply the file", hosts.len());
    }
    Ok(())
}

fn list(config: &Config, output: OutputFormat) {
    let (mut reports, mut rows, mut advice) = (Vec::new(), Vec::new(), None);
    for (name, preset) in &config.presets {
        let [gates, servers] = ["gate", "server"].map(|kind| source_names(&preset.sources, kind));
        let is_default = *name == config.default_preset;
        let is_shipped = config.file.is_none() || !config.is_own(name);
        let unserved = config.not_served(name);
        let marks = [
            (is_default, "default"),
            (is_shipped && config.file.is_some(), "shipped"),
            (unserved.is_some(), "not over HTTP"),
        ];
        let marks: Vec<&str> = marks.into_iter().filter_map(|(is_so, mark)| is_so.then_some(mark)).collect();
        let mark = if marks.is_empty() { String::new() } else { format!(" ({})", marks.join(", ")) };
        let mut sources = gates.join(", ");
        if !servers.is_empty() {
            sources += &format!(" + servers {}", servers.join(", "));
        }
        if !preset.extends.is_empty() {
            sources += &format!(" + {}", preset.extends.join(", "));
        }
        rows.push(vec![format!("{name}{mark}"), sources, preset.description.clone().unwrap_or_default()]);
        reports.push(json!({"name": name, "description": preset.description, "extends": preset.extends,
                            "gates": gates, "servers": servers, "proxied": preset.proxied,
                            "default": is_default, "shipped": is_shipped, "http": unserved.is_none()}));
        advice = advice.or(unserved);
    }
    output.print(&reports, || {
        out::table(&with_header(["PRESET", "GATES", "FOR"], rows));
        config.no_default().into_iter().chain(advice).for_each(out::line);
    });
}

fn source_names<'a>(sources: &'a [(SourceId, Map<String, Value>)], kind: &str) -> Vec<&'a str> {
    sources.iter().filter(|(source, _)| source.kind() == kind).map(|(source, _)| &**source.name()).collect()
}

async fn show(composition: &Composition, preset: &str, output: OutputFormat) -> CommandResult {
    let compiled = compile_preset(composition, preset)?;
    let catalog = composition.catalog(&compiled).await?;
    let tool = |entry: &Arc<ToolEntry>| {
        json!({"name": entry.name.as_str(), entry.id.source.kind(): &**entry.id.source.name(),
               "effect": entry.spec.effect, "title": entry.spec.title})
    };
    let tools: Vec<Value> = catalog.in_gate_order().into_iter().map(tool).collect();
    let gates = compiled.sources.iter().filter(|(source, _)| source.kind() == "gate");
    let gates: Map<String, Value> =
        gates.map(|(gate, params)| (gate.name().to_string(), Value::Object(params.clone()))).collect();
    let report = json!({"preset": preset, "description": compiled.description, "gates": gates,
                        "servers": source_names(&compiled.sources, "server"), "tools": tools});
    output.print(&report, || {
        out::line(format!("{preset}: {}", compiled.description.as_deref().unwrap_or("(no description)")));
        for (source, params) in &compiled.sources {
            let params = match source.kind() {
                "server" if params.is_empty() => String::new(),
                _ => format!(" {}", Value::Object(params.clone())),
            };
            out::line(format!("{} {}{params}", source.kind(), source.name()));
        }
        for tool in &tools {
            let text = |key: &str| tool[key].as_str().unwrap_or_default();
            let source = format!("{}{}", text("gate"), text("server"));
            out::line(format!("  {} ({source}, {})", text("name"), text("effect")));
        }
    });
    Ok(())
}

async fn check(composition: &Composition, output: OutputFormat) -> CommandResult {
    let print_warning =
        |warning: &String| out::verdict("warning", TerminalColor::Yellow, &format!(" {warning}"));
    let mut reports = Vec::new();
    let mut broken = 0;
    let catalogs = composition.catalogs().await;
    let mut warnings = composition.preset_warnings(&catalogs).await;
    let of_rules = composition.access_warnings(&catalogs).await;
    for (name, result) in catalogs {
        broken += usize::from(result.is_err());
        let names =
            result.iter().flat_map(|catalog| catalog.in_gate_order()).map(|entry| entry.name.as_str());
        let refused = names.filter_map(providers::refused_name);
        let mut preset_warnings: Vec<String> = refused
            .map(|reason| format!("{name}: {reason}; give the tool an alias and deny this name"))
            .collect();
        preset_warnings.extend(warnings.remove(name).unwrap_or_default());
        let (mut report, word, color, text) = match result.map(|catalog| catalog.entries().len()) {
            Ok(tools) => {
                let report = json!({"preset": name, "ok": true, "tools": tools});
                (report, "ok", TerminalColor::Green, format!("      {name}: {tools} tools"))
            }
            Err(reason) => {
                let report = json!({"preset": name, "ok": false, "error": reason});
                (report, "broken", TerminalColor::Red, format!("  {name}: {reason}"))
            }
        };
        if !output.json {
            out::verdict(word, color, &text);
            preset_warnings.iter().for_each(print_warning);
        }
        if report["ok"] == true && !preset_warnings.is_empty() {
            report["warnings"] = json!(preset_warnings);
        }
        reports.push(report);
    }
    let presets = reports.len();
    let config = &composition.config;
    let served: Vec<&str> =
        config.presets.keys().map(String::as_str).filter(|name| config.is_served(name)).collect();
    let unserved = composition.unserved_in_rules(&served);
    if !of_rules.is_empty() || !unserved.is_empty() {
        let ok = unserved.is_empty();
        reports.push(json!({"access": true, "ok": ok, "errors": unserved, "warnings": of_rules}));
    }
    output.print(&reports, || {
        of_rules.iter().for_each(print_warning);
        let print_error =
            |reason: &String| out::verdict("broken", TerminalColor::Red, &format!("  {reason}"));
        unserved.iter().for_each(print_error);
    });
    match (broken, unserved.len()) {
        (0, 0) => Ok(()),
        (0, _) => Err(CommandError::failed("access rules name presets that are not served")),
        _ => Err(CommandError::failed(format!("{broken} of {presets} presets cannot be served"))),
    }
}
