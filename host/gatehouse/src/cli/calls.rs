//! `gatehouse calls`: single calls of all hosts on this data directory, and one call with its times.

mod print;

use std::time::Duration;

use clap::Args;
use gatehouse_core::{
    Principal, names,
    ports::{
        Clock as _,
        audit::{AuditEntry, AuditKind, AuditLog as _},
        ledger::{CallBodies, SampleEnding, StoredCall, StoredCallFilter},
    },
};
use gatehouse_stores::LedgerTables;
use serde_json::json;

pub(crate) use self::print::call_facts;
use self::print::{CallPrinter, HEADER, row};
use super::{CommandError, CommandResult, GlobalArgs, PlainError, audit::time_span, with_header};
use crate::{
    compose::{Composition, SystemClock},
    config::Env,
    out, signals,
};

/// Interval of reads while following. A host writes its calls each second.
const FOLLOW_INTERVAL: Duration = Duration::from_secs(1);

#[derive(Args)]
pub(super) struct Arguments {
    /// Show this call with its times
    #[arg(value_name = "ID")]
    id: Option<String>,
    /// Also show its arguments and reply, if the ledger stores them; the audit records that
    #[arg(long, requires = "id")]
    bodies: bool,
    /// Only calls of this principal, such as key:ann
    #[arg(long, value_name = "NAME")]
    principal: Option<String>,
    /// Only calls of the tools of this server or gate
    #[arg(long, value_name = "NAME")]
    source: Option<String>,
    /// Only tools with these names; * matches anything
    #[arg(long, value_name = "GLOB")]
    tool: Option<String>,
    /// Only calls with this outcome: ok, error, denied, timed-out and so on, or failed for all but ok
    #[arg(long, value_name = "WORD", value_parser = outcome)]
    outcome: Option<String>,
    /// Only the last time, such as 30min, 12h or 7d
    #[arg(long, value_name = "TIME", value_parser = time_span)]
    since: Option<u64>,
    /// Maximum number of calls
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
    /// Print calls as they end, until ctrl-c
    #[arg(long, conflicts_with = "id")]
    follow: bool,
    /// Print JSON; with --follow, a line for each call
    #[arg(long, conflicts_with = "csv")]
    json: bool,
    /// Print CSV with all columns
    #[arg(long, conflicts_with = "id")]
    csv: bool,
}

pub(super) async fn run(arguments: &Arguments, global: &GlobalArgs, env: &Env) -> CommandResult {
    let composition = global.compose(env)?;
    let Some(ledger) = &composition.stores.ledger else {
        return Err(CommandError::failed(
            "calls are not recorded: set enabled = true under [ledger] in presets.toml",
        ));
    };
    let filter = StoredCallFilter {
        id: arguments.id.clone(),
        principal: arguments.principal.clone(),
        source: arguments.source.clone(),
        tool: arguments.tool.clone(),
        outcome: arguments.outcome.clone(),
        since: arguments.since.map_or(0, |span| SystemClock.now_ms().saturating_sub(span)),
        after: 0,
        before: None,
        limit: arguments.limit as usize,
    };
    let last = ledger.last_call().await?;
    let calls = ledger.calls(&filter).await?;
    if let Some(id) = &arguments.id {
        let Some(call) = calls.first() else {
            return Err(CommandError::failed(unknown_call(&composition, id)));
        };
        let bodies = if arguments.bodies { Some(read_bodies(&composition, id).await?) } else { None };
        if arguments.json {
            let mut report = json!(call);
            if let Some(bodies) = bodies {
                report["bodies"] = json!(bodies);
            }
            out::json(&report);
        } else {
            for (name, value) in call_facts(call) {
                out::line(format!("{name:<13} {value}"));
            }
            if let Some(bodies) = bodies {
                out::line(body_lines(&bodies));
            }
        }
        return Ok(());
    }
    let mut printer = CallPrinter { json: arguments.json, csv: arguments.csv, headed: false };
    if arguments.follow {
        return follow(ledger, filter, (last, calls), &mut printer).await;
    }
    match (calls.as_slice(), arguments.json, arguments.csv) {
        (calls, true, _) => out::json(&calls),
        (calls, _, true) => printer.print(calls),
        ([], ..) => out::line("No call matches."),
        (calls, ..) => out::table(&with_header(HEADER, calls.iter().map(row))),
    }
    Ok(())
}

/// Returns arguments and reply of a call. The audit records the reading first.
pub(crate) async fn read_bodies(composition: &Composition, id: &str) -> Result<CallBodies, PlainError> {
    let stores = &composition.stores;
    let Some(bodies) = stores.recorded.bodies(id).await? else {
        let hint = "With bodies = true under [ledger] in presets.toml, the next calls are.";
        bail!("arguments and reply of this call are not stored. {hint}");
    };
    let details = format!("read arguments and reply of call {}", names::quoted(id, 64));
    stores.audit.commit(AuditEntry::event(AuditKind::Reading, &Principal::Local, "ok", &details)).await?;
    Ok(bodies)
}

/// Returns arguments and reply as text. Spaces replace hidden characters.
pub(crate) fn body_lines(bodies: &CallBodies) -> String {
    let reply: Vec<String> = bodies.reply.lines().map(|line| names::quoted(line, usize::MAX)).collect();
    format!("arguments     {}\nreply\n{}", names::quoted(&bodies.arguments, usize::MAX), reply.join("\n"))
}

fn unknown_call(composition: &Composition, id: &str) -> String {
    let days = composition.config.ledger.retention_days;
    format!(
        "unknown call '{}'. Single calls are stored for {days} days, and of a burst only some. Run `gatehouse calls`.",
        names::quoted(id, 64)
    )
}

async fn follow(
    ledger: &LedgerTables,
    filter: StoredCallFilter,
    (mut last, mut calls): (i64, Vec<StoredCall>),
    printer: &mut CallPrinter,
) -> CommandResult {
    let stop = signals::shutdown_token(None);
    let mut filter = StoredCallFilter { limit: usize::MAX, ..filter };
    loop {
        printer.print(&calls);
        // Also past calls that do not match.
        filter.after = calls.last().map_or(last, |call| last.max(call.number));
        tokio::select! {
            () = stop.cancelled() => return Ok(()),
            () = tokio::time::sleep(FOLLOW_INTERVAL) => {}
        }
        last = ledger.last_call().await?;
        calls = ledger.calls(&filter).await?;
    }
}

/// Returns the words for outcomes that a filter can name.
pub(crate) fn outcome_words() -> impl Iterator<Item = &'static str> {
    SampleEnding::words().chain(["failed"])
}

/// Checks the word of an outcome.
fn outcome(word: &str) -> Result<String, PlainError> {
    let known: Vec<&str> = outcome_words().collect();
    if known.contains(&word) {
        return Ok(word.to_owned());
    }
    Err(format!("unknown outcome '{}': expected one of {}", names::quoted(word, 32), known.join(", ")).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcomes_are_those_that_calls_have() {
        assert_eq!(outcome("timed-out").ok().as_deref(), Some("timed-out"));
        let refused = outcome("timeout").expect_err("unknown").to_string();
        assert!(refused.contains("ok, error, ") && refused.ends_with("failed"), "{refused}");
    }
}
