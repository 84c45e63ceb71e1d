//! Metrics and related tools.
//!
//! Metrics are computed from daily totals, so a month costs thirty rows per tool regardless of the number of calls.
//! Tools are related if a caller often calls one soon after the other, or if they have common callers. This does not
//! depend on the ledger's size: it reads the last calls and callers of one tool, with a few index rows for each.

use std::{collections::HashMap, sync::Arc};

use gatehouse_core::{
    SourceId,
    ports::ledger::{MetricsFilter, RelatedTool, ToolMetrics},
    tool::ToolId,
};
use rusqlite::{Connection, Row, params};

use super::{
    source,
    sums::percentile,
    write::{TOOL_NUMBER, ending_name},
};
use crate::sqlite::{error::Result, statements::CachedStatements as _};

/// Default length of the sparkline in days.
const DEFAULT_SPARKLINE_DAYS: u32 = 14;
const MAX_SPARKLINE_DAYS: u32 = 90;

/// Condition of a filter. `?1` to `?4` are the first day, the kind and name of the source, and the tool.
const FILTER_CONDITION: &str =
    "day >= ?1 AND (?2 IS NULL OR kind = ?2 AND source = ?3) AND (?4 IS NULL OR name = ?4)";

fn source_id(kind: &str, name: &str) -> SourceId {
    let name: Arc<str> = name.into();
    if kind == "gate" { SourceId::Gate(name) } else { SourceId::Server(name) }
}

/// Returns the matching tools that were called, sorted by source and name.
pub(super) fn metrics(
    db: &Connection,
    filter: &MetricsFilter,
    first_day: i64,
    today: i64,
) -> Result<Vec<ToolMetrics>> {
    let (kind, name) = source(filter);
    let totals = format!(
        "SELECT number, kind, source, name, sum(calls), sum(tool_errors), sum(transport_errors), sum(took_us),
                sum(connecting_us), sum(tokens_in), sum(tokens_out), max(last_called), max(last_failed),
                failure.at, failure.text
         FROM tool JOIN day ON day.tool = number LEFT JOIN failure ON failure.tool = number WHERE {FILTER_CONDITION} GROUP BY number ORDER BY kind, source, name"
    );
    let values = params![first_day, kind, name, filter.tool];
    let tool_totals: Vec<(i64, ToolMetrics)> =
        db.all(&totals, values, |row| Ok((row.get(0)?, total(row)?)))?;

    let mut buckets = HashMap::<i64, Vec<(i64, u64)>>::new();
    let mut latencies = db.prepare_cached(&format!(
        "SELECT number, bucket, sum(calls) FROM tool JOIN latency ON tool = number WHERE {FILTER_CONDITION}
         GROUP BY number, bucket ORDER BY number, bucket"
    ))?;
    let mut rows = latencies.query(values)?;
    while let Some(row) = rows.next()? {
        buckets.entry(row.get(0)?).or_default().push((row.get(1)?, count(row, 2)?));
    }

    let day_count = filter.days.unwrap_or(DEFAULT_SPARKLINE_DAYS).clamp(1, MAX_SPARKLINE_DAYS) as usize;
    let first_shown = today - day_count as i64 + 1;
    let mut days = HashMap::<i64, Vec<u64>>::new();
    let mut by_day = db.prepare_cached(&format!(
        "SELECT number, day, calls FROM tool JOIN day ON tool = number WHERE {FILTER_CONDITION} AND day BETWEEN ?5 AND ?6"
    ))?;
    let mut rows = by_day.query(params![first_day, kind, name, filter.tool, first_shown, today])?;
    while let Some(row) = rows.next()? {
        let day = (row.get::<_, i64>(1)? - first_shown) as usize;
        days.entry(row.get(0)?).or_insert_with(|| vec![0; day_count])[day] = count(row, 2)?;
    }

    let tool_metrics = tool_totals.into_iter().map(|(number, metrics)| {
        let buckets = buckets.get(&number).map_or(&[][..], Vec::as_slice);
        ToolMetrics {
            p50_ms: percentile(buckets, 0.5),
            p95_ms: percentile(buckets, 0.95),
            by_day: days.remove(&number).unwrap_or_else(|| vec![0; day_count]),
            ..metrics
        }
    });
    Ok(tool_metrics.collect())
}

fn total(row: &Row<'_>) -> rusqlite::Result<ToolMetrics> {
    let calls = count(row, 4)?;
    Ok(ToolMetrics {
        source: source_id(&row.get::<_, String>(1)?, &row.get::<_, String>(2)?),
        tool: row.get(3)?,
        calls,
        tool_errors: count(row, 5)?,
        transport_errors: count(row, 6)?,
        mean_ms: count(row, 7)? as f64 / calls.max(1) as f64 / 1_000.0,
        p50_ms: None,
        p95_ms: None,
        connecting_ms: count(row, 8)? / 1_000,
        tokens_in: count(row, 9)?,
        tokens_out: count(row, 10)?,
        last_called: Some(count(row, 11)?),
        last_error: last_error(row)?,
        last_error_kind: ending_name(row.get::<_, i64>(12)? % 16).map(str::to_owned),
        by_day: Vec::new(),
    })
}

/// Returns the text of the last failure, or its kind if no text of that failure is stored.
fn last_error(row: &Row<'_>) -> rusqlite::Result<Option<String>> {
    let last: i64 = row.get(12)?;
    let stored = row.get::<_, Option<i64>>(13)?;
    match stored == Some(last / 16) {
        true => row.get(14),
        false => Ok(ending_name(last % 16).map(str::to_owned)),
    }
}

