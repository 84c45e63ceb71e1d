//! `gatehouse presets`: lists, shows, checks and measures presets.

use clap::Subcommand;
use gatehouse_core::{
    Catalog, SourceId,
    ports::{TokenCounter, text::TokenEncoding},
};
use gatehouse_text::BpeTokenCounter;
use gatehouse_wire::serve;
use serde_json::{Map, Value, json};
use unicode_width::UnicodeWidthStr as _;

use super::{CommandError, GlobalArgs, compile_preset};
use crate::{
    check::providers,
    compose::Composition,
    config::Env,
    out::{self, TerminalColor},
};

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
        Command::Cost { json } => return cost(&composition, json).await,
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

async fn cost(composition: &Composition, json: bool) -> Result<(), CommandError> {
    let mut costs = Vec::new();
    let mut broken = 0;
    for (name, catalog) in composition.catalogs().await {
        costs.push(match catalog {
            Ok(catalog) => tokens_of(&catalog),
            Err(why) => {
                broken += 1;
                json!({"preset": name, "error": why})
            }
        });
    }
    if json {
        out::json(&costs);
    } else {
        print_costs(&costs);
    }
    if broken == 0 { Ok(()) } else { Err(CommandError::failed(format!("{broken} presets cannot be served"))) }
}

fn print_costs(presets: &[Value]) {
    let name = |value: &Value, key: &str| value[key].as_str().unwrap_or_default().to_owned();
    let tokens = |value: &Value| value["tokens"].as_u64().unwrap_or_default();
    let mut whole: Vec<&Value> = presets.iter().filter(|preset| preset["error"].is_null()).collect();
    whole.sort_by_key(|preset| std::cmp::Reverse(tokens(preset)));
    let most = whole.first().map_or(0, |preset| tokens(preset));
    let width = whole.iter().map(|preset| name(preset, "preset").width()).max().unwrap_or(0);
    for preset in &whole {
        let (name, tokens) = (out::padded(&name(preset, "preset"), width), tokens(preset));
        out::line(format!("{name}  {tokens:>5}  {}", bar(tokens, most)));
    }
    let tools = |preset: &Value| preset["tools"].as_array().cloned().unwrap_or_default();
    let all: Vec<Value> = presets.iter().flat_map(tools).collect();
    let most = all.iter().map(tokens).max().unwrap_or(0);
    let width = all.iter().map(|tool| name(tool, "name").width()).max().unwrap_or(0);
    for preset in presets {
        let label = name(preset, "preset");
        if let Some(why) = preset["error"].as_str() {
            out::line(format!("\n{label}: broken: {why}"));
            continue;
        }
        out::line(format!("\n{label}: {} tokens", tokens(preset)));
        for tool in tools(preset) {
            let (name, tokens) = (out::padded(&name(&tool, "name"), width), tokens(&tool));
            out::line(format!("  {tokens:>5}  {name}  {}", bar(tokens, most)));
        }
    }
}

/// Draws a bar for `part` of `most`, with a resolution of an eighth of a character.
fn bar(part: u64, most: u64) -> String {
    const CELLS: u64 = 24;
    const PARTS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = (part * CELLS * 8).checked_div(most).unwrap_or(0);
    let full = "█".repeat((eighths / 8) as usize);
    full + PARTS[(eighths % 8) as usize]
}

pub(super) fn tokens(tools: &Value) -> usize {
    BpeTokenCounter.count(&tools.to_string(), TokenEncoding::O200k)
}

fn tokens_of(catalog: &Catalog) -> Value {
    let count = tokens;
    let tools = json!(serve::tools(catalog));
    let each: Vec<Value> = tools
        .as_array()
        .into_iter()
        .flatten()
        .map(|tool| json!({"name": tool["name"], "tokens": count(tool)}))
        .collect();
    json!({"preset": &*catalog.preset, "tokens": count(&tools), "encoding": "o200k_base", "tools": each})
}
