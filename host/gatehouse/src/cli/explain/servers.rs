//! Explanations for tools of MCP servers that a preset does not list, but whose gates may call them. Starts no server.

use std::{collections::BTreeMap, sync::Arc};

use gatehouse_core::{
    Catalog, CompiledPreset, SourceId, ToolId, access::pattern_names, catalog::ToolEntry, names,
    ports::ServerRegistry as _,
};

use super::{Explanation, PlainError};
use crate::compose::{Composition, KnownServer};

const MAX_NAMED: usize = 5;

struct ToolCandidate<'a> {
    server: &'a str,
    known: &'a KnownServer,
    /// The server's own name for it. `None` if the server does not list the tool, or was never listed.
    tool: Option<&'a str>,
    asked: &'a str,
}

/// A preset with its catalog, or the reason why it cannot be served.
type PresetCatalog<'a> = (&'a str, Result<Catalog, PlainError>);

/// Explains a tool by `server__tool`, `server.tool`, the preset's name for it, or its plain name. `None` if the name cannot
/// mean a server's tool.
pub(super) async fn explain(
    composition: &Composition,
    compiled: &CompiledPreset,
    (catalog, presets): (&Catalog, &[PresetCatalog<'_>]),
    servers: &BTreeMap<String, KnownServer>,
    tool: &str,
) -> Option<Explanation> {
    let is_shown =
        |entry: &&Arc<ToolEntry>| matches!(entry.id.source, SourceId::Server(_)) && *entry.id.name == *tool;
    let describe =
        |entry: &Arc<ToolEntry>| format!("'{tool}' of {} is exposed as '{}'", entry.id.source, entry.name);
    let descriptions: Vec<String> = catalog.entries().iter().filter(is_shown).map(describe).collect();
    if !descriptions.is_empty() {
        return Some(Explanation { exposed: true, through: None, reason: descriptions.join("; ") });
    }
    let mut meant: Vec<ToolCandidate<'_>> =
        servers.iter().flat_map(|(name, server)| tool_candidates(compiled, name, server, tool)).collect();
    // If a server lists the tool, drop servers whose name only precedes it.
    if meant.iter().any(|candidate| candidate.tool.is_some()) {
        meant.retain(|candidate| candidate.tool.is_some());
    }
    let first = meant.first()?;
    let caller = composition.server_tool_caller(catalog).await;
    let named = meant.iter().take(MAX_NAMED);
    let verdicts: Vec<Result<String, PlainError>> = named
        .map(|candidate| verdict(composition, compiled, catalog, candidate, caller.as_deref()))
        .collect();
    let through = if verdicts.iter().any(Result::is_ok) { caller } else { None };
    let mut reasons: Vec<String> =
        verdicts.into_iter().map(|verdict| verdict.unwrap_or_else(String::from)).collect();
    if meant.len() > MAX_NAMED {
        reasons.push(format!("{} more servers have a tool of this name", meant.len() - MAX_NAMED));
    }
    if through.is_none() && first.tool.is_some() {
        let elsewhere = callable_in(composition, presets, &meant).await;
        if !elsewhere.is_empty() {
            reasons.push(format!("presets that can call it: {}", elsewhere.join(", ")));
        }
    }
    Some(Explanation { exposed: false, through, reason: reasons.join("; ") })
}

/// Names the servers that were never listed, after a space. Empty if there are none.
pub(super) fn unlisted_servers_note(servers: &BTreeMap<String, KnownServer>) -> String {
    let unasked = servers.iter().filter(|(_, server)| server.config.enabled && server.listing.is_none());
    let named = unasked.map(|(name, server)| match server.config.definition.missing.as_slice() {
        [] => name.clone(),
        missing => format!("{name} (needs {})", missing.join(", ")),
    });
    let named = named.collect::<Vec<_>>().join(", ");
    if named.is_empty() {
        return named;
    }
    format!(" Servers that were never listed: {named}. Run `gatehouse servers refresh`.")
}

fn tool_candidates<'a>(
    compiled: &CompiledPreset,
    name: &'a str,
    known: &'a KnownServer,
    tool: &'a str,
) -> Vec<ToolCandidate<'a>> {
    let source = SourceId::Server(name.into());
    let is = |tool_name: &str| {
        let exposed = source.exposed_name(tool_name).ok();
        let exposed = exposed.as_ref().map(|exposed| exposed.as_str());
        let id = ToolId { source: source.clone(), name: tool_name.into() };
        let renamed = compiled.tool_override(&id).and_then(|change| change.name.as_deref());
        let names = pattern_names(&id, renamed.or(exposed).unwrap_or_default());
        tool_name == tool || names.iter().any(|name| name == tool)
    };
    let meant = |tool_name| ToolCandidate { server: name, known, tool: tool_name, asked: tool };
    let listed = known.listing.iter().flat_map(|listed| &listed.listing.tools);
    let candidates: Vec<ToolCandidate<'_>> =
        listed.filter(|spec| is(&spec.name)).map(|spec| meant(Some(&*spec.name))).collect();
    let begins = tool.strip_prefix(name).is_some_and(|rest| rest.starts_with("__") || rest.starts_with('.'));
    if candidates.is_empty() && begins { vec![meant(None)] } else { candidates }
}

