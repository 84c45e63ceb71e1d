//! `gatehouse presets`: lists, shows, checks and measures presets.

mod cost;

use clap::Subcommand;
use gatehouse_core::SourceId;
use serde_json::{Map, Value, json};

pub(super) use self::cost::tokens;
use super::{CommandError, GlobalArgs, compile_preset};
use crate::{
    check::providers,
    compose::Composition,
    config::Env,
    out::{self, TerminalColor},
};

/// More than any model reads at once.
const MAX_HOST_TOKENS: u64 = 100_000_000;

#[derive(Subcommand)]
pub(super) enum Command {
    /// List presets
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show the gates, parameters and tools of a preset
    Show {
        /// Name of the preset
        preset: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Load every preset and report problems
    Check {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Count the tokens that tools/list costs a client, per preset and tool (o200k_base)
    Cost {
        /// Count for this client instead, with the requests that a question takes: the name that it sends, such as
        /// claude-code
        #[arg(long, value_name = "NAME", value_parser = clap::builder::NonEmptyStringValueParser::new())]
        client: Option<String>,
        /// Tokens that the client sends with each request to its model, besides the tools of Gatehouse
        #[arg(long, value_name = "N", default_value_t = 0, requires = "client",
              value_parser = clap::value_parser!(u64).range(..=MAX_HOST_TOKENS))]
        host_tokens: u64,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

pub(super) async fn run(command: Command, global: &GlobalArgs, env: &Env) -> Result<(), CommandError> {
    let composition = global.compose(env)?;
    match command {
        Command::List { json } => list(&composition, json),
        Command::Show { preset, json } => show(&composition, &preset, json).await?,
        Command::Check { json } => return check(&composition, json).await,
        Command::Cost { client: None, json, .. } => return cost::tools(&composition, json).await,
        Command::Cost { client: Some(name), host_tokens, json } => {
            let client = cost::Client { name, host_tokens };
            return cost::questions(&composition, &client, json).await;
        }
    }
    Ok(())
}

fn list(composition: &Composition, json: bool) {
    let presets = &composition.config.presets;
    if json {
        let report: Vec<Value> = presets
            .iter()
            .map(|(name, preset)| {
                let (gates, servers) = (source_names(&preset.sources, "gate"), source_names(&preset.sources, "server"));
                json!({"name": name, "description": preset.description, "extends": preset.extends, "gates": gates,
                       "servers": servers, "proxied": preset.proxied,
                       "default": *name == composition.config.default_preset,
                       "shipped": !composition.config.is_own(name)})
            })
            .collect();
        return out::json(&report);
    }
    let mut rows = vec![vec!["PRESET".into(), "GATES".into(), "FOR".into()]];
    for (name, preset) in presets {
        let config = &composition.config;
        let mark = match (*name == config.default_preset, config.is_own(name)) {
            (true, true) => " (default)",
            (true, false) => " (default, shipped)",
            (false, true) => "",
            (false, false) => " (shipped)",
        };
        let mut sources = source_names(&preset.sources, "gate").join(", ");
        let servers = source_names(&preset.sources, "server");
        if !servers.is_empty() {
            sources = format!("{sources} + servers {}", servers.join(", "));
        }
        if !preset.extends.is_empty() {
            sources = format!("{sources} + {}", preset.extends.join(", "));
        }
        rows.push(vec![format!("{name}{mark}"), sources, preset.description.clone().unwrap_or_default()]);
    }
    out::table(&rows);
}

fn source_names<'a>(sources: &'a [(SourceId, Map<String, Value>)], kind: &str) -> Vec<&'a str> {
    sources.iter().filter(|(source, _)| source.kind() == kind).map(|(source, _)| &**source.name()).collect()
}

async fn show(composition: &Composition, preset: &str, json: bool) -> Result<(), CommandError> {
    let compiled = compile_preset(composition, preset)?;
    let catalog = composition.catalog(&compiled).await?;
    let tools: Vec<Value> = catalog
        .in_gate_order()
        .iter()
        .map(|entry| {
            json!({"name": entry.name.as_str(), entry.id.source.kind(): &**entry.id.source.name(),
                   "effect": entry.spec.effect, "title": entry.spec.title})
        })
        .collect();
    if json {
        let gates: serde_json::Map<String, Value> = compiled
            .sources
            .iter()
            .filter(|(source, _)| source.kind() == "gate")
            .map(|(source, params)| (source.name().to_string(), Value::Object(params.clone())))
            .collect();
        out::json(&json!({"preset": preset, "description": compiled.description, "gates": gates,
                    "servers": source_names(&compiled.sources, "server"), "tools": tools}));
        return Ok(());
    }
    out::line(format!("{preset}: {}", compiled.description.as_deref().unwrap_or("(no description)")));
    for (source, params) in &compiled.sources {
        let params = if params.is_empty() && source.kind() == "server" {
            String::new()
        } else {
            format!(" {}", Value::Object(params.clone()))
        };
        out::line(format!("{} {}{params}", source.kind(), source.name()));
    }
    for tool in &tools {
        let text = |key: &str| tool[key].as_str().unwrap_or_default();
        let source = format!("{}{}", text("gate"), text("server"));
        out::line(format!("  {} ({source}, {})", text("name"), text("effect")));
    }
    Ok(())
}

async fn check(composition: &Composition, json: bool) -> Result<(), CommandError> {
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
        let mut own: Vec<String> =
            refused.map(|why| format!("{name}: {why}; give the tool an alias and deny this name")).collect();
        own.extend(warnings.remove(name).unwrap_or_default());
        if !json {
            match &result {
                Ok(catalog) => {
                    let tools = catalog.entries().len();
                    out::verdict("ok", TerminalColor::Green, &format!("      {name}: {tools} tools"));
                }
                Err(why) => out::verdict("broken", TerminalColor::Red, &format!("  {name}: {why}")),
            }
            own.iter().for_each(|why| out::verdict("warning", TerminalColor::Yellow, &format!(" {why}")));
        }
        let mut report = match result {
            Ok(catalog) => json!({"preset": name, "ok": true, "tools": catalog.entries().len()}),
            Err(why) => json!({"preset": name, "ok": false, "error": why}),
        };
        if report["ok"] == true && !own.is_empty() {
            report["warnings"] = json!(own);
        }
        reports.push(report);
    }
    let presets = reports.len();
    if json {
        if !of_rules.is_empty() {
            reports.push(json!({"access": true, "ok": true, "warnings": of_rules}));
        }
        out::json(&reports);
    } else {
        of_rules.iter().for_each(|why| out::verdict("warning", TerminalColor::Yellow, &format!(" {why}")));
    }
    if broken == 0 {
        Ok(())
    } else {
        Err(CommandError::failed(format!("{broken} of {presets} presets cannot be served")))
    }
}
