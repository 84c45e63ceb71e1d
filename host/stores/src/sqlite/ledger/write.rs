//! Writes and deletes calls. One transaction adds a call to its day and inserts its row, so a crash can neither lose
//! nor double a count.

use std::collections::HashMap;

use gatehouse_core::{
    FaultKind, SourceId,
    hash::sha256_hex,
    ports::ledger::{CallSample, MetricsFilter, SampleEnding},
};
use rusqlite::{Connection, params};

use super::sums::{CallSums, ToolDay, bounded};
use crate::sqlite::{error::Result, statements::CachedStatements as _};

/// Maximum number of rows that one transaction deletes, because other writers wait for it.
const MAX_DELETED_ROWS: i64 = 10_000;

pub(super) const TOOL_NUMBER: &str = "SELECT number FROM tool WHERE kind = ?1 AND source = ?2 AND name = ?3";

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

/// Writes totals and rows. Callers are hashed with `key`, so they cannot be guessed without it.
pub(super) fn insert(db: &Connection, sums: &CallSums, rows: &[CallSample], key: &str) -> Result<()> {
    let mut tools = HashMap::new();
    let mut callers = HashMap::new();
    let mut caller_key = |number: u64| *callers.entry(number).or_insert_with(|| caller(key, number));
    let mut into_days = db.prepare_cached(
        "INSERT INTO day VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
         ON CONFLICT (tool, day) DO UPDATE SET
            calls = calls + excluded.calls,
            tool_errors = tool_errors + excluded.tool_errors,
            transport_errors = transport_errors + excluded.transport_errors,
            took_us = took_us + excluded.took_us,
            connecting_us = connecting_us + excluded.connecting_us,
            tokens_in = tokens_in + excluded.tokens_in,
            tokens_out = tokens_out + excluded.tokens_out,
            last_called = max(last_called, excluded.last_called),
            last_failed = max(last_failed, excluded.last_failed)",
    )?;
    let mut into_latencies = db.prepare_cached(
        "INSERT INTO latency VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT (tool, day, bucket) DO UPDATE SET calls = calls + excluded.calls",
    )?;
    let mut into_callers = db.prepare_cached(
        "INSERT INTO caller VALUES (?1, ?2, ?3)
         ON CONFLICT (caller, tool) DO UPDATE SET last = max(last, excluded.last)",
    )?;
    let mut into_failures = db.prepare_cached(
        "INSERT INTO failure VALUES (?1, ?2, ?3)
         ON CONFLICT (tool) DO UPDATE SET at = excluded.at, text = excluded.text WHERE excluded.at >= at",
    )?;
    for ((id, day), sum) in &sums.days {
        let tool = tool(db, &id.source, &id.name)?;
        tools.insert(id, tool);
        let ToolDay { calls, tool_errors, transport_errors, took, connecting, .. } = sum;
        let ToolDay { tokens_in, tokens_out, last_called, last_failed, .. } = sum;
        into_days.execute(params![
            tool,
            day,
            calls,
            tool_errors,
            transport_errors,
            took,
            connecting,
            tokens_in,
            tokens_out,
            last_called,
            last_failed
        ])?;
        for (bucket, calls) in &sum.latencies {
            into_latencies.execute([&tool, day, bucket, calls])?;
        }
        if let Some((at, text)) = &sum.failure {
            into_failures.execute(params![tool, at, &**text])?;
        }
        for (caller, last) in &sum.callers {
            into_callers.execute([caller_key(*caller), tool, *last])?;
        }
    }
    let mut into_calls = db.prepare_cached(
        "INSERT INTO call (at, tool, caller, preset, ending, took_us, connecting_us, tokens_in, tokens_out)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
    )?;
    for sample in rows {
        // No totals exist for this tool, so the call is already counted as lost.
        let Some(tool) = tools.get(&sample.tool) else { continue };
        into_calls.execute(params![
            bounded(sample.at),
            tool,
            caller_key(sample.caller),
            &*sample.preset,
            ending_code(sample.ending),
            bounded(sample.took_us),
            bounded(sample.connecting_us),
            bounded(sample.tokens_in),
            bounded(sample.tokens_out)
        ])?;
    }
    Ok(())
}

fn tool(db: &Connection, source: &SourceId, name: &str) -> Result<i64> {
    let (kind, source) = (source.kind(), &**source.name());
    db.run("INSERT OR IGNORE INTO tool (kind, source, name) VALUES (?1, ?2, ?3)", [kind, source, name])?;
    db.value(TOOL_NUMBER, [kind, source, name])
}

fn caller(key: &str, caller: u64) -> i64 {
    let digest = sha256_hex(format!("{key}:{caller}"));
    u64::from_str_radix(&digest[..16], 16).unwrap_or_default() as i64
}

/// Deletes calls older than `before`. Returns true if there may be more.
pub(super) fn forget_calls(db: &Connection, before: i64) -> Result<bool> {
    let old = "DELETE FROM call WHERE number IN (SELECT number FROM call WHERE at < ?1 LIMIT ?2)";
    let deleted_rows = db.run(old, [before, MAX_DELETED_ROWS])?;
    db.run("DELETE FROM caller WHERE last < ?1", [before])?;
    db.run("DELETE FROM failure WHERE at < ?1", [before])?;
    Ok(deleted_rows as i64 == MAX_DELETED_ROWS)
}

/// Deletes the matching calls from `first_day` on and returns their number.
pub(super) fn reset(db: &Connection, filter: &MetricsFilter, first_day: i64) -> Result<u64> {
    let (kind, source) = super::source(filter);
    let chosen = "SELECT number FROM tool WHERE (?2 IS NULL OR kind = ?2 AND source = ?3)
                  AND (?4 IS NULL OR name = ?4)";
    let count = format!("SELECT coalesce(sum(calls), 0) FROM day WHERE day >= ?1 AND tool IN ({chosen})");
    let values = params![first_day, kind, source, filter.tool];
    let deleted_calls: i64 = db.value(&count, values)?;
    for (table, day) in [
        ("day", "day"),
        ("latency", "day"),
        ("call", "at / 86400000"),
        ("failure", "at / 86400000"),
        ("caller", "last / 86400000"),
    ] {
        db.run(&format!("DELETE FROM {table} WHERE {day} >= ?1 AND tool IN ({chosen})"), values)?;
    }
    Ok(deleted_calls.unsigned_abs())
}
