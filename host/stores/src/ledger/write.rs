//! Writes and deletes calls. One transaction adds a call to its day and inserts its row, so a crash can neither lose
//! nor double a count.

use std::{
    collections::{HashMap, HashSet},
    path::Path,
};

use gatehouse_core::{
    FaultKind,
    hash::{hex, sha256_hex},
    ports::ledger::{CallDetails, CallSample, MetricsFilter, SampleEnding},
    tool::ToolId,
};
use gatehouse_files::{Durability, write_private};
use serde_json::json;

use super::{
    read::tools_where,
    sums::{CallSums, ToolDay, bounded},
};
use crate::{
    random::random_bytes,
    sql::{Result, Session, SqlRow, SqlValue, StoreError, value::storable, values},
};

/// Maximum number of rows that one transaction deletes, because other writers wait for it.
const MAX_DELETED_ROWS: i64 = 10_000;

/// Kinds of faults by ending code minus 2. Append new ones.
const FAULTS: [FaultKind; 8] = [
    FaultKind::UnknownTool,
    FaultKind::InvalidArguments,
    FaultKind::NotFound,
    FaultKind::Denied,
    FaultKind::Unavailable,
    FaultKind::TimedOut,
    FaultKind::Exhausted,
    FaultKind::Internal,
];

pub(super) fn ending_code(ending: SampleEnding) -> i64 {
    match ending {
        SampleEnding::Replied => 0,
        SampleEnding::ToolError => 1,
        SampleEnding::Fault(kind) => {
            2 + FAULTS.iter().position(|fault| *fault == kind).unwrap_or(FAULTS.len() - 1) as i64
        }
    }
}

/// Returns the name of a stored ending. `None` for a reply.
pub(super) fn ending_name(number: i64) -> Option<&'static str> {
    match number {
        0 => None,
        1 => Some("tool-error"),
        fault => Some(FAULTS.get(fault as usize - 2).map_or("internal", |kind| kind.as_str())),
    }
}

/// Returns the codes of an outcome: `ok`, `error`, the kind of a fault, or `failed` for all but `ok`. Empty for another
/// word.
pub(super) fn ending_codes(outcome: &str) -> Vec<i64> {
    let all = 0..2 + FAULTS.len() as i64;
    let name = |code: i64| if code == 1 { "error" } else { ending_name(code).unwrap_or("ok") };
    all.filter(|code| name(*code) == outcome || outcome == "failed" && *code > 0).collect()
}

/// Returns the key that pseudonymizes callers. A file that is missing is created, in a write transaction, so that only
/// one process creates it.
pub(super) async fn caller_key(db: Session<'_>, file: Option<&Path>) -> Result<String> {
    let Some(file) = file else { return db.value("SELECT key FROM ledger_key", &[]).await };
    if let Ok(key) = std::fs::read_to_string(file)
        && key.len() == 64
    {
        return Ok(key);
    }
    let key = hex(random_bytes::<32>()?);
    write_private(file, key.as_bytes(), Durability::Synced).map_err(StoreError::KeyFile)?;
    Ok(key)
}

const INTO_DAYS: &str =
    "INSERT INTO ledger_day (tool, day, calls, tool_errors, transport_errors, took_us, connecting_us, tokens_in,
        tokens_out, last_called, last_failed)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11) ON CONFLICT (tool, day) DO UPDATE SET
        calls = ledger_day.calls + excluded.calls,
        tool_errors = ledger_day.tool_errors + excluded.tool_errors,
        transport_errors = ledger_day.transport_errors + excluded.transport_errors,
        took_us = ledger_day.took_us + excluded.took_us,
        connecting_us = ledger_day.connecting_us + excluded.connecting_us,
        tokens_in = ledger_day.tokens_in + excluded.tokens_in,
        tokens_out = ledger_day.tokens_out + excluded.tokens_out,
        last_called = @max(ledger_day.last_called, excluded.last_called),
        last_failed = @max(ledger_day.last_failed, excluded.last_failed)";

const INTO_LATENCIES: &str = "INSERT INTO ledger_latency (tool, day, bucket, calls) VALUES (?1, ?2, ?3, ?4)
     ON CONFLICT (tool, day, bucket) DO UPDATE SET calls = ledger_latency.calls + excluded.calls";

const INTO_CALLERS: &str = "INSERT INTO ledger_caller (caller, tool, last) VALUES (?1, ?2, ?3)
     ON CONFLICT (caller, tool) DO UPDATE SET last = @max(ledger_caller.last, excluded.last)";