fn count(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    row.get::<_, i64>(column).map(i64::unsigned_abs)
}

/// A call counts as a follow-up within ten minutes, up to four per call, in the next 16 calls: those of servers through
/// a gate are interleaved with those of the gate.
const WINDOW_MS: i64 = 10 * 60 * 1_000;
const MAX_FOLLOWING: i64 = 4;
const LOOKAHEAD: i64 = 16;

/// Maximum numbers of recent calls and callers to read.
const MAX_CALLS: i64 = 2_000;
const MAX_CALLERS: i64 = 500;

/// Chance looks like habit in little data. Among a hundred tools, five common calls at a lift below 1.5 occur by
/// chance.
const MIN_CALLS: i64 = 10;
const MIN_TOGETHER: i64 = 5;
const MIN_CALLERS: i64 = 5;
const MIN_SHARED: i64 = 3;
const MIN_LIFT: f64 = 1.5;

/// Returns related tools of the same kind (gate or server), the most significant first.
pub(super) fn related(db: &Connection, tool: &ToolId, limit: usize) -> Result<Vec<RelatedTool>> {
    let named = [tool.source.kind(), &**tool.source.name(), &*tool.name];
    let Some(number) = db.find(TOOL_NUMBER, named)? else { return Ok(Vec::new()) };
    let mut related_tools = called_next(db, number)?;
    related_tools.extend(shared_by_callers(db, number)?);
    related_tools.retain(|entry| entry.lift >= MIN_LIFT);
    // Rare pairs have the highest lift by chance, so the count matters too.
    let telling = |entry: &RelatedTool| entry.lift.ln() * (entry.together as f64).sqrt();
    related_tools.sort_by(|a, b| {
        let order = telling(b).total_cmp(&telling(a)).then_with(|| b.follows.cmp(&a.follows));
        order.then_with(|| (&a.source, &a.tool).cmp(&(&b.source, &b.tool)))
    });
    related_tools.truncate(limit);
    Ok(related_tools)
}

/// Returns the tools called next. The baseline is a tool's share of all calls of its kind in the daily totals.
fn called_next(db: &Connection, tool: i64) -> Result<Vec<RelatedTool>> {
    let pairs =
        "WITH alike AS MATERIALIZED (
            SELECT number AS tool FROM tool WHERE kind = (SELECT kind FROM tool WHERE number = ?1)
         ), mine AS MATERIALIZED (
            SELECT number, at, caller FROM call WHERE tool = ?1 ORDER BY at DESC LIMIT ?2
         ), next AS MATERIALIZED (
            SELECT mine.number AS first, call.tool AS tool FROM mine JOIN call ON call.number IN (
                SELECT number FROM (
                    SELECT number, at, tool FROM call INDEXED BY call_caller
                    WHERE caller = mine.caller AND (at, number) > (mine.at, mine.number) AND at <= mine.at + ?3
                    ORDER BY at, number LIMIT ?7)
                WHERE tool IN alike ORDER BY at, number LIMIT ?4)
         ), seen AS (
            SELECT tool, count(DISTINCT first) AS together, count(*) AS places FROM next WHERE tool <> ?1 GROUP BY tool
         ), days AS MATERIALIZED (SELECT tool, sum(calls) AS calls FROM day WHERE tool IN alike GROUP BY tool)
         SELECT kind, source, name, together, (SELECT count(*) FROM mine) AS looked,
                (CAST(places AS REAL) / (SELECT count(*) FROM next))
                    / (CAST(days.calls AS REAL) / (SELECT sum(calls) FROM days))
         FROM seen JOIN days USING (tool) JOIN tool ON tool.number = seen.tool
         WHERE together >= ?5 AND looked >= ?6";
    let values = params![tool, MAX_CALLS, WINDOW_MS, MAX_FOLLOWING, MIN_TOGETHER, MIN_CALLS, LOOKAHEAD];
    db.all(pairs, values, |row| one(row, true))
}

/// Returns the tools with common callers. The baseline is the share of all callers that call a tool.
fn shared_by_callers(db: &Connection, tool: i64) -> Result<Vec<RelatedTool>> {
    let shared = "WITH mine AS MATERIALIZED (
            SELECT caller FROM caller WHERE tool = ?1 ORDER BY last DESC LIMIT ?2
         ), seen AS (
            SELECT caller.tool AS tool, count(*) AS together FROM mine JOIN caller USING (caller)
            JOIN tool ON tool.number = caller.tool
            WHERE caller.tool <> ?1 AND kind = (SELECT kind FROM tool WHERE number = ?1) GROUP BY caller.tool
         )
         SELECT kind, source, name, together, (SELECT count(*) FROM mine) AS looked,
                (CAST(together AS REAL) / (SELECT count(*) FROM mine))
                    / (CAST((SELECT count(*) FROM caller WHERE caller.tool = seen.tool) AS REAL)
                       / (SELECT count(DISTINCT caller) FROM caller))
         FROM seen JOIN tool ON tool.number = seen.tool WHERE together >= ?3 AND looked >= ?4";
    let values = params![tool, MAX_CALLERS, MIN_SHARED, MIN_CALLERS];
    db.all(shared, values, |row| one(row, false))
}

fn one(row: &Row<'_>, follows: bool) -> rusqlite::Result<RelatedTool> {
    Ok(RelatedTool {
        source: source_id(&row.get::<_, String>(0)?, &row.get::<_, String>(1)?),
        tool: row.get(2)?,
        follows,
        together: row.get::<_, i64>(3)?.unsigned_abs(),
        of: row.get::<_, i64>(4)?.unsigned_abs(),
        lift: row.get(5)?,
    })
}
