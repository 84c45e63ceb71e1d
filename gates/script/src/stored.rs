//! `save_script`, `run_script`, `list_scripts`, `remove_script`: scripts stored per caller and preset. Saving a script
//! again creates a new version; older versions can still be run.

use gatehouse_sdk::{Call, Count, Effect, Fault, Intent, Reply, Tool, catalog::Entry, context, kv};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    Params, declare, engine,
    file::{ScriptFile, is_name},
    run, typescript,
};

pub(crate) const SAVE: &str = "save_script";
pub(crate) const RUN: &str = "run_script";
pub(crate) const LIST: &str = "list_scripts";
pub(crate) const REMOVE: &str = "remove_script";

// Counters are atomic and a version is written only once, so concurrent calls do not overwrite each other.

const COUNT_PREFIX: &str = "count:";

/// Followed by `name@version`.
const SCRIPT_PREFIX: &str = "script:";

const RUNS_PREFIX: &str = "runs:";

const LAST_RUN_PREFIX: &str = "last:";

const MAX_VERSIONS: i64 = 20;

const MAX_FILE_BYTES: usize = 256 << 10;

const NO_SCRIPTS: &str = "You have no saved scripts.";

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct ScriptVersion {
    version: i64,
    description: String,
    code: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    params: Option<Map<String, Value>>,
    saved: u64,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SaveScriptArgs {
    /// 1 to 64 of a-z, 0-9 and _
    name: String,
    /// Its purpose and return value.
    description: String,
    code: String,
    /// JSON Schema of `input`, the args of run_script.
    params: Option<Map<String, Value>>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RunScriptArgs {
    name: String,
    /// Value of `input` in the script.
    args: Option<Map<String, Value>>,
    /// Default: the latest.
    version: Option<Count>,
    timeout_ms: Option<Count>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ListScriptsArgs {
    /// Show this script with its code.
    name: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RemoveScriptArgs {
    name: String,
}

pub(crate) fn save() -> Tool<Params> {
    gatehouse_sdk::tool::<Params, SaveScriptArgs>(SAVE)
        .title("Save a script")
        .description(
            |_| "Save a working script for later sessions. Saving a name again creates a new version.",
        )
        .intent(Intent::Modify)
        .effect(Effect::Mutating)
        .additive()
        .only_if(|params| params.store)
        .run(|_, args| store_script(args))
}

pub(crate) fn run() -> Tool<Params> {
    gatehouse_sdk::tool::<Params, RunScriptArgs>(RUN)
        .title("Run a saved script")
        .description(|_| {
            let list =
                context::exposed_name(LIST).map(|name| format!(" {name} lists them.")).unwrap_or_default();
            format!("Run a saved script.{list}")
        })
        .intent(Intent::Execute)
        .effect_from(Params::effect)
        .open_world()
        .runs_code()
        .only_if(|params| params.store)
        .run(run_stored)
}

pub(crate) fn list() -> Tool<Params> {
    gatehouse_sdk::tool::<Params, ListScriptsArgs>(LIST)
        .title("List saved scripts")
        .description(|_| "List your saved scripts; with a name, show one with its code.")
        .only_if(|params| params.store)
        .run(|_, args| list_scripts(args.name.as_deref()))
}

pub(crate) fn remove() -> Tool<Params> {
    gatehouse_sdk::tool::<Params, RemoveScriptArgs>(REMOVE)
        .title("Remove a saved script")
        .description(|_| "Remove a saved script with all its versions.")
        .intent(Intent::Modify)
        .effect(Effect::Mutating)
        .idempotent()
        .only_if(|params| params.store)
        .run(|_, args| remove_script(&args.name))
}

fn key(name: &str, version: i64) -> String {
    format!("{SCRIPT_PREFIX}{name}@{version}")
}

fn versions(name: &str) -> Result<Vec<i64>, Fault> {
    let prefix = format!("{SCRIPT_PREFIX}{name}@");
    let keys = kv::caller().list(&prefix)?;
    let mut versions: Vec<i64> = keys.iter().filter_map(|key| key[prefix.len()..].parse().ok()).collect();
    versions.sort_unstable();
    Ok(versions)
}

fn read(name: &str, requested_version: Option<i64>) -> Result<ScriptVersion, Fault> {
    let versions = versions(name)?;
    let version = requested_version.or(versions.last().copied());
    let bytes = version.map(|version| kv::caller().get(&key(name, version))).transpose()?.flatten();
    let Some(bytes) = bytes else { return Err(missing(name, requested_version, &versions)) };
    serde_json::from_slice(&bytes)
        .map_err(|reason| Fault::internal(format!("cannot read saved script '{name}': {reason}")))
}

fn store_script(args: SaveScriptArgs) -> Result<Reply, Fault> {
    let SaveScriptArgs { name, description, code, params } = args;
    if !is_name(&name) {
        return Err(Fault::invalid("name: expected 1 to 64 of a-z, 0-9 and _"));
    }
    if code.len() + description.len() > MAX_FILE_BYTES {
        return Err(Fault::invalid(format!("code: the limit is {} KiB", MAX_FILE_BYTES >> 10)));
    }
    // Reject scripts that cannot be compiled.
    if let Err(mistake) = typescript::CompiledScript::read(&code) {
        let error = engine::ScriptError::from(mistake).render(&code);
        return Err(Fault::invalid(format!("code: {error}")).hint("Nothing was saved."));
    }
    let version = kv::caller().add(&format!("{COUNT_PREFIX}{name}"), 1, None)?;
    let stored = ScriptVersion { version, description, code, params, saved: context::now() };
    let text = serde_json::to_vec(&stored)
        .map_err(|reason| Fault::internal(format!("cannot serialize script '{name}': {reason}")))?;
    kv::caller().set(&key(&name, version), &text, None)?;
    kv::caller().delete(&key(&name, version - MAX_VERSIONS))?;
    Ok(Reply::markdown(format!("Saved version {version} of '{name}'.")))
}

fn run_stored(call: &Call<Params>, args: RunScriptArgs) -> Result<Reply, Fault> {
    let script = read(&args.name, args.version.map(|version| version.at_most(u32::MAX).into()))?;
    let input = args.args.unwrap_or_default();
    let params = Value::Object(script.params.unwrap_or_default());
    if let Some(missing) = declare::names(params.get("required")).find(|name| !input.contains_key(*name)) {
        let fault = Fault::invalid(format!("args: '{missing}' is missing"));
        return Err(fault.hint(format!("Expected: {params}")));
    }
    kv::caller().add(&format!("{RUNS_PREFIX}{}", args.name), 1, None)?;
    let now = context::now().to_string();
    kv::caller().set(&format!("{LAST_RUN_PREFIX}{}", args.name), now.as_bytes(), None)?;
    Ok(run::run_text(call, &script.code, Some(&Value::Object(input)), args.timeout_ms))
}

fn missing(name: &str, version: Option<i64>, versions: &[i64]) -> Fault {
    if let (Some(version), Some(first), Some(last)) = (version, versions.first(), versions.last()) {
        return Fault::not_found(format!("script '{name}' has no version {version}"))
            .hint(format!("It has versions {first} to {last}."));
    }
    let hint = match names().unwrap_or_default().join(", ") {
        list if list.is_empty() => NO_SCRIPTS.into(),
        list => format!("Your saved scripts: {list}."),
    };
    Fault::not_found(format!("you have no saved script '{name}'")).hint(hint)
}

fn names() -> Result<Vec<String>, Fault> {
    let keys = kv::caller().list(COUNT_PREFIX)?;
    Ok(keys.iter().filter_map(|key| key.strip_prefix(COUNT_PREFIX)).map(str::to_owned).collect())
}

fn runs(name: &str) -> Result<String, Fault> {
    let count = kv::caller().get(&format!("{RUNS_PREFIX}{name}"))?.unwrap_or_else(|| b"0".to_vec());
    let times = match String::from_utf8_lossy(&count).as_ref() {
        "0" => return Ok("never run".into()),
        "1" => "run once".to_owned(),
        many => format!("run {many} times"),
    };
    let last = kv::caller().get(&format!("{LAST_RUN_PREFIX}{name}"))?;
    let last = last.and_then(|last| String::from_utf8(last).ok()?.parse::<u64>().ok());
    let days = last.map(|last| context::now().saturating_sub(last) / 86_400_000);
    Ok(match days {
        None => times,
        Some(0) => format!("{times}, last today"),
        Some(1) => format!("{times}, last yesterday"),
        Some(days) => format!("{times}, last {days} days ago"),
    })
}

fn remove_script(name: &str) -> Result<Reply, Fault> {
    let versions = versions(name)?;
    if versions.is_empty() {
        return Err(missing(name, None, &versions));
    }
    for version in &versions {
        kv::caller().delete(&key(name, *version))?;
    }
    for prefix in [COUNT_PREFIX, RUNS_PREFIX, LAST_RUN_PREFIX] {
        kv::caller().delete(&format!("{prefix}{name}"))?;
    }
    Ok(Reply::markdown(format!("Removed '{name}' with {} versions.", versions.len())))
}

/// Lists the tools that a script names and this preset lacks.
fn missing_tools(code: &str, tools: &[Entry]) -> String {
    let proxied = engine::forwarding_tool(tools).is_some();
    let missing = typescript::uses(code).into_iter().filter(|(source, tool)| {
        let mut source_tools =
            tools.iter().filter(|entry| engine::is_same_name(&entry.source, source)).peekable();
        // An unknown source could be a server behind the proxy.
        (source_tools.peek().is_some() || !proxied)
            && !source_tools.any(|entry| engine::is_same_name(&entry.tool, tool) || entry.name == *tool)
    });
    let missing: Vec<String> = missing.map(|(source, tool)| format!("{source}.{tool}")).take(10).collect();
    if missing.is_empty() { String::new() } else { format!("; this preset has no {}", missing.join(", ")) }
}

fn list_scripts(name: Option<&str>) -> Result<Reply, Fault> {
    if let Some(name) = name {
        let last = read(name, None)?;
        let runs = runs(name)?;
        let lacks = missing_tools(&last.code, &engine::entries().unwrap_or_default());
        let file = ScriptFile::render(name, &last.description, last.params.as_ref(), &last.code);
        let text = format!("{name}, version {} ({runs}{lacks})\n\n```ts\n{file}```", last.version);
        return Ok(Reply::markdown(text));
    }
    let tools = engine::entries().unwrap_or_default();
    let mut lines = Vec::new();
    for name in names()? {
        let Ok(last) = read(&name, None) else { continue };
        let params =
            last.params.as_ref().and_then(|params| params.get("properties")).and_then(Value::as_object);
        let params: Vec<&str> = params.into_iter().flat_map(Map::keys).map(String::as_str).collect();
        let (params, version, description) = (params.join(", "), last.version, last.description);
        let (runs, lacks) = (runs(&name)?, missing_tools(&last.code, &tools));
        lines.push(format!("{name}({params}) v{version}: {description} ({runs}{lacks})"));
    }
    Ok(Reply::markdown(if lines.is_empty() { NO_SCRIPTS.into() } else { lines.join("\n") }))
}
