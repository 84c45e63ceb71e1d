//! What belongs to a tool: what the same caller calls soon after it, and what its callers call too. Where little was seen,
//! chance looks like habit, so little is told.
//!
//! The work is bounded whatever the ledger holds: the last calls and callers of the one tool are looked at, each with a
//! few rows of an index.

use gatehouse_core::ports::ledger::RelatedTool;
use gatehouse_core::tool::ToolId;
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use super::read::source_id;
use crate::sqlite::error::StoreError;

/// What comes within ten minutes counts as called after, and no more than so many calls of it. They are looked for among
/// the next few: a server's tool that is called through a gate stands between calls of that gate.
const WINDOW_MS: i64 = 10 * 60 * 1_000;
const MAX_FOLLOWING: i64 = 4;
const LOOKAHEAD: i64 = 16;

/// The last calls, and the last callers, that are looked at.
const MAX_CALLS: i64 = 2_000;
const MAX_CALLERS: i64 = 500;

/// What has to be seen before anything is told: fewer calls than these are one afternoon of one agent, and five common
/// ones at less than one and a half times what chance gives come about by themselves in a hundred tools.
const MIN_CALLS: i64 = 10;
const MIN_TOGETHER: i64 = 5;
const MIN_CALLERS: i64 = 5;
const MIN_SHARED: i64 = 3;
const MIN_LIFT: f64 = 1.5;

/// Tools of gates belong to tools of gates, and those of servers to those of servers. The most telling first; those that follow and those of the same callers are told apart.
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
    // Rare pairs have the highest lift by chance, so how often they were seen counts too.
    let telling = |one: &RelatedTool| one.lift.ln() * (one.together as f64).sqrt();
    found.sort_by(|a, b| {
        let order = telling(b).total_cmp(&telling(a)).then_with(|| b.follows.cmp(&a.follows));
        order.then_with(|| (&a.source, &a.tool).cmp(&(&b.source, &b.tool)))
    });
    found.truncate(limit);
    Ok(found)
}

/// Chance is the share that a tool has of all calls of its kind that are kept in days.
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

/// Chance is the share of all callers that call a tool.
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
