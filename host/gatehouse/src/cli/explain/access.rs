//! The access rule that decides about a call of some caller.

use std::sync::Arc;

use gatehouse_core::{
    Caller, Catalog, CompiledPreset, Principal,
    access::{AccessDecision, PresetAccess},
    catalog::ToolEntry,
};
use serde_json::Value;

use super::{Arguments, CommandError, CommandResult, Composition};

/// Whether a caller may use a tool, and the rule that decides, for operators.
pub(super) struct AccessExplanation {
    pub(super) allowed: bool,
    pub(super) why: String,
}

/// Explains the access of the caller that the command names. `None` if it names none.
pub(super) async fn explain(
    composition: &Composition,
    compiled: &CompiledPreset,
    arguments: &Arguments,
) -> CommandResult<Option<AccessExplanation>> {
    let Some(name) = &arguments.caller else { return Ok(None) };
    let config = &composition.config;
    if config.auth.is_none() {
        let why = "--as needs [auth] in presets.toml: without it, callers have no names, and each may use every tool";
        return Err(CommandError::usage(why));
    }
    let sent = arguments.args.as_deref().map(read_arguments).transpose()?;
    let mut caller = Caller::new(Principal::Named(name.as_str().into()), name);
    caller.groups = arguments.groups.iter().map(|group| group.as_str().into()).collect();
    if let Some(key) = composition.api_key(name).await? {
        caller.groups.extend(key.groups.iter().map(|group| group.as_str().into()));
        caller.presets =
            key.presets.map(|presets| presets.iter().map(|preset| preset.as_str().into()).collect());
    }
    let access = config.access.rules.access_of(&Arc::new(caller));
    let preset = &compiled.preset;
    let not_allowed = |why| Ok(Some(AccessExplanation { allowed: false, why }));
    if !access.opens_preset(preset) {
        return not_allowed(format!("no rule allows '{name}' a tool of preset '{preset}'"));
    }
    let catalog = composition.catalog(compiled).await?;
    match find(composition, compiled, &catalog, &arguments.tool).await? {
        Some(entry) => Ok(Some(decide(&access.in_preset(preset), &entry, sent.as_ref()))),
        None => {
            let tool = &arguments.tool;
            not_allowed(format!("preset '{preset}' has no tool '{tool}' that rules could allow"))
        }
    }
}

fn read_arguments(text: &str) -> CommandResult<Value> {
    let value: Value = serde_json::from_str(text)
        .map_err(|error| CommandError::usage(format!("--args is not JSON: {error}")))?;
    if value.is_object() { Ok(value) } else { Err(CommandError::usage("--args is not a JSON object")) }
}

fn decide(access: &PresetAccess, entry: &ToolEntry, arguments: Option<&Value>) -> AccessExplanation {
    let decision = match arguments {
        Some(arguments) => access.decide_call(entry, arguments).0,
        None => access.decide(&entry.access_names(), entry.limited_effect(), None),
    };
    let allowed = decision.is_allowed();
    let mut why = decision.for_operators();
    if let (AccessDecision::Allowed { limits_arguments: true, .. }, None) = (&decision, arguments) {
        why.push_str("; to check a call, add --args JSON");
    }
    AccessExplanation { allowed, why }
}

/// Returns a tool that the preset exposes, or a server's tool that its gates may call, by any name that rules match.
async fn find(
    composition: &Composition,
    compiled: &CompiledPreset,
    catalog: &Catalog,
    tool: &str,
) -> CommandResult<Option<Arc<ToolEntry>>> {
    let is_it = |entry: &Arc<ToolEntry>| entry.access_names().iter().any(|name| name == tool);
    if let Some(entry) = catalog.get(tool).or_else(|| catalog.entries().iter().find(|entry| is_it(entry))) {
        return Ok(Some(Arc::clone(entry)));
    }
    for server in composition.known_servers().await?.into_values() {
        let definition = &server.config.definition;
        if !compiled.allows_server(&definition.name, &definition.tags) {
            continue;
        }
        let listed = server.listing.as_ref();
        let found = listed.and_then(|listed| catalog.server_tools.entries(listed).into_iter().find(is_it));
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}
