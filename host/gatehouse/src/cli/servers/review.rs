//! `gatehouse servers review`: shows changed definitions of servers, and approves them.

use clap::Args;
use gatehouse_core::{
    Effect,
    definition::DefinitionKind,
    effect_rule::EffectRule,
    hash::sha256_hex,
    names,
    ports::{ToolIndex, tool_index::PendingChange},
    tool_policy::ToolPromise,
};
use serde_json::{Value, json};
use similar::TextDiff;

use super::{CommandError, CommandResult, OutputFormat, effects};
use crate::{compose::Composition, control, out};

#[derive(Args)]
pub(in crate::cli) struct ReviewArgs {
    /// Only changes of this server
    server: Option<String>,
    /// Approve a change in its current state: NAME@DIGEST, as the review shows it; *@DIGEST approves all shown changes
    #[arg(long, value_name = "NAME@DIGEST", requires = "server")]
    approve: Vec<String>,
    /// Declare what tools may do: 'find_*,list_*=read-only'. It counts until their definitions change
    #[arg(long = "effect", value_name = "GLOB=EFFECT", requires = "server")]
    effects: Vec<EffectRule>,
    #[command(flatten)]
    output: OutputFormat,
}

/// Name that approves all pending changes of a server. It is not a valid tool name.
const ALL: &str = "*";

pub(super) async fn review(arguments: ReviewArgs, composition: &Composition) -> CommandResult {
    let index = &composition.stores.tools;
    if let Some(server) = &arguments.server {
        let statuses = composition.stores.servers.status();
        let names = || statuses.iter().filter_map(|server| server["name"].as_str());
        if !names().any(|name| name == server) {
            let suggestion = names::did_you_mean(server, names());
            bail!("Unknown server: '{}'.{suggestion}", names::quoted(server, 64));
        }
        for named in &arguments.approve {
            let wrong = || format!("'{named}' is not NAME@DIGEST, as `gatehouse servers review` shows it");
            let (label, digest) = named.rsplit_once('@').ok_or_else(wrong).map_err(CommandError::usage)?;
            approve(&**index, server, label, digest).await?;
        }
        if !arguments.effects.is_empty() {
            effects::declare(composition, server, &arguments.effects).await?;
        }
        if !arguments.approve.is_empty() {
            control::tell_hosts(&composition.config.state).await;
        }
    }
    let mut held = index.pending_changes().await?;
    held.retain(|held| arguments.server.as_ref().is_none_or(|server| *server == held.server));
    let mut servers = composition.known_servers().await?;
    servers.retain(|name, _| arguments.server.as_ref().is_none_or(|server| server == name));
    let undeclared = effects::undeclared(composition, &servers).await?;
    arguments.output.print(&held.iter().map(to_json).collect::<Vec<_>>(), || {
        if held.is_empty() && undeclared.is_empty() && arguments.approve.is_empty() && arguments.effects.is_empty() {
            out::note(
                "Nothing to review. For servers with on_change = \"quarantine\", tools that change or are added after \
                the first listing are quarantined, and a tool that claims weaker effects is treated as before.",
            );
        }
        effects::print_undeclared(&undeclared, arguments.server.is_some());
        held.iter().for_each(|held| out::line(difference(held)));
        for of_one in held.chunk_by(|a, b| a.server == b.server).filter(|of_one| of_one.len() > 1) {
            let (count, server, digest) = (of_one.len(), &of_one[0].server, digest_of_all(of_one));
            out::line(format!(
                "approve all {count} of {server}: gatehouse servers review {server} --approve '{ALL}@{digest}'"
            ));
        }
    });
    Ok(())
}

fn to_json(held: &PendingChange) -> Value {
    let parsed = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_default();
    json!({"server": held.server, "kind": held.kind, "name": held.name, "digest": held.digest,
        "tool": (held.kind == DefinitionKind::Tool).then_some(&held.name),
        "approve": format!("{}@{}", held.label(), held.digest),
        "before": held.before.as_deref().map(parsed), "now": parsed(&held.now),
        "held_back": held.held_back, "outdated_effect": held.outdated_effect, "counts_as": held.counts_as, "says": held.says})
}

/// Approves one change, or all pending ones if `digest` covers all of them.
async fn approve(index: &dyn ToolIndex, server: &str, label: &str, digest: &str) -> CommandResult {
    let mut waits = index.pending_changes().await?;
    waits.retain(|held| held.server == server);
    let named: Vec<(String, String)> = match label {
        ALL if digest_of_all(&waits) == digest && !waits.is_empty() => {
            waits.into_iter().map(|held| (held.label(), held.digest)).collect()
        }
        label => vec![(label.to_owned(), digest.to_owned())],
    };
    for (label, one) in named {
        // The name of all changes is not the label of one.
        if label == ALL || !index.approve(server, &label, &one).await? {
            bail!(
                "'{label}' of server '{server}' has no pending change {digest}: it changed again, or was approved. Run \
                `gatehouse servers review {server}` to see the pending changes"
            );
        }
        out::note(format!(
            "'{label}' of server '{server}' is approved. Running hosts that show it directly list it now."
        ));
    }
    Ok(())
}

fn digest_of_all(held: &[PendingChange]) -> String {
    let lines = held.iter().map(|held| format!("{}@{}\n", held.label(), held.digest));
    sha256_hex(lines.collect::<String>())
}

fn difference(held: &PendingChange) -> String {
    let PendingChange { server, digest, before, now, .. } = held;
    let label = held.label();
    let (before, now) = (before.as_deref().map(pretty_json).unwrap_or_default(), pretty_json(now));
    let diff = TextDiff::from_lines(&before, &now).unified_diff().header("approved", "now").to_string();
    let held_back = match (held.held_back, held.kind) {
        (false, _) => "",
        (true, DefinitionKind::Tool) => "It is quarantined: not listed and not callable.\n",
        (true, DefinitionKind::Instructions) => "It is quarantined: clients get the approved version.\n",
        (true, _) => "It is quarantined: not listed.\n",
    };
    let outdated = held.outdated_effect.map_or_else(String::new, |effect| {
        format!(
            "You declared it {effect} before its definition changed. If that is still true: gatehouse servers review \
            {server} --effect '{}={effect}'\n",
            held.name
        )
    });
    let counts_as = match (&held.counts_as, &held.says) {
        (Some(counts_as), Some(says)) => format!(
            "Until you approve it, it counts as {}. The server says: {}.\n",
            promise_text(counts_as),
            promise_text(says)
        ),
        _ => String::new(),
    };
    format!(
        "{server}: {label}\n{diff}{held_back}{outdated}{counts_as}approve it: gatehouse servers review {server} --approve \
         '{label}@{digest}'\n"
    )
}

fn promise_text(promise: &ToolPromise) -> String {
    let mut words = promise.effect.as_str().to_owned();
    if promise.additive && promise.effect != Effect::ReadOnly {
        words.push_str(", adds only");
    }
    if promise.idempotent {
        words.push_str(", idempotent");
    }
    if !promise.open_world {
        words.push_str(", closed world");
    }
    words
}

/// Returns a definition with its members on lines.
pub(crate) fn pretty_json(canonical: &str) -> String {
    let value = serde_json::from_str::<Value>(canonical).unwrap_or_default();
    format!("{value:#}\n")
}
