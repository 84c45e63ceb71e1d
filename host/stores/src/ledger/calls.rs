//! Single calls, as long as they are stored.

use gatehouse_core::{
    Fault,
    ports::ledger::{Activity, ActivityFilter, CallBodies, CallDetails, StoredCall, StoredCallFilter},
};
use globset::Glob;
use tokio::time::timeout;

use super::{
    CALLS, LedgerTables, MAX_FLUSH_WAIT,
    read::{count, source_id},
    write::{ending_codes, ending_name},
};
use crate::sql::{Result, Session, SqlRow, SqlValue, values};

impl LedgerTables {
    /// Returns the number of the last stored call, or 0, without creating the database.
    pub async fn last_call(&self) -> Result<i64, Fault> {
        let read =
            async |db: Session<'_>| db.value("SELECT coalesce(max(number), 0) FROM ledger_call", &[]).await;
        self.inner.db.read_existing(read).await
    }

    /// Returns stored calls, oldest first, without creating the database. Of a burst, only some calls are stored.
    pub async fn calls(&self, filter: &StoredCallFilter) -> Result<Vec<StoredCall>, Fault> {
        // As for metrics.
        let _ignored = timeout(MAX_FLUSH_WAIT, self.inner.write_detached()).await;
        let filter = filter.clone();
        self.inner.db.read_existing(async move |db: Session<'_>| calls(db, &filter).await).await
    }

    /// Returns the arguments and the reply of a call, without creating the database. `None` if they are not stored.
    pub async fn bodies(&self, id: &str) -> Result<Option<CallBodies>, Fault> {
        let id = id.to_owned();
        self.inner.db.read_existing(async move |db: Session<'_>| bodies(db, &id).await).await
    }

    /// Returns the slots of time with calls that match, without creating the database.
    pub async fn activity(&self, filter: &ActivityFilter) -> Result<Vec<Activity>, Fault> {
        let filter = filter.clone();
        self.inner.db.read_existing(async move |db: Session<'_>| activity(db, &filter).await).await
    }

    /// Returns the principals of the stored calls with their number of calls, without creating the database.
    pub async fn principals(&self) -> Result<Vec<(String, u64)>, Fault> {
        self.inner.db.read_existing(async |db: Session<'_>| principals(db).await).await
    }

    /// Removes what names a principal from the stored calls, without creating the database. Returns their number.
    pub async fn erase(&self, principal: &str) -> Result<u64, Fault> {
        self.inner.write_detached().await?;
        let principal = principal.to_owned();
        let write = async move |db: Session<'_>| erase(db, &principal).await;
        self.inner.db.write_existing(CALLS, write).await
    }
}

/// Returns the last calls that match, oldest first.
async fn calls(db: Session<'_>, filter: &StoredCallFilter) -> Result<Vec<StoredCall>> {
    let since = i64::try_from(filter.since).unwrap_or(i64::MAX);
    let limit = i64::try_from(filter.limit).unwrap_or(i64::MAX);
    let tools = tools(db, filter).await?;
    let mut conditions = "c.number > ?1 AND c.at >= ?2 AND c.tool IN @numbers(?4)".to_owned();
    let mut values = values![filter.after, since, limit, tools].to_vec();
    let texts = [("c.id =", filter.id.as_deref()), ("c.principal =", filter.principal.as_deref())];
    for (condition, text) in texts {
        let Some(text) = text else { continue };
        values.push(SqlValue::Text(text));
        conditions.push_str(&format!(" AND {condition} ?{}", values.len()));
    }
    if let Some(before) = filter.before {
        values.push(SqlValue::Integer(before));
        conditions.push_str(&format!(" AND c.number < ?{}", values.len()));
    }
    let codes = filter.outcome.as_deref().map(ending_codes);
    if let Some(codes) = &codes {
        values.push(SqlValue::Numbers(codes));
        conditions.push_str(&format!(" AND c.ending IN @numbers(?{})", values.len()));
    }
    let sql = format!(
        "SELECT c.number, c.at, t.kind, t.source, t.name, c.preset, c.ending, c.error, c.took_us, c.connecting_us,
            c.tokens_in, c.tokens_out, c.id, c.principal, c.client, c.refused, c.rule, c.approval, c.total_us,
            c.waited_us, c.tokens_before, c.trace
         FROM ledger_call c JOIN ledger_tool t ON t.number = c.tool WHERE {conditions}
         ORDER BY c.number DESC LIMIT ?3"
    );
    let mut entries: Vec<StoredCall> = db.rows(&sql, &values, entry).await?;
    entries.reverse();
    Ok(entries)
}

/// Returns the arguments and the reply of a call. `None` if they are not stored.
async fn bodies(db: Session<'_>, id: &str) -> Result<Option<CallBodies>> {
    let sql = "SELECT arguments, reply FROM ledger_call WHERE id = ?1 AND body_bytes > 0";
    let bodies = |row: &SqlRow<'_>| Ok(CallBodies { arguments: row.get(0)?, reply: row.get(1)? });
    let mut stored: Vec<CallBodies> = db.rows(sql, values![id], bodies).await?;
    Ok(stored.pop())
}

/// Returns the slots with calls, in order of time. Percentiles are the nearest ranks.
async fn activity(db: Session<'_>, filter: &ActivityFilter) -> Result<Vec<Activity>> {
    let number = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    let (since, slot_ms) = (number(filter.since), number(filter.slot_ms).max(1));
    let mut values = values![since, slot_ms].to_vec();
    let mut conditions = String::new();
    for (column, text) in [("t.source", &filter.source), ("t.name", &filter.tool)] {
        let Some(text) = text else { continue };
        values.push(SqlValue::Text(text));
        conditions.push_str(&format!(" AND {column} = ?{}", values.len()));
    }
    let sql = format!(
        "SELECT slot, count(*), CAST(sum(failed) AS bigint), CAST(sum(saved) AS bigint),
            max(CASE WHEN place <= (total + 1) / 2 THEN took_us ELSE 0 END),
            max(CASE WHEN place <= (total * 95 + 99) / 100 THEN took_us ELSE 0 END)
         FROM (SELECT slot, took_us, failed, saved,
                row_number() OVER (PARTITION BY slot ORDER BY took_us) AS place,
                count(*) OVER (PARTITION BY slot) AS total
            FROM (SELECT (c.at - ?1) / ?2 AS slot, c.took_us AS took_us,
                    CASE WHEN c.ending = 0 THEN 0 ELSE 1 END AS failed,
                    CASE WHEN c.tokens_before > c.tokens_out THEN c.tokens_before - c.tokens_out ELSE 0 END AS saved
                FROM ledger_call c JOIN ledger_tool t ON t.number = c.tool
                WHERE c.at >= ?1 AND c.refused = 0{conditions}) AS calls) AS ranked
         GROUP BY slot ORDER BY slot"
    );
    let slot = |row: &SqlRow<'_>| {
        Ok(Activity {
            slot: count(row, 0)?,
            calls: count(row, 1)?,
            failed: count(row, 2)?,
            saved: count(row, 3)?,
            p50_us: count(row, 4)?,
            p95_us: count(row, 5)?,
        })
    };
    db.rows(&sql, &values, slot).await
}

/// Returns the principals with their number of calls.
async fn principals(db: Session<'_>) -> Result<Vec<(String, u64)>> {
    let sql = "SELECT principal, count(*) FROM ledger_call WHERE principal <> '' GROUP BY principal";
    db.rows(sql, &[], |row| Ok((row.get(0)?, count(row, 1)?))).await
}

/// Removes what names a principal from its calls. Returns their number.
async fn erase(db: Session<'_>, principal: &str) -> Result<u64> {
    let any = "SELECT number FROM ledger_call WHERE principal = ?1 LIMIT 1";
    if db.find::<i64>(any, values![principal]).await?.is_none() {
        return Ok(0);
    }
    // An error text can have arguments of the caller. That of a call without a row can be anybody's.
    let failures = "DELETE FROM ledger_failure WHERE NOT EXISTS (SELECT 1 FROM ledger_call c
         WHERE c.tool = ledger_failure.tool AND c.at = ledger_failure.at AND c.principal <> ?1 AND c.error IS NOT NULL)";
    db.run(failures, values![principal]).await?;
    let tools =
        "DELETE FROM ledger_caller WHERE caller IN (SELECT caller FROM ledger_call WHERE principal = ?1)";
    db.run(tools, values![principal]).await?;
    // Of another caller each, so that no statistics join them.
    let erase =
        "UPDATE ledger_call SET principal = '', client = '', error = NULL, caller = -number, body_bytes = 0,
            arguments = NULL, reply = NULL WHERE principal = ?1";
    db.run(erase, values![principal]).await
}

fn entry(row: &SqlRow<'_>) -> Result<StoredCall> {
    Ok(StoredCall {
        number: row.get(0)?,
        at: count(row, 1)?,
        source: source_id(&row.get::<String>(2)?, &row.get::<String>(3)?),
        tool: row.get(4)?,
        preset: row.get(5)?,
        outcome: match ending_name(row.get(6)?) {
            None => "ok".to_owned(),
            Some("tool-error") => "error".to_owned(),
            Some(kind) => kind.to_owned(),
        },
        error: row.get(7)?,
        took_us: count(row, 8)?,
        connecting_us: count(row, 9)?,
        tokens_in: count(row, 10)?,
        tokens_out: count(row, 11)?,
        details: CallDetails {
            id: row.get(12)?,
            principal: row.get(13)?,
            client: row.get(14)?,
            refused: row.get::<i64>(15)? != 0,
            rule: row.get(16)?,
            approval: row.get(17)?,
            total_us: count(row, 18)?,
            waited_us: count(row, 19)?,
            tokens_before: count(row, 20)?,
            trace: row.get(21)?,
        },
    })
}

/// Returns the numbers of the tools that a filter names.
async fn tools(db: Session<'_>, filter: &StoredCallFilter) -> Result<Vec<i64>> {
    let glob = filter.tool.as_deref().map(|pattern| {
        Glob::new(pattern).map(|glob| glob.compile_matcher()).map_err(|error| {
            Fault::invalid(format!("invalid pattern for a tool: {error}")).hint("Use a glob such as list_*.")
        })
    });
    let glob = glob.transpose()?;
    let sql = "SELECT number, source, name FROM ledger_tool";
    let tools = db.rows(sql, &[], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).await?;
    let is_named = |source: &String, name: &String| {
        filter.source.as_ref().is_none_or(|named| named == source)
            && glob.as_ref().is_none_or(|glob| glob.is_match(name))
    };
    let tools = Vec::<(i64, String, String)>::into_iter(tools);
    Ok(tools.filter(|(_, source, name)| is_named(source, name)).map(|(number, ..)| number).collect())
}
