//! `gatehouse servers review`

use clap::Args;
use gatehouse_core::{
    Effect, names,
    ports::{ToolIndex as _, tool_index::HeldTool},
    tool_policy::Promise,
};
use serde_json::{Value, json};
use similar::TextDiff;

use super::Failure;
use crate::{
    compose::{Composition, HostServers},
    out,
};

#[derive(Args)]
pub(in crate::cli) struct Review {
    /// Only tools of this server
    server: Option<String>,
    /// Approve a tool as it is now: TOOL@DIGEST, as the review shows it
    #[arg(long, value_name = "TOOL@DIGEST", requires = "server")]
    approve: Vec<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Shows what changed about the tools that are held back, and approves those that are named by what they are now.
pub(super) async fn review(asked: Review, composition: &Composition) -> Result<(), Failure> {
    let index = &composition.stores.tools;
    if let Some(server) = &asked.server {
        let all = composition.stores.servers.status();
        let names = || all.iter().filter_map(|server| server["name"].as_str());
        if !names().any(|name| name == server) {
            let near = names::did_you_mean(server, names());
            return Err(Failure::Failed(format!("Unknown server: '{}'.{near}", names::quoted(server, 64))));
        }
        for named in &asked.approve {
            let (tool, digest) = named.rsplit_once('@').ok_or_else(|| {
                Failure::Usage(format!(
                    "'{named}' is not TOOL@DIGEST, as `gatehouse servers review` shows it"
                ))
            })?;
            if !index.approve(server, tool, digest).await? {
                return Err(Failure::Failed(format!(
                    "'{tool}' of server '{server}' does not wait for a review as {digest}: it changed again, or was approved. \
                     `gatehouse servers review {server}` shows what waits now"
                )));
            }
            out::note(format!(
                "'{tool}' of server '{server}' is approved. Hosts that run and show it directly list it now."
            ));
        }
        if !asked.approve.is_empty()
            && let Err(error) = tokio::task::block_in_place(|| HostServers::wake_hosts(&composition.config))
        {
            out::note(format!(
                "Running hosts could not be told ({error}); they look by themselves every 30 s."
            ));
        }
    }
    let mut held = index.held().await?;
    held.retain(|held| asked.server.as_ref().is_none_or(|server| *server == held.server));
    if asked.json {
        let told = held.iter().map(|held| {
            let parsed = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_default();
            json!({"server": held.server, "tool": held.tool, "digest": held.digest,
                "before": parsed(&held.before), "now": parsed(&held.now), "held_back": held.held_back,
                "counts_as": held.counts_as, "says": held.says})
        });
        out::json(&told.collect::<Vec<_>>());
        return Ok(());
    }
    if held.is_empty() && asked.approve.is_empty() {
        out::note(
            "No tool waits for a review. Servers with on_change = \"quarantine\" hold back what changed after it was first \
             seen, and a tool that says that it does less than before counts as before.",
        );
    }
    for held in &held {
        out::line(difference(held));
    }
    Ok(())
}

/// What changed about a tool, line by line, and how it is approved.
fn difference(held: &HeldTool) -> String {
    let HeldTool { server, tool, digest, before, now, .. } = held;
    let (before, now) = (in_lines(before), in_lines(now));
    let diff = TextDiff::from_lines(&before, &now).unified_diff().header("approved", "now").to_string();
    let held_back = if held.held_back { "It is held back: not listed and not called.\n" } else { "" };
    let counts_as = match &held.counts_as {
        Some(counts_as) => format!(
            "Until you approve it, it counts as {}. The server says: {}.\n",
            promised(counts_as),
            promised(&held.says)
        ),
        None => String::new(),
    };
    format!(
        "{server}: {tool}\n{diff}{held_back}{counts_as}approve it: gatehouse servers review {server} --approve \
         '{tool}@{digest}'\n"
    )
}

/// A promise in words.
fn promised(promise: &Promise) -> String {
    let mut words = promise.effect.as_str().to_owned();
    if promise.additive && promise.effect != Effect::ReadOnly {
        words.push_str(", adds only");
    }
    if promise.idempotent {
        words.push_str(", idempotent");
    }
    words
}

/// A definition with a line for each value.
fn in_lines(canonical: &str) -> String {
    let value = serde_json::from_str::<Value>(canonical).unwrap_or_default();
    format!("{value:#}\n")
}
