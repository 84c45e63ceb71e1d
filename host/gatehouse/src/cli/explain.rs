//! `gatehouse explain`: the reason why a preset exposes a tool, or does not, and whether a caller may use it.

mod servers;

use std::sync::Arc;

use clap::Args;
use gatehouse_core::{
    Caller, Catalog, CompiledPreset, Principal,
    access::{AccessDecision, PresetAccess},
    catalog::ToolEntry,
    forwarding, names, workflow,
};
use serde_json::{Value, json};

use super::{CommandError, CommandResult, GlobalArgs, OutputFormat, PlainError};
use crate::{
    compose::{Composition, KnownServer},
    config::Env,
    out,
};

#[derive(Args)]
pub(super) struct Arguments {
    /// Name of the tool
    tool: String,
    /// Preset [default: the one that `serve` would choose]
    #[arg(long)]
    preset: Option<String>,
    /// Principal whose access to explain: `key:NAME`, `ISSUER:SUBJECT` or `token`
    #[arg(long = "as", value_name = "WHO")]
    caller: Option<String>,
    /// Group of that principal, in addition to those of its key; repeatable
    #[arg(long = "group", value_name = "GROUP", requires = "caller")]
    groups: Vec<String>,
    /// Arguments of its call, as a JSON object
    #[arg(long, value_name = "JSON", requires = "caller")]
    args: Option<String>,
    #[command(flatten)]
    output: OutputFormat,
}

pub(super) async fn run(arguments: Arguments, global: &GlobalArgs, env: &Env) -> CommandResult {
    let composition = global.compose(env)?;
    let compiled = composition.config.select(arguments.preset.as_deref(), env)?;
    let answer = explain(&composition, &compiled, &arguments.tool).await?;
    let Explanation { exposed, through, reason } = &answer;
    let access = explain_access(&composition, &compiled, &arguments).await?;
    let mut report = json!({"tool": arguments.tool, "preset": compiled.preset, "exposed": exposed,
                            "through": through, "reason": reason});
    if let Some(AccessExplanation { allowed, reason }) = &access {
        report["access"] = json!({"allowed": allowed, "reason": reason});
    }
    arguments.output.print(&report, || {
        let verdict = match (exposed, through) {
            (true, _) => "exposed",
            (false, Some(_)) => "callable",
            (false, None) => "not exposed",
        };
        out::line(format!("{verdict}: {reason}"));
        if let Some(AccessExplanation { allowed, reason }) = &access {
            out::line(format!("{}: {reason}", if *allowed { "allowed" } else { "not allowed" }));
        }
    });
    Ok(())
}

struct Explanation {
    /// True if the preset lists the tool, or would list it with a longer limit.
    exposed: bool,
    /// Tool through which clients call it, if it is a server's tool that the preset does not list.
    through: Option<String>,
    reason: String,
}

const MAX_PARAMS_CHARS: usize = 600;

fn steps(steps: &[&workflow::WorkflowStep]) -> String {
    let steps = steps.iter().map(|step| {
        let requires: Vec<String> = step.requires.iter().map(|mark| step.mark_file(mark)).collect();
        let requires = (!requires.is_empty()).then(|| format!(" need {}", requires.join(", ")));
        let produces = step.produces.as_ref().map(|mark| format!(" leave {}", step.mark_file(mark)));
        let both = [requires, produces].into_iter().flatten().collect::<Vec<_>>().join(" and");
        format!("; calls of intent {}{both} in the project", step.intents_in_words())
    });
    steps.collect()
}

/// Describes a tool that the preset exposes as `tool`.
fn describe(compiled: &CompiledPreset, entry: &ToolEntry, tool: &str) -> String {
    let (own, preset, source) = (&entry.spec.name, &compiled.preset, &entry.id.source);
    let mut reason = format!("'{tool}' comes from {source}");
    if **own != *tool && compiled.aliases.contains_key(tool) {
        reason += &format!(" as an alias of '{own}'");
    } else if **own != *tool {
        reason += &format!(", which calls it '{own}'");
    }
    reason += &format!(", with parameters {}", names::quoted(&entry.params, MAX_PARAMS_CHARS));
    let filters: Vec<String> = entry.filters.iter().map(|filter| filter.source.id().to_string()).collect();
    if !filters.is_empty() {
        reason += &format!("; its replies are filtered by {}", filters.join(", then "));
    }
    if let Some(often) = entry.approval() {
        // Approval of a destructive tool covers only the same arguments.
        let same = if entry.declared.is_destructive() { ", only for the same arguments" } else { "" };
        reason += &format!("; a user approves {often}{same}, by [presets.{preset}.approve]");
    }
    if workflow::takes_requests(entry) {
        reason += &steps(&compiled.workflow.iter().collect::<Vec<_>>());
    } else if !forwarding::forwards(entry) {
        reason += &steps(&workflow::steps_for(&compiled.workflow, workflow::intent_of(&entry.declared)));
    }
    reason
}

