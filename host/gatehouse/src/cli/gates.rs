//! `gatehouse gates list|inspect|add|push`

mod add;
mod local;
mod push;
mod remote;
mod site;

use std::path::{Path, PathBuf};

use clap::Subcommand;
use gatehouse_core::{
    Source,
    capability::{Access, Capability},
};
use gatehouse_sandbox::Gate;
use serde_json::{Map, Value, json};

use super::{Failure, Place};
use crate::{compose::Composition, config::Env, out};

#[derive(Subcommand)]
pub(super) enum Command {
    /// List the gates there are, with their tools
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show what a gate asks for, what it is granted, and its tools
    Inspect {
        /// A component file, or the name of a gate
        gate: PathBuf,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Install a gate from a registry or a file, or what presets.toml names and is missing
    Add(add::Add),
    /// Publish a gate to a registry
    Push(push::Push),
}

pub(super) async fn run(command: Command, place: &Place, env: &Env) -> Result<(), Failure> {
    match command {
        Command::List { json } => list(&place.compose(env)?, json).await,
        Command::Inspect { gate, json } => look_into(&place.compose(env)?, &gate, json).await,
        Command::Add(arguments) => add::run(arguments, place, env).await,
        Command::Push(arguments) => push::run(arguments, place, env).await,
    }
}

async fn list(composition: &Composition, json: bool) -> Result<(), Failure> {
    let mut rows =
        vec![vec!["GATE".into(), "VERSION".into(), "TOOLS".into(), "GRANTS".into(), "FILE".into()]];
    let mut listed = Vec::new();
    let mut broken = false;
    for name in composition.gate_names() {
        match composition.gate(&name).await {
            Ok(gate) => {
                let told = inspect(&gate).await;
                broken |= told.get("error").is_some();
                rows.push(row(&told));
                listed.push(told);
            }
            Err(why) => {
                broken = true;
                rows.push(vec![name.clone(), "broken".into(), String::new(), String::new(), why.clone()]);
                listed.push(json!({"name": name, "error": why}));
            }
        }
    }
    if json {
        out::json(&listed)
    } else {
        out::table(&rows)
    }
    if broken { Err(Failure::Failed("a gate cannot be loaded".into())) } else { Ok(()) }
}

async fn look_into(composition: &Composition, gate: &Path, json: bool) -> Result<(), Failure> {
    let told = if gate.exists() {
        inspect(&composition.gate_at(gate).await.map_err(Failure::Failed)?).await
    } else {
        let name = gate.to_string_lossy();
        inspect(&*composition.gate(&name).await.map_err(Failure::Failed)?).await
    };
    if json {
        out::json(&told)
    } else {
        print(&told)
    }
    match told["error"].as_str() {
        Some(why) => Err(Failure::Failed(why.to_owned())),
        None => Ok(()),
    }
}

/// Everything `gates inspect` shows, as JSON.
async fn inspect(gate: &Gate) -> Value {
    let info = gate.info();
    let missing: Vec<&str> = info
        .ask
        .capabilities
        .iter()
        .filter(|asked| info.grants.require(&info.name, **asked, Access::Read).is_err())
        .map(|asked| asked.as_str())
        .collect();
    let asked: Vec<&str> =
        info.ask.capabilities.iter().map(|capability: &Capability| capability.as_str()).collect();
    let mut told = json!({
        "name": info.name,
        "file": info.file,
        "bytes": info.size,
        "sha256": info.digest,
        "asks": asked,
        "imports": info.ask.others,
        "granted": info.grants.entries(),
        "http": info.http,
        "not_granted": missing,
        "folders": info.folders,
        "instance": if info.reuse { "reuse" } else { "fresh" },
    });
    match gate.list(&Map::new()).await {
        Ok(listing) => {
            told["version"] = json!(listing.version);
            told["summary"] = json!(listing.summary);
            told["removed_characters"] = json!(listing.removed);
            told["params"] = Value::Object((*listing.params_schema).clone());
            told["tools"] = listing
                .tools
                .iter()
                .map(
                    |tool| json!({"name": tool.name, "effect": tool.effect, "description": tool.description}),
                )
                .collect();
        }
        Err(fault) => told["error"] = json!(crate::compose::said(&fault)),
    }
    told
}

fn row(told: &Value) -> Vec<String> {
    let text = |key: &str| told[key].as_str().unwrap_or("-").to_owned();
    let tools = match told["error"].as_str() {
        Some(why) => format!("broken: {why}"),
        None => names(&told["tools"]),
    };
    vec![text("name"), text("version"), tools, strings(&told["granted"]), text("file")]
}

fn print(told: &Value) {
    let text = |key: &str| told[key].as_str().unwrap_or("-").to_owned();
    out::line(format!("{} {}: {}", text("name"), text("version"), text("summary")));
    out::line(format!("file         {} ({} bytes)", text("file"), told["bytes"]));
    out::line(format!("sha256       {}", text("sha256")));
    out::line(format!("asks for     {}", strings(&told["asks"])));
    out::line(format!("granted      {}", strings(&told["granted"])));
    if told["http"].as_array().is_some_and(|hosts| !hosts.is_empty()) {
        out::line(format!("http         {}", strings(&told["http"])));
    }
    let missing = told["not_granted"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let block = |name: &&str| Capability::ALL.iter().any(|c| c.as_str() == *name && c.granted_by_block());
    let (blocks, entries): (Vec<&str>, Vec<&str>) = missing.partition(block);
    if !entries.is_empty() {
        let entries = entries.join(", ");
        out::line(format!(
            "not granted  {entries} (add it to grants under [gates.{}] in presets.toml)",
            text("name")
        ));
    }
    for block in blocks {
        let name = text("name");
        out::line(format!("not granted  {block} (write a block [gates.{name}.{block}] in presets.toml)"));
    }
    out::line(format!("imports      {}", strings(&told["imports"])));
    out::line(format!("instance     {}", text("instance")));
    for folder in told["folders"].as_array().into_iter().flatten() {
        let text = |key: &str| folder[key].as_str().unwrap_or_default();
        let access = if folder["private"] == true { "private, read and write" } else { "read-only" };
        out::line(format!("folder       {} is {} ({access})", text("guest"), text("host")));
    }
    for (tool, count) in told["removed_characters"].as_object().into_iter().flatten() {
        let whose = if tool.is_empty() { "the gate".into() } else { format!("tool '{tool}'") };
        out::line(format!(
            "WARNING      {count} invisible characters were removed from what {whose} says about itself"
        ));
    }
    out::line("parameters");
    for (name, member) in told["params"]["properties"].as_object().into_iter().flatten() {
        let describe = member["description"].as_str().unwrap_or_default();
        out::line(format!("  {name} = {}  {describe}", member["default"]));
    }
    out::line("tools");
    for tool in told["tools"].as_array().into_iter().flatten() {
        let first = tool["description"].as_str().unwrap_or_default().lines().next().unwrap_or_default();
        out::line(format!(
            "  {} ({})  {first}",
            tool["name"].as_str().unwrap_or_default(),
            tool["effect"].as_str().unwrap_or_default()
        ));
    }
}

fn names(tools: &Value) -> String {
    let names = tools.as_array().into_iter().flatten().filter_map(|tool| tool["name"].as_str());
    names.collect::<Vec<_>>().join(", ")
}

fn strings(list: &Value) -> String {
    let joined =
        list.as_array().into_iter().flatten().filter_map(Value::as_str).collect::<Vec<_>>().join(", ");
    if joined.is_empty() { "nothing".into() } else { joined }
}