const INTO_FAILURES: &str = "INSERT INTO ledger_failure (tool, at, text) VALUES (?1, ?2, ?3)
     ON CONFLICT (tool) DO UPDATE SET at = excluded.at, text = excluded.text WHERE excluded.at >= ledger_failure.at";

const INTO_CALLS: &str =
    "INSERT INTO ledger_call (at, tool, caller, preset, ending, took_us, connecting_us, tokens_in, tokens_out,
        id, principal, client, refused, rule, approval, total_us, waited_us, tokens_before, trace, error, body_bytes,
        arguments, reply)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23)";

/// Writes totals and rows. Callers are hashed with `key`, so they cannot be guessed without it.
pub(super) async fn insert<'s>(
    db: Session<'_>,
    sums: &'s CallSums,
    rows: &'s [CallSample],
    key: &str,
) -> Result<()> {
    let tools = tool_numbers(db, sums, rows).await?;
    let mut callers = HashMap::new();
    let mut caller_key = |number: u64| *callers.entry(number).or_insert_with(|| caller(key, number));
    let integers = |numbers: &[i64]| numbers.iter().copied().map(SqlValue::Integer).collect::<Vec<_>>();
    let (mut days, mut latencies, mut into_callers, mut failures) = (vec![], vec![], vec![], vec![]);
    for ((id, day), sum) in &sums.days {
        let Some(tool) = tools.get(id) else { continue };
        let ToolDay { calls, tool_errors, transport_errors, took, connecting, .. } = sum;
        let ToolDay { tokens_in, tokens_out, last_called, last_failed, .. } = sum;
        let numbers = [tool, day, calls, tool_errors, transport_errors, took, connecting];
        let more = [tokens_in, tokens_out, last_called, last_failed];
        days.push(numbers.into_iter().chain(more).copied().map(SqlValue::Integer).collect());
        latencies
            .extend(sum.latencies.iter().map(|(bucket, calls)| integers(&[*tool, *day, *bucket, *calls])));
        into_callers
            .extend(sum.callers.iter().map(|(caller, last)| integers(&[caller_key(*caller), *tool, *last])));
        if let Some((at, text)) = &sum.failure {
            failures.push([&integers(&[*tool, *at])[..], &[SqlValue::Text(text)]].concat());
        }
    }
    let mut calls = Vec::with_capacity(rows.len());
    for sample in rows {
        // Without totals of its tool, the call is already counted as lost.
        let Some(tool) = tools.get(&sample.tool) else { continue };
        let mut row = integers(&[bounded(sample.at), *tool, caller_key(sample.caller)]);
        row.push(SqlValue::Text(&sample.preset));
        let CallSample { ending, took_us, connecting_us, tokens_in, tokens_out, .. } = sample;
        row.push(SqlValue::Integer(ending_code(*ending)));
        row.extend(integers(&[took_us, connecting_us, tokens_in, tokens_out].map(|value| bounded(*value))));
        let details = &sample.details;
        row.extend([&details.id, &details.principal, &details.client].map(|text| SqlValue::Text(text)));
        row.push(SqlValue::Integer(details.refused.into()));
        let text = |text: Option<&'s str>| text.map_or(SqlValue::Null, SqlValue::Text);
        row.extend([text(details.rule.as_deref()), text(details.approval.as_deref())]);
        let CallDetails { total_us, waited_us, tokens_before, .. } = details;
        row.extend(integers(&[total_us, waited_us, tokens_before].map(|value| bounded(*value))));
        row.extend([text(details.trace.as_deref()), text(sample.error.as_deref())]);
        let bodies = sample.bodies.as_ref();
        row.push(SqlValue::Integer(bodies.map_or(0, |bodies| bodies.bytes() as i64)));
        row.extend([
            text(bodies.map(|bodies| &*bodies.arguments)),
            text(bodies.map(|bodies| &*bodies.reply)),
        ]);
        calls.push(row);
    }
    for (sql, rows) in [
        (INTO_DAYS, days),
        (INTO_LATENCIES, latencies),
        (INTO_CALLERS, into_callers),
        (INTO_FAILURES, failures),
        (INTO_CALLS, calls),
    ] {
        let rows: Vec<Vec<SqlValue<'_>>> = rows;
        db.run_each(sql, &rows).await?;
    }
    Ok(())
}

