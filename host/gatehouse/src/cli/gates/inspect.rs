//! `gatehouse gates inspect` and `list`: show the requirements, grants and tools of one gate or of all gates.

use std::path::Path;

use gatehouse_core::{
    Source,
    capability::{AccessLevel, Capability},
    source::Listing,
};
use gatehouse_sandbox::Gate;
use serde_json::{Map, Value, json};

use super::{CommandError, CommandResult, OutputFormat, install::listed, with_header};
use crate::{built_in, compose::Composition, out};

pub(super) async fn run(gate: &Path, output: OutputFormat, composition: &Composition) -> CommandResult {
    let report = if built_in::is_built_in(gate) || gate.exists() {
        inspect(&composition.gates.load_granted(gate).await?).await
    } else {
        let name = gate.to_string_lossy();
        inspect(&*composition.gates.get(&name).await?).await
    };
    output.print(&report, || print(&report));
    match report["error"].as_str() {
        Some(reason) => Err(CommandError::failed(reason)),
        None => Ok(()),
    }
}

pub(super) async fn list(output: OutputFormat, composition: &Composition) -> CommandResult {
    let (mut rows, mut reports) = (Vec::new(), Vec::new());
    for name in composition.gates.names() {
        match composition.gates.get(&name).await {
            Ok(gate) => {
                reports.push(inspect(&gate).await);
                rows.extend(reports.last().map(row));
            }
            Err(reason) => {
                reports.push(json!({"name": name, "error": reason}));
                rows.push(vec![name, "broken".into(), String::new(), String::new(), reason.to_string()]);
            }
        }
    }
    output.print(&reports, || {
        out::table(&with_header(["GATE", "VERSION", "TOOLS", "GRANTS", "FILE"], rows));
    });
    composition.gates.misnamed().iter().for_each(out::note);
    let is_broken = reports.iter().any(|report| report.get("error").is_some());
    if is_broken { Err(CommandError::failed("a gate cannot be loaded")) } else { Ok(()) }
}

async fn inspect(gate: &Gate) -> Value {
    let info = gate.info();
    let requested_capabilities = info.ask.capabilities.iter();
    let is_missing =
        |capability: &&Capability| info.grants.require(&info.name, **capability, AccessLevel::Read).is_err();
    let missing: Vec<&str> =
        requested_capabilities.clone().filter(is_missing).map(|capability| capability.as_str()).collect();
    let requested_names: Vec<&str> = requested_capabilities.map(|capability| capability.as_str()).collect();
    let mut report = json!({
        "name": info.name,
        "file": info.file,
        "built_in": built_in::is_built_in(&info.file),
        "bytes": info.size,
        "sha256": info.digest,
        "asks": requested_names,
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
            let formats = listing.formats.iter();
            report["converts"] = formats
                .map(|format| json!(format!("{} (.{})", format.name, format.endings.join(", ."))))
                .collect();
            let tools = listing.tools.iter();
            report["tools"] = tools
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
    let exports = [
        ("convert", !listing.formats.is_empty()),
        ("filter", listing.filter),
        ("prompts", !listing.prompts.is_empty()),
        ("resources", listing.resources),
    ];
    exports.into_iter().filter(|(_, has)| *has).map(|(name, _)| name).collect()
}

fn print(report: &Value) {
    let text = |key: &str| report[key].as_str().unwrap_or("-");
    out::line(format!("{} {}: {}", text("name"), text("version"), text("summary")));
    out::line(format!("file         {} ({} bytes)", component_location(report), report["bytes"]));
    out::line(format!("sha256       {}", text("sha256")));
    out::line(format!("asks for     {}", strings(&report["asks"])));
    out::line(format!("granted      {}", strings(&report["granted"])));
    let print_unless_empty = |key: &str| {
        if items(&report[key]).next().is_some() {
            out::line(format!("{key:<12} {}", strings(&report[key])));
        }
    };
    print_unless_empty("http");
    let missing = items(&report["not_granted"]).filter_map(Value::as_str);
    let block = |name: &&str| Capability::ALL.iter().any(|c| c.as_str() == *name && c.granted_by_block());
    let (blocks, entries): (Vec<&str>, Vec<&str>) = missing.partition(block);
    let name = text("name");
    if !entries.is_empty() {
        let entries = entries.join(", ");
        out::line(format!("not granted  {entries} (add it to grants under [gates.{name}] in presets.toml)"));
    }
    for block in blocks {
        out::line(format!("not granted  {block} (write a block [gates.{name}.{block}] in presets.toml)"));
    }
    out::line(format!("imports      {}", strings(&report["imports"])));
    print_unless_empty("exports");
    print_unless_empty("converts");
    out::line(format!("instance     {}", text("instance")));
    for folder in items(&report["folders"]) {
        let text = |key: &str| folder[key].as_str().unwrap_or_default();
        let access = if folder["private"] == true { "private, read and write" } else { "read-only" };
        out::line(format!("folder       {} is {} ({access})", text("guest"), text("host")));
    }
    for (tool, count) in report["removed_characters"].as_object().into_iter().flatten() {
        let owner = if tool.is_empty() { "the gate".into() } else { format!("tool '{tool}'") };
        let removed = "invisible characters were removed from the texts of";
        out::line(format!("WARNING      {count} {removed} {owner}"));
    }
    out::line("parameters");
    for (name, member) in report["params"]["properties"].as_object().into_iter().flatten() {
        let describe = member["description"].as_str().unwrap_or_default();
        out::line(format!("  {name} = {}  {describe}", member["default"]));
    }
    out::line("tools");
    for tool in items(&report["tools"]) {
        let text = |key: &str| tool[key].as_str().unwrap_or_default();
        let first = text("description").lines().next().unwrap_or_default();
        out::line(format!("  {} ({})  {first}", text("name"), text("effect")));
    }
}

fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

fn component_location(report: &Value) -> String {
    let file = report["file"].as_str().filter(|_| report["built_in"] != true);
    file.unwrap_or("built in").to_owned()
}

fn strings(list: &Value) -> String {
    let names = items(list).filter_map(Value::as_str);
    listed(&names.map(str::to_owned).collect::<Vec<_>>())
}

fn row(report: &Value) -> Vec<String> {
    let text = |key: &str| report[key].as_str().unwrap_or("-").to_owned();
    let tools = match report["error"].as_str() {
        Some(reason) => format!("broken: {reason}"),
        None => {
            let names = items(&report["tools"]).filter_map(|tool| tool["name"].as_str());
            match names.collect::<Vec<_>>() {
                names if names.is_empty() => format!("converts {}", strings(&report["converts"])),
                names => names.join(", "),
            }
        }
    };
    let location = component_location(report);
    let here = std::env::current_dir().unwrap_or_default();
    let location = match Path::new(&location).strip_prefix(&here) {
        Ok(below) if !here.as_os_str().is_empty() => below.display().to_string(),
        _ => location,
    };
    vec![text("name"), text("version"), tools, strings(&report["granted"]), location]
}
