//! Related tools: those that a caller often calls soon after a tool, and those that its callers also use.
//!
//! The cost does not depend on the ledger's size: it reads the last calls and callers of one tool, with a few index
//! rows for each.

use gatehouse_core::ports::ledger::RelatedTool;
use gatehouse_core::tool::ToolId;
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use super::read::source_id;
use crate::sqlite::error::StoreError;

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
pub(super) fn related(db: &Connection, tool: &ToolId, limit: usize) -> Result<Vec<RelatedTool>, StoreError> {
    let mut number =
        db.prepare_cached("SELECT number FROM tool WHERE kind = ?1 AND source = ?2 AND name = ?3")?;
    let named = [tool.source.kind(), &**tool.source.name(), &*tool.name];
    let Some(number) = number.query_row(named, |row| row.get::<_, i64>(0)).optional()? else {
        return Ok(Vec::new());
    };
    let mut found = called_next(db, number)?;
    found.extend(shared_by_callers(db, number)?);
    found.retain(|one| one.lift >= MIN_LIFT);
    // Rare pairs have the highest lift by chance, so the count matters too.
    let telling = |one: &RelatedTool| one.lift.ln() * (one.together as f64).sqrt();
    found.sort_by(|a, b| {
        let order = telling(b).total_cmp(&telling(a)).then_with(|| b.follows.cmp(&a.follows));
        order.then_with(|| (&a.source, &a.tool).cmp(&(&b.source, &b.tool)))
    });
    found.truncate(limit);
    Ok(found)
}

/// Returns the tools called next. The baseline is a tool's share of all calls of its kind in the daily totals.
fn called_next(db: &Connection, tool: i64) -> Result<Vec<RelatedTool>, StoreError> {
    let mut pairs = db.prepare_cached(
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
         WHERE together >= ?5 AND looked >= ?6",
    )?;
    let values = params![tool, MAX_CALLS, WINDOW_MS, MAX_FOLLOWING, MIN_TOGETHER, MIN_CALLS, LOOKAHEAD];
    let found = pairs.query_map(values, |row| one(row, true))?;
    Ok(found.collect::<Result<_, _>>()?)
}

/// Returns the tools with common callers. The baseline is the share of all callers that call a tool.
fn shared_by_callers(db: &Connection, tool: i64) -> Result<Vec<RelatedTool>, StoreError> {
    let mut shared = db.prepare_cached(
        "WITH mine AS MATERIALIZED (
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
         FROM seen JOIN tool ON tool.number = seen.tool WHERE together >= ?3 AND looked >= ?4",
    )?;
    let values = params![tool, MAX_CALLERS, MIN_SHARED, MIN_CALLERS];
    let found = shared.query_map(values, |row| one(row, false))?;
    Ok(found.collect::<Result<_, _>>()?)
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