/// Removes the oldest arguments and replies beyond `max_bytes`.
pub(super) async fn forget_bodies(db: Session<'_>, max_bytes: u32) -> Result<()> {
    let all = "SELECT CAST(coalesce(sum(body_bytes), 0) AS bigint) FROM ledger_call WHERE body_bytes > 0";
    if db.value::<i64>(all, &[]).await? <= i64::from(max_bytes) {
        return Ok(());
    }
    let last = "SELECT max(number) FROM (SELECT number, CAST(sum(body_bytes) OVER (ORDER BY number DESC) AS bigint) AS bytes
         FROM ledger_call WHERE body_bytes > 0) AS bodies WHERE bytes > ?1";
    let last: Option<i64> = db.value(last, values![i64::from(max_bytes)]).await?;
    if let Some(last) = last {
        let forget = "UPDATE ledger_call SET body_bytes = 0, arguments = NULL, reply = NULL
             WHERE body_bytes > 0 AND number <= ?1";
        db.run(forget, values![last]).await?;
    }
    Ok(())
}

/// Returns the numbers of the tools, which are stored if they are new.
async fn tool_numbers<'a>(
    db: Session<'_>,
    sums: &'a CallSums,
    rows: &'a [CallSample],
) -> Result<HashMap<&'a ToolId, i64>> {
    let with_totals: HashSet<&ToolId> = sums.days.keys().map(|(id, _)| id).collect();
    let refused = rows.iter().filter(|row| row.details.refused).map(|row| &row.tool);
    let ids: Vec<&ToolId> = with_totals.into_iter().chain(refused.collect::<HashSet<_>>()).collect();
    let given = ids.iter().enumerate().map(|(place, ToolId { source, name })| {
        json!([source.kind(), storable(source.name()), storable(name), place])
    });
    let given = serde_json::Value::from_iter(given).to_string();
    let put = "INSERT INTO ledger_tool (kind, source, name)
         SELECT DISTINCT given.value ->> 0, given.value ->> 1, given.value ->> 2 FROM @json(?1) AS given WHERE true
         ON CONFLICT DO NOTHING";
    db.run(put, values![given]).await?;
    let numbers =
        "SELECT CAST(given.value ->> 3 AS bigint), t.number FROM @json(?1) AS given CROSS JOIN ledger_tool t
         WHERE t.kind = given.value ->> 0 AND t.source = given.value ->> 1 AND t.name = given.value ->> 2";
    let number = |row: &SqlRow<'_>| Ok((ids[row.get::<i64>(0)? as usize], row.get(1)?));
    db.rows(numbers, values![given], number).await
}

fn caller(key: &str, caller: u64) -> i64 {
    let digest = sha256_hex(format!("{key}:{caller}"));
    u64::from_str_radix(&digest[..16], 16).unwrap_or_default() as i64
}

/// Deletes calls older than `before`. Returns true if there may be more.
pub(super) async fn forget_calls(db: Session<'_>, before: i64) -> Result<bool> {
    let old =
        "DELETE FROM ledger_call WHERE number IN (SELECT number FROM ledger_call WHERE at < ?1 LIMIT ?2)";
    let deleted_rows = db.run(old, values![before, MAX_DELETED_ROWS]).await?;
    db.run("DELETE FROM ledger_caller WHERE last < ?1", values![before]).await?;
    db.run("DELETE FROM ledger_failure WHERE at < ?1", values![before]).await?;
    Ok(deleted_rows as i64 == MAX_DELETED_ROWS)
}

/// Deletes the matching calls from `first_day` on and returns their number.
pub(super) async fn reset(db: Session<'_>, filter: &MetricsFilter, first_day: i64) -> Result<u64> {
    let (condition, mut chosen) = tools_where(filter, 2);
    let chosen_tools = format!("SELECT number FROM ledger_tool WHERE {condition}");
    chosen.insert(0, SqlValue::Integer(first_day));
    let count = format!(
        "SELECT CAST(coalesce(sum(calls), 0) AS bigint) FROM ledger_day WHERE day >= ?1 AND tool IN ({chosen_tools})"
    );
    let deleted_calls: i64 = db.value(&count, &chosen).await?;
    for (table, day) in [
        ("day", "day"),
        ("latency", "day"),
        ("call", "at / 86400000"),
        ("failure", "at / 86400000"),
        ("caller", "last / 86400000"),
    ] {
        let delete = format!("DELETE FROM ledger_{table} WHERE {day} >= ?1 AND tool IN ({chosen_tools})");
        db.run(&delete, &chosen).await?;
    }
    Ok(deleted_calls.unsigned_abs())
}
