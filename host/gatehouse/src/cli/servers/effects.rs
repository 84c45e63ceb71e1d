//! Effects of tools: those that a person declares, and suggestions for tools whose server says nothing about them.

use std::collections::BTreeMap;

use gatehouse_core::{
    Effect, Fault,
    effect_rule::{EffectRule, suggested_effect},
    names::{self, quoted},
    ports::{
        ToolIndex as _,
        tool_index::{DeclaredEffect, KnownTool},
    },
};

use super::{CommandError, CommandResult, with_header};
use crate::control;
use crate::{
    compose::{Composition, KnownServer},
    out,
};

/// Maximum characters of a description in a table.
const MAX_SHOWN: usize = 80;

/// Declares the effects of the tools that a server lists now. The last rule that matches a tool counts.
pub(super) async fn declare(composition: &Composition, server: &str, rules: &[EffectRule]) -> CommandResult {
    let Some(known) = composition.stores.tools.known(server).await? else {
        bail!(
            "no effect was declared, because server '{server}' has not been listed: run `gatehouse servers refresh \
            {server}`, then `gatehouse servers review {server} --effect …`"
        );
    };
    let is_served = |tool: &&KnownTool| tool.quarantine_reason.is_none();
    let tools: Vec<String> = known.tools.iter().filter(is_served).map(|tool| tool.name.to_string()).collect();
    if let Some(glob) = rules.iter().flat_map(|rule| rule.unmatched(&tools)).next() {
        let suggestion = names::did_you_mean(glob, tools.iter().map(String::as_str));
        let error =
            format!("server '{server}' lists no tool that '{}' matches.{suggestion}", quoted(glob, 64));
        return Err(CommandError::usage(error));
    }
    let mut declared = Vec::new();
    for tool in known.tools.iter().filter(is_served) {
        let Some(rule) = rules.iter().rev().find(|rule| rule.matches(&tool.name)) else { continue };
        let (tool, digest) = (tool.name.to_string(), tool.digest.clone());
        declared.push(DeclaredEffect { tool, digest, effect: rule.effect });
    }
    if !composition.stores.tools.declare_effects(server, declared.clone()).await? {
        bail!("server '{server}' changed its tools in the meantime: run the command again");
    }
    for effect in Effect::ALL {
        let covered = declared.iter().filter(|declaration| declaration.effect == effect);
        let covered: Vec<String> = covered.map(|declaration| quoted(&declaration.tool, 64)).collect();
        if !covered.is_empty() {
            out::note(format!("{effect}, until their definitions change: {}", covered.join(", ")));
        }
    }
    control::tell_hosts(&composition.config.state).await;
    Ok(())
}

/// A tool that counts as external-exec because nobody said anything about it.
pub(super) struct UndeclaredTool {
    pub(super) server: String,
    name: String,
    description: String,
    suggestion: Option<Effect>,
}

/// Returns the tools of enabled servers whose effect is unknown, by server.
pub(super) async fn undeclared(
    composition: &Composition,
    servers: &BTreeMap<String, KnownServer>,
) -> Result<Vec<UndeclaredTool>, Fault> {
    let mut undeclared_tools = Vec::new();
    for (server, of_server) in servers.iter().filter(|(_, of_server)| of_server.listing.is_some()) {
        let Some(known) = composition.stores.tools.known(server).await? else { continue };
        let policies = &of_server.config.definition.tools;
        for (tool, spec) in known.tools.iter().zip(&known.listing.tools) {
            let is_set =
                tool.is_declared || policies.get(&*tool.name).is_some_and(|policy| policy.effect.is_some());
            let is_unknown = spec.effect == Effect::ExternalExec && spec.open_world && !spec.additive;
            if !is_set && is_unknown && tool.quarantine_reason.is_none() {
                undeclared_tools.push(UndeclaredTool {
                    server: server.clone(),
                    name: tool.name.to_string(),
                    description: quoted(&spec.description, MAX_SHOWN),
                    suggestion: suggested_effect(spec),
                });
            }
        }
    }
    Ok(undeclared_tools)
}

/// Whether a name, which the server chose, means nothing to a shell and to a glob.
fn is_plain(name: &str) -> bool {
    name.chars().all(|c| c.is_ascii_alphanumeric() || "_.-".contains(c))
}

/// Shows the tools of one server with suggestions, or a line for each of several servers.
pub(super) fn print_undeclared(tools: &[UndeclaredTool], is_named: bool) {
    for of_one in tools.chunk_by(|a, b| a.server == b.server) {
        let (server, count) = (&of_one[0].server, of_one.len());
        out::line(format!("server '{server}': {count} tools count as external-exec, the strongest effect"));
        if !is_named {
            out::line(format!("  see suggestions: gatehouse servers review {server}"));
            continue;
        }
        let row = |tool: &UndeclaredTool| {
            let suggestion = tool.suggestion.map_or("-", Effect::as_str).to_owned();
            vec![quoted(&tool.name, 64), suggestion, format!("\"{}\"", tool.description)]
        };
        out::table(&with_header(["TOOL", "SUGGESTION", "THE SERVER SAYS"], of_one.iter().map(row)));
        let options = [Effect::ReadOnly, Effect::Mutating].into_iter().filter_map(|effect| {
            let is_suggested =
                |tool: &&UndeclaredTool| tool.suggestion == Some(effect) && is_plain(&tool.name);
            let names = of_one.iter().filter(is_suggested);
            let names: Vec<&str> = names.map(|tool| tool.name.as_str()).collect();
            (!names.is_empty()).then(|| format!(" --effect '{}={effect}'", names.join(",")))
        });
        let options: String = options.collect();
        if !options.is_empty() {
            out::line(format!(
                "Suggestions come from names and descriptions, which the server chose. If they are true: gatehouse servers \
                review {server}{options}"
            ));
        }
    }
}