/// Returns how to call the tool. The error is the first obstacle.
fn verdict(
    composition: &Composition,
    compiled: &CompiledPreset,
    catalog: &Catalog,
    meant: &ToolCandidate<'_>,
    through: Option<&str>,
) -> Result<String, PlainError> {
    let (preset, name, server) = (&compiled.preset, meant.server, meant.known);
    if !server.config.enabled {
        bail!("server '{name}' is disabled; set enabled = true under [servers.{name}]");
    }
    let source = SourceId::Server(name.into());
    if let Some((_, reason)) = catalog.problems.iter().find(|(failed, _)| *failed == source) {
        bail!("preset '{preset}' shows server '{name}', which does not list its tools: {reason}");
    }
    let missing = server.config.definition.missing.join(", ");
    let needs =
        (!missing.is_empty()).then(|| format!("it needs {missing}, which is not set in the environment"));
    let Some(tool) = meant.tool else {
        let Some(listed) = &server.listing else {
            let reason = needs.unwrap_or_else(|| format!("run `gatehouse servers refresh {name}`"));
            bail!("server '{name}' was never listed: {reason}");
        };
        let exposed = server.exposed_names();
        let suggestion = names::did_you_mean(meant.asked, exposed.iter().map(String::as_str));
        let tools = listed.listing.tools.len();
        bail!("server '{name}' lists {tools} tools, but not this one.{suggestion}");
    };
    let id = ToolId { source, name: tool.into() };
    let exposed = id.source.exposed_name(tool).map(|name| name.to_string()).unwrap_or_default();
    let change = compiled.tool_override(&id);
    if change.is_some_and(|change| change.hidden) {
        bail!("preset '{preset}' hides '{exposed}' by [presets.{preset}.tools]");
    }
    let effective_name = change.and_then(|change| change.name.clone()).unwrap_or(exposed);
    if let Some(glob) = compiled.denies(&id, &effective_name) {
        bail!("preset '{preset}' denies '{effective_name}' by \"{glob}\"");
    }
    let Some(through) = through else {
        bail!(
            "server '{name}' has the tool '{tool}', but preset '{preset}' neither shows server '{name}' nor has a \
            gate that may call servers"
        );
    };
    let status = composition.stores.servers.live.status().into_iter().find(|status| *status.name == *name);
    if status.is_some_and(|status| !catalog.server_tools.allows_server(&status)) {
        bail!("server '{name}' is missing from `proxied` of preset '{preset}'");
    }
    let held = server.listing.iter().flat_map(|listed| listed.quarantined.iter());
    if let Some((_, reason)) = held.into_iter().find(|(held, _)| held == tool) {
        bail!(
            "'{tool}' of server '{name}' is quarantined: {reason}; `gatehouse servers review {name}` approves it"
        );
    }
    if let Some(needs) = needs {
        bail!("'{tool}' of server '{name}' cannot be called: {needs}");
    }
    Ok(format!("'{tool}' of server '{name}' is called through {through} in preset '{preset}'"))
}

async fn callable_in<'a>(
    composition: &Composition,
    presets: &'a [PresetCatalog<'_>],
    meant: &[ToolCandidate<'_>],
) -> Vec<&'a str> {
    let mut callable = Vec::new();
    for (name, catalog) in presets {
        let (Ok(catalog), Ok(compiled)) =
            (catalog, CompiledPreset::compile(&composition.config.presets, name))
        else {
            continue;
        };
        let through = composition.server_tool_caller(catalog).await;
        let can = |candidate: &ToolCandidate<'_>| {
            let shows = |id: &ToolId| {
                *id.name == *candidate.tool.unwrap_or_default()
                    && matches!(&id.source, SourceId::Server(name) if **name == *candidate.server)
            };
            verdict(composition, &compiled, catalog, candidate, through.as_deref()).is_ok()
                || catalog.entries().iter().any(|entry| shows(&entry.id))
        };
        if meant.iter().any(can) {
            callable.push(*name);
        }
    }
    callable
}
