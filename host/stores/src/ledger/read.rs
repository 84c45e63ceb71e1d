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

use super::{sums::percentile, write::ending_name};
use crate::sql::{Result, Session, SqlRow, SqlValue, values};

/// Default length of the sparkline in days.
const DEFAULT_SPARKLINE_DAYS: u32 = 14;
const MAX_SPARKLINE_DAYS: u32 = 90;

/// Returns the condition of a filter on a tool `kind`, `source` and `name`, and its values, numbered from `from`.
pub(super) fn tools_where(filter: &MetricsFilter, from: usize) -> (String, Vec<SqlValue<'_>>) {
    let source = filter.source.as_ref();
    let given = [
        ("kind", source.map(|source| source.kind())),
        ("source", source.map(|source| &**source.name())),
        ("name", filter.tool.as_deref()),
    ];
    let (mut condition, mut values) = ("true".to_owned(), Vec::new());
    for (column, value) in given {
        let Some(value) = value else { continue };
        condition.push_str(&format!(" AND {column} = ?{}", from + values.len()));
        values.push(SqlValue::Text(value));
    }
    (condition, values)
}

pub(super) fn source_id(kind: &str, name: &str) -> SourceId {
    let name: Arc<str> = name.into();
    if kind == "gate" { SourceId::Gate(name) } else { SourceId::Server(name) }
}