async fn explain(
    composition: &Composition,
    compiled: &CompiledPreset,
    tool: &str,
) -> CommandResult<Explanation> {
    let preset = &compiled.preset;
    let catalog = composition.catalog(compiled).await?;
    if let Some(entry) = catalog.get(tool) {
        return Ok(Explanation { exposed: true, through: None, reason: describe(compiled, entry, tool) });
    }
    let not_exposed = |reason| Ok(Explanation { exposed: false, through: None, reason });
    let offers = composition.offers(compiled).await?;
    let gate_of = |name: &str| {
        offers.iter().find(|offer| {
            let gate = offer.source.id().name();
            let local_name = name.strip_prefix(&**gate).and_then(|rest| rest.strip_prefix('.'));
            offer.listing.tools.iter().any(|tool| *tool.name == *name || Some(&*tool.name) == local_name)
        })
    };
    let target = compiled.aliases.get(tool).map_or(tool, String::as_str);
    if let (Some(offer), Some(glob)) = (gate_of(target), compiled.denied_by(tool)) {
        let source = offer.source.id();
        return not_exposed(format!("preset '{preset}' has {source}, but denies '{tool}' by \"{glob}\""));
    }
    if compiled.tools.get(tool).is_some_and(|change| change.hidden) {
        return not_exposed(format!("preset '{preset}' hides '{tool}' by [presets.{preset}.tools]"));
    }
    let servers = composition.known_servers().await?;
    // Skip presets that cannot be served: they expose nothing, and `presets check` reports them.
    let presets = composition.catalogs().await;
    if let Some(answer) = servers::explain(composition, compiled, (&catalog, &presets), &servers, tool).await
    {
        return Ok(answer);
    }
    let exposes =
        |catalog: &Result<Catalog, PlainError>| catalog.as_ref().is_ok_and(|c| c.get(tool).is_some());
    let elsewhere: Vec<&str> = presets.iter().filter(|(_, c)| exposes(c)).map(|(name, _)| *name).collect();
    if !elsewhere.is_empty() {
        let elsewhere = elsewhere.join(", ");
        return not_exposed(format!(
            "no gate or server of preset '{preset}' has '{tool}'; presets that expose it: {elsewhere}"
        ));
    }
    // The preset's own names come first, because the user asked about this preset.
    let other_names =
        presets.iter().filter_map(|(_, catalog)| catalog.as_ref().ok()).flat_map(Catalog::names);
    let suggestion = names::did_you_mean(tool, catalog.names().chain(other_names));
    let unasked = servers::unlisted_servers_note(&servers);
    not_exposed(format!("no gate or server of any preset has a tool '{tool}'.{suggestion}{unasked}"))
}

/// Whether a caller may use a tool, and the rule that decides, for operators.
struct AccessExplanation {
    allowed: bool,
    reason: String,
}

/// Explains the access of the caller that the command names. `None` if it names none.
async fn explain_access(
    composition: &Composition,
    compiled: &CompiledPreset,
    arguments: &Arguments,
) -> CommandResult<Option<AccessExplanation>> {
    let Some(name) = &arguments.caller else { return Ok(None) };
    let config = &composition.config;
    if config.auth.is_none() {
        let reason = "--as needs [auth] in presets.toml: without it, callers have no names, and each may use every tool";
        return Err(CommandError::usage(reason));
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
    let not_allowed = |reason| Ok(Some(AccessExplanation { allowed: false, reason }));
    if let Some(reason) = config.not_served(preset) {
        return not_allowed(reason);
    }
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
    match serde_json::from_str(text) {
        Ok(value @ Value::Object(_)) => Ok(value),
        Ok(_) => Err(CommandError::usage("--args is not a JSON object")),
        Err(error) => Err(CommandError::usage(format!("--args is not JSON: {error}"))),
    }
}

fn decide(access: &PresetAccess, entry: &ToolEntry, arguments: Option<&Value>) -> AccessExplanation {
    let decision = match arguments {
        Some(arguments) => access.decide_call(entry, arguments).0,
        None => access.decide(&entry.pattern_names(), entry.limited_effect(), None),
    };
    let allowed = decision.is_allowed();
    let mut reason = decision.for_operators();
    if let (AccessDecision::Allowed { limits_arguments: true, .. }, None) = (&decision, arguments) {
        reason.push_str("; to check a call, add --args JSON");
    }
    AccessExplanation { allowed, reason }
}

/// Returns a tool that the preset exposes, or a server's tool that its gates may call, by any name that rules match.
async fn find(
    composition: &Composition,
    compiled: &CompiledPreset,
    catalog: &Catalog,
    tool: &str,
) -> CommandResult<Option<Arc<ToolEntry>>> {
    let is_it = |entry: &Arc<ToolEntry>| entry.pattern_names().iter().any(|name| name == tool);
    if let Some(entry) = catalog.get(tool).or_else(|| catalog.entries().iter().find(|entry| is_it(entry))) {
        return Ok(Some(Arc::clone(entry)));
    }
    let find_in = |server: KnownServer| {
        let definition = &server.config.definition;
        let listed = server.listing.filter(|_| compiled.allows_server(&definition.name, &definition.tags))?;
        catalog.server_tools.entries(&listed).into_iter().find(is_it)
    };
    Ok(composition.known_servers().await?.into_values().find_map(find_in))
}
