//! `gatehouse gates inspect` and `list`: show the requirements, grants and tools of one gate or of all gates.

use std::path::Path;

use gatehouse_core::{
    Source,
    capability::{AccessLevel, Capability},
    source::Listing,
};
use gatehouse_sandbox::Gate;
use serde_json::{Map, Value, json};

use super::{CommandError, install::listed};
use crate::{built_in, compose::Composition, out};

pub(super) async fn run(gate: &Path, json: bool, composition: &Composition) -> Result<(), CommandError> {
    let report = if built_in::is_built_in(gate) || gate.exists() {
        inspect(&composition.gates.load_granted(gate).await?).await
    } else {
        let name = gate.to_string_lossy();
        inspect(&*composition.gates.get(&name).await?).await
    };
    if json {
        out::json(&report)
    } else {
        print(&report)
    }
    match report["error"].as_str() {
        Some(why) => Err(CommandError::failed(why)),
        None => Ok(()),
    }
}

pub(super) async fn list(json: bool, composition: &Composition) -> Result<(), CommandError> {
    let mut rows =
        vec![vec!["GATE".into(), "VERSION".into(), "TOOLS".into(), "GRANTS".into(), "FILE".into()]];
    let mut reports = Vec::new();
    let mut broken = false;
    for name in composition.gates.names() {
        match composition.gates.get(&name).await {
            Ok(gate) => {
                let report = inspect(&gate).await;
                broken |= report.get("error").is_some();
                rows.push(row(&report));
                reports.push(report);
            }
            Err(why) => {
                broken = true;
                rows.push(vec![name.clone(), "broken".into(), String::new(), String::new(), why.to_string()]);
                reports.push(json!({"name": name, "error": why}));
            }
        }
    }
    if json {
        out::json(&reports)
    } else {
        out::table(&rows)
    }
    composition.gates.misnamed().iter().for_each(out::note);
    if broken { Err(CommandError::failed("a gate cannot be loaded")) } else { Ok(()) }
}

async fn inspect(gate: &Gate) -> Value {
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
    let mut report = json!({
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
            report["version"] = json!(listing.version);
            report["summary"] = json!(listing.summary);
            report["removed_characters"] = json!(listing.removed);
            report["exports"] = json!(exports(&listing));
            report["params"] = Value::Object((*listing.params_schema).clone());
            report["tools"] = listing
                .tools
                .iter()
                .map(
                    |tool| json!({"name": tool.name, "effect": tool.effect, "description": tool.description}),
                )
                .collect();
        }
        Err(fault) => report["error"] = json!(fault.in_one_line()),
    }
    report
}

fn exports(listing: &Listing) -> Vec<&'static str> {
    let all = [
        ("filter", listing.filter),
        ("prompts", !listing.prompts.is_empty()),
        ("resources", listing.resources),
    ];
    all.into_iter().filter(|(_, has)| *has).map(|(name, _)| name).collect()
}

fn print(report: &Value) {
    let text = |key: &str| report[key].as_str().unwrap_or("-").to_owned();
    out::line(format!("{} {}: {}", text("name"), text("version"), text("summary")));
    out::line(format!("file         {} ({} bytes)", component_location(report), report["bytes"]));
    out::line(format!("sha256       {}", text("sha256")));
    out::line(format!("asks for     {}", strings(&report["asks"])));
    out::line(format!("granted      {}", strings(&report["granted"])));
    if report["http"].as_array().is_some_and(|hosts| !hosts.is_empty()) {
        out::line(format!("http         {}", strings(&report["http"])));
    }
    let missing = report["not_granted"].as_array().into_iter().flatten().filter_map(Value::as_str);
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
    out::line(format!("imports      {}", strings(&report["imports"])));
    if report["exports"].as_array().is_some_and(|exports| !exports.is_empty()) {
        out::line(format!("exports      {}", strings(&report["exports"])));
    }
    out::line(format!("instance     {}", text("instance")));
    for folder in report["folders"].as_array().into_iter().flatten() {
        let text = |key: &str| folder[key].as_str().unwrap_or_default();
        let access = if folder["private"] == true { "private, read and write" } else { "read-only" };
        out::line(format!("folder       {} is {} ({access})", text("guest"), text("host")));
    }
    for (tool, count) in report["removed_characters"].as_object().into_iter().flatten() {
        let whose = if tool.is_empty() { "the gate".into() } else { format!("tool '{tool}'") };
        out::line(format!(
            "WARNING      {count} invisible characters were removed from the texts of {whose}"
        ));
    }
    out::line("parameters");
    for (name, member) in report["params"]["properties"].as_object().into_iter().flatten() {
        let describe = member["description"].as_str().unwrap_or_default();
        out::line(format!("  {name} = {}  {describe}", member["default"]));
    }
    out::line("tools");
    for tool in report["tools"].as_array().into_iter().flatten() {
        let first = tool["description"].as_str().unwrap_or_default().lines().next().unwrap_or_default();
        out::line(format!(
            "  {} ({})  {first}",
            tool["name"].as_str().unwrap_or_default(),
            tool["effect"].as_str().unwrap_or_default()
        ));
    }
}

fn component_location(report: &Value) -> String {
    let file = report["file"].as_str().filter(|_| report["built_in"] != true);
    file.unwrap_or("built in").to_owned()
}

fn strings(list: &Value) -> String {
    let names = list.as_array().into_iter().flatten().filter_map(Value::as_str);
    listed(&names.map(str::to_owned).collect::<Vec<_>>())
}

fn row(report: &Value) -> Vec<String> {
    let text = |key: &str| report[key].as_str().unwrap_or("-").to_owned();
    let tools = match report["error"].as_str() {
        Some(why) => format!("broken: {why}"),
        None => names(&report["tools"]),
    };
    vec![
        text("name"),
        text("version"),
        tools,
        strings(&report["granted"]),
        relative_to_cwd(component_location(report)),
    ]
}

fn relative_to_cwd(path: String) -> String {
    let here = std::env::current_dir().ok();
    let below = here.and_then(|here| Some(Path::new(&path).strip_prefix(here).ok()?.display().to_string()));
    below.unwrap_or(path)
}

fn names(tools: &Value) -> String {
    let names = tools.as_array().into_iter().flatten().filter_map(|tool| tool["name"].as_str());
    names.collect::<Vec<_>>().join(", ")
}