/// Returns the matching tools that were called, sorted by source and name.
pub(super) async fn metrics(
    db: Session<'_>,
    filter: &MetricsFilter,
    first_day: i64,
    today: i64,
) -> Result<Vec<ToolMetrics>> {
    let day_count = filter.days.unwrap_or(DEFAULT_SPARKLINE_DAYS).clamp(1, MAX_SPARKLINE_DAYS) as usize;
    let first_shown = today - day_count as i64 + 1;
    let (condition, chosen) = tools_where(filter, 2);
    let values = [values![first_day], &chosen[..]].concat();
    let sums =
        ["calls", "tool_errors", "transport_errors", "took_us", "connecting_us", "tokens_in", "tokens_out"];
    let sums = sums.map(|column| format!("CAST(sum({column}) AS bigint)")).join(", ");
    let totals = format!(
        "SELECT t.number, kind, source, name, {sums}, max(last_called), max(last_failed), f.at, f.text
         FROM ledger_tool t JOIN ledger_day d ON d.tool = t.number LEFT JOIN ledger_failure f ON f.tool = t.number
         WHERE d.day >= ?1 AND {condition} GROUP BY t.number, f.tool ORDER BY kind, source, name"
    );
    let total = |row: &SqlRow<'_>| Ok((row.get(0)?, total(row)?));
    let totals: Vec<(i64, ToolMetrics)> = db.rows(&totals, &values, total).await?;

    let mut buckets = HashMap::<i64, Vec<(i64, u64)>>::new();
    let latencies = format!(
        "SELECT t.number, bucket, CAST(sum(calls) AS bigint) FROM ledger_tool t JOIN ledger_latency l ON l.tool = t.number
         WHERE l.day >= ?1 AND {condition} GROUP BY t.number, bucket ORDER BY t.number, bucket"
    );
    let latency = |row: &SqlRow<'_>| Ok((row.get(0)?, (row.get(1)?, count(row, 2)?)));
    for (tool, bucket) in db.rows::<_, Vec<_>>(&latencies, &values, latency).await? {
        buckets.entry(tool).or_default().push(bucket);
    }

    let mut days = HashMap::<i64, Vec<u64>>::new();
    let by_day = format!(
        "SELECT t.number, d.day, calls FROM ledger_tool t JOIN ledger_day d ON d.tool = t.number
         WHERE d.day BETWEEN ?1 AND {today} AND {condition}"
    );
    let first_shown_day = first_shown.max(first_day);
    let values = [values![first_shown_day], &chosen[..]].concat();
    let day = |row: &SqlRow<'_>| Ok((row.get(0)?, row.get(1)?, count(row, 2)?));
    for (tool, day, calls) in db.rows::<(i64, i64, u64), Vec<_>>(&by_day, &values, day).await? {
        days.entry(tool).or_insert_with(|| vec![0; day_count])[(day - first_shown) as usize] = calls;
    }

    let tool_metrics = totals.into_iter().map(|(number, metrics)| {
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

fn total(row: &SqlRow<'_>) -> Result<ToolMetrics> {
    let calls = count(row, 4)?;
    Ok(ToolMetrics {
        source: source_id(&row.get::<String>(1)?, &row.get::<String>(2)?),
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
        last_error_kind: ending_name(row.get::<i64>(12)? % 16).map(str::to_owned),
        by_day: Vec::new(),
    })
}

/// Returns the text of the last failure, or its kind if no text of that failure is stored.
fn last_error(row: &SqlRow<'_>) -> Result<Option<String>> {
    let last: i64 = row.get(12)?;
    let stored = row.get::<Option<i64>>(13)?;
    match stored == Some(last / 16) {
        true => row.get(14),
        false => Ok(ending_name(last % 16).map(str::to_owned)),
    }
}

pub(super) fn count(row: &SqlRow<'_>, column: usize) -> Result<u64> {
    row.get::<i64>(column).map(i64::unsigned_abs)
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
pub(super) async fn related(db: Session<'_>, tool: &ToolId, limit: usize) -> Result<Vec<RelatedTool>> {
    let number = "SELECT number FROM ledger_tool WHERE kind = ?1 AND source = ?2 AND name = ?3";
    let named = values![*tool.source.kind(), **tool.source.name(), *tool.name];
    let Some(number) = db.find(number, named).await? else { return Ok(Vec::new()) };
    let mut related_tools = called_next(db, number).await?;
    related_tools.extend(shared_by_callers(db, number).await?);
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

/// The calls of the same caller after a call of `mine`.
const FOLLOWING: &str = "SELECT number, tool FROM (
        SELECT number, at, tool FROM ledger_call @sqlite(INDEXED BY ledger_call_caller)
        WHERE refused = 0 AND caller = mine.caller AND (at, number) > (mine.at, mine.number) AND at <= mine.at + ?3
        ORDER BY at, number LIMIT ?7) AS later
     WHERE tool IN (SELECT tool FROM alike) ORDER BY at, number LIMIT ?4";

/// Returns the tools called next. The baseline is a tool's share of all calls of its kind in the daily totals.
async fn called_next(db: Session<'_>, tool: i64) -> Result<Vec<RelatedTool>> {
    // SQLite has no lateral joins, and PostgreSQL would run the condition for every pair.
    let following = match db {
        Session::Sqlite(_) => {
            format!("ledger_call c ON c.number IN (SELECT number FROM ({FOLLOWING}) AS following)")
        }
        #[cfg(feature = "postgres")]
        Session::Postgres(_) => format!("LATERAL ({FOLLOWING}) c ON true"),
    };
    let pairs = format!(
        "WITH alike AS MATERIALIZED (
            SELECT number AS tool FROM ledger_tool WHERE kind = (SELECT kind FROM ledger_tool WHERE number = ?1)
         ), mine AS MATERIALIZED (
            SELECT number, at, caller FROM ledger_call WHERE tool = ?1 AND refused = 0 ORDER BY at DESC LIMIT ?2
         ), next AS MATERIALIZED (
            SELECT mine.number AS first, c.tool AS tool FROM mine JOIN {following}
         ), seen AS (
            SELECT tool, count(DISTINCT first) AS together, count(*) AS places FROM next WHERE tool <> ?1 GROUP BY tool
         ), days AS MATERIALIZED (
            SELECT tool, sum(calls) AS calls FROM ledger_day WHERE tool IN (SELECT tool FROM alike) GROUP BY tool
         )
         SELECT kind, source, name, together, (SELECT count(*) FROM mine),
                (CAST(places AS double precision) / (SELECT count(*) FROM next))
                    / (CAST(days.calls AS double precision) / (SELECT CAST(sum(calls) AS double precision) FROM days))
         FROM seen JOIN days ON days.tool = seen.tool JOIN ledger_tool t ON t.number = seen.tool
         WHERE together >= ?5 AND (SELECT count(*) FROM mine) >= ?6"
    );
    let values = values![tool, MAX_CALLS, WINDOW_MS, MAX_FOLLOWING, MIN_TOGETHER, MIN_CALLS, LOOKAHEAD];
    db.rows(&pairs, values, |row| one(row, true)).await
}

/// Returns the tools with common callers. The baseline is the share of all callers that call a tool.
async fn shared_by_callers(db: Session<'_>, tool: i64) -> Result<Vec<RelatedTool>> {
    let shared = "WITH mine AS MATERIALIZED (
            SELECT caller FROM ledger_caller WHERE tool = ?1 ORDER BY last DESC LIMIT ?2
         ), seen AS (
            SELECT c.tool AS tool, count(*) AS together FROM mine JOIN ledger_caller c ON c.caller = mine.caller
            JOIN ledger_tool t ON t.number = c.tool
            WHERE c.tool <> ?1 AND kind = (SELECT kind FROM ledger_tool WHERE number = ?1) GROUP BY c.tool
         )
         SELECT kind, source, name, together, (SELECT count(*) FROM mine),
                (CAST(together AS double precision) / (SELECT count(*) FROM mine))
                    / (CAST((SELECT count(*) FROM ledger_caller c WHERE c.tool = seen.tool) AS double precision)
                       / (SELECT count(DISTINCT caller) FROM ledger_caller))
         FROM seen JOIN ledger_tool t ON t.number = seen.tool
         WHERE together >= ?3 AND (SELECT count(*) FROM mine) >= ?4";
    let values = values![tool, MAX_CALLERS, MIN_SHARED, MIN_CALLERS];
    db.rows(shared, values, |row| one(row, false)).await
}

fn one(row: &SqlRow<'_>, follows: bool) -> Result<RelatedTool> {
    Ok(RelatedTool {
        source: source_id(&row.get::<String>(0)?, &row.get::<String>(1)?),
        tool: row.get(2)?,
        follows,
        together: row.get::<i64>(3)?.unsigned_abs(),
        of: row.get::<i64>(4)?.unsigned_abs(),
        lift: row.get(5)?,
    })
}
