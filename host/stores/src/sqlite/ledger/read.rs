//! Metrics, computed from daily totals, so a month costs thirty rows per tool regardless of the number of calls.

use std::{collections::HashMap, sync::Arc};

use gatehouse_core::{
    SourceId,
    ports::ledger::{MetricsFilter, ToolMetrics},
};
use rusqlite::{Connection, Row, params};

use super::{source, sums::percentile, write::ending_name};
use crate::sqlite::error::StoreError;

/// Default length of the sparkline in days.
const DEFAULT_SPARKLINE_DAYS: u32 = 14;
const MAX_SPARKLINE_DAYS: u32 = 90;

/// Condition of a filter. `?1` to `?4` are the first day, the kind and name of the source, and the tool.
const FILTER_CONDITION: &str =
    "day >= ?1 AND (?2 IS NULL OR kind = ?2 AND source = ?3) AND (?4 IS NULL OR name = ?4)";

pub(super) fn source_id(kind: &str, name: &str) -> SourceId {
    let name: Arc<str> = name.into();
    if kind == "gate" { SourceId::Gate(name) } else { SourceId::Server(name) }
}

/// Returns the matching tools that were called, sorted by source and name.
pub(super) fn metrics(
    db: &Connection,
    filter: &MetricsFilter,
    first_day: i64,
    today: i64,
) -> Result<Vec<ToolMetrics>, StoreError> {
    let (kind, name) = source(filter);
    let mut totals = db.prepare_cached(&format!(
        "SELECT number, kind, source, name, sum(calls), sum(tool_errors), sum(transport_errors), sum(took_us),
                sum(connecting_us), sum(tokens_in), sum(tokens_out), max(last_called), max(last_failed),
                failure.at, failure.text
         FROM tool JOIN day ON day.tool = number LEFT JOIN failure ON failure.tool = number WHERE {FILTER_CONDITION} GROUP BY number ORDER BY kind, source, name"
    ))?;
    let values = params![first_day, kind, name, filter.tool];
    let told = totals.query_map(values, |row| Ok((row.get(0)?, total(row)?)))?;
    let told: Vec<(i64, ToolMetrics)> = told.collect::<Result<_, _>>()?;

    let mut buckets = HashMap::<i64, Vec<(i64, u64)>>::new();
    let mut latencies = db.prepare_cached(&format!(
        "SELECT number, bucket, sum(calls) FROM tool JOIN latency ON tool = number WHERE {FILTER_CONDITION}
         GROUP BY number, bucket ORDER BY number, bucket"
    ))?;
    let mut rows = latencies.query(values)?;
    while let Some(row) = rows.next()? {
        buckets.entry(row.get(0)?).or_default().push((row.get(1)?, count(row, 2)?));
    }

    let shown = filter.days.unwrap_or(DEFAULT_SPARKLINE_DAYS).clamp(1, MAX_SPARKLINE_DAYS) as usize;
    let first_shown = today - shown as i64 + 1;
    let mut days = HashMap::<i64, Vec<u64>>::new();
    let mut by_day = db.prepare_cached(&format!(
        "SELECT number, day, calls FROM tool JOIN day ON tool = number WHERE {FILTER_CONDITION} AND day BETWEEN ?5 AND ?6"
    ))?;
    let mut rows = by_day.query(params![first_day, kind, name, filter.tool, first_shown, today])?;
    while let Some(row) = rows.next()? {
        let day = (row.get::<_, i64>(1)? - first_shown) as usize;
        days.entry(row.get(0)?).or_insert_with(|| vec![0; shown])[day] = count(row, 2)?;
    }

    let all = told.into_iter().map(|(number, metrics)| {
        let buckets = buckets.get(&number).map_or(&[][..], Vec::as_slice);
        ToolMetrics {
            p50_ms: percentile(buckets, 0.5),
            p95_ms: percentile(buckets, 0.95),
            by_day: days.remove(&number).unwrap_or_else(|| vec![0; shown]),
            ..metrics
        }
    });
    Ok(all.collect())
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
