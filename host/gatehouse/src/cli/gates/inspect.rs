//! `gatehouse gates inspect`: shows the requirements, grants and tools of a gate.

use std::path::Path;

use gatehouse_core::{
    Source,
    capability::{AccessLevel, Capability},
    source::Listing,
};
use gatehouse_sandbox::Gate;
use serde_json::{Map, Value, json};

use super::CommandError;
use crate::{built_in, compose::Composition, out};

pub(super) async fn run(gate: &Path, json: bool, composition: &Composition) -> Result<(), CommandError> {
    let told = if built_in::is_built_in(gate) || gate.exists() {
        inspect(&composition.gate_at(gate).await.map_err(CommandError::Failed)?).await
    } else {
        let name = gate.to_string_lossy();
        inspect(&*composition.gate(&name).await.map_err(CommandError::Failed)?).await
    };
    if json {
        out::json(&told)
    } else {
        print(&told)
    }
    match told["error"].as_str() {
        Some(why) => Err(CommandError::Failed(why.to_owned())),
        None => Ok(()),
    }
}

pub(super) async fn inspect(gate: &Gate) -> Value {
    let info = gate.info();
    let missing: Vec<&str> = info
        .ask
        .capabilities
        .iter()
        .filter(|asked| info.grants.require(&info.name, **asked, AccessLevel::Read).is_err())
        .map(|asked| asked.as_str())
        .collect();
    let asked: Vec<&str> =
        info.ask.capabilities.iter().map(|capability: &Capability| capability.as_str()).collect();
    let mut told = json!({
        "name": info.name,
        "file": info.file,
        "built_in": built_in::is_built_in(&info.file),
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
            told["exports"] = json!(exports(&listing));
            told["params"] = Value::Object((*listing.params_schema).clone());
            told["tools"] = listing
                .tools
                .iter()
                .map(
                    |tool| json!({"name": tool.name, "effect": tool.effect, "description": tool.description}),
                )
                .collect();
        }
        Err(fault) => told["error"] = json!(fault.in_one_line()),
    }
    told
}

fn exports(listing: &Listing) -> Vec<&'static str> {
    let all = [
        ("filter", listing.filter),
        ("prompts", !listing.prompts.is_empty()),
        ("resources", listing.resources),
    ];
    all.into_iter().filter(|(_, has)| *has).map(|(name, _)| name).collect()
}

fn print(told: &Value) {
    let text = |key: &str| told[key].as_str().unwrap_or("-").to_owned();
    out::line(format!("{} {}: {}", text("name"), text("version"), text("summary")));
    out::line(format!("file         {} ({} bytes)", component_location(told), told["bytes"]));
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
    if told["exports"].as_array().is_some_and(|exports| !exports.is_empty()) {
        out::line(format!("exports      {}", strings(&told["exports"])));
    }
    out::line(format!("instance     {}", text("instance")));
    for folder in told["folders"].as_array().into_iter().flatten() {
        let text = |key: &str| folder[key].as_str().unwrap_or_default();
        let access = if folder["private"] == true { "private, read and write" } else { "read-only" };
        out::line(format!("folder       {} is {} ({access})", text("guest"), text("host")));
    }
    for (tool, count) in told["removed_characters"].as_object().into_iter().flatten() {
        let whose = if tool.is_empty() { "the gate".into() } else { format!("tool '{tool}'") };
        out::line(format!(
            "WARNING      {count} invisible characters were removed from the texts of {whose}"
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

pub(super) fn component_location(told: &Value) -> String {
    let file = told["file"].as_str().filter(|_| told["built_in"] != true);
    file.unwrap_or("built in").to_owned()
}

pub(super) fn strings(list: &Value) -> String {
    let joined =
        list.as_array().into_iter().flatten().filter_map(Value::as_str).collect::<Vec<_>>().join(", ");
    if joined.is_empty() { "nothing".into() } else { joined }
}
