//! Searches entries.

use std::collections::{BTreeMap, HashMap};

use gatehouse_core::{hash::hex, outcome::Fault};
use globset::Glob;
use serde::Serialize;

use super::{
    chain::{AuditRow, RowDigest, unseal},
    write::find_key,
};
use crate::sql::{Result, Session, SqlRow, SqlValue, StoreError, values};

/// Entries to read at a time.
pub(super) const MAX_READ: i64 = 1_000;

pub(super) const COLUMNS: &str =
    "seq, at, kind, principal, sealed, preset, tool, rule, approval, outcome, took_us, tokens_in,
    tokens_out, arguments, details, digest";

/// Selection of entries.
#[derive(Debug, Clone, Default)]
pub struct AuditFilter {
    /// Name of a principal, or at least eight digits of a pseudonym.
    pub principal: Option<String>,
    /// Glob over exposed names.
    pub tool: Option<String>,
    /// Earliest time in milliseconds since 1970.
    pub since: i64,
    pub outcome: Option<String>,
    /// Maximum number of entries; the newest ones count.
    pub limit: usize,
}

/// An entry as operators see it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AuditRecord {
    pub seq: i64,
    /// Milliseconds since 1970.
    pub at: i64,
    pub kind: String,
    /// Name of the principal. `None` if it was erased.
    pub principal: Option<String>,
    /// Pseudonym in hexadecimal, which stays after an erasure.
    pub pseudonym: String,
    pub credential: String,
    pub client: String,
    pub address: String,
    pub preset: Option<String>,
    pub tool: Option<String>,
    pub rule: Option<String>,
    pub approval: Option<String>,
    pub outcome: String,
    pub took_us: i64,
    pub tokens_in: i64,
    pub tokens_out: i64,
    pub details: Option<String>,
}

/// A principal that the audit knows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct KnownPrincipal {
    pub name: String,
    /// Pseudonym in hexadecimal.
    pub pseudonym: String,
    /// Time of its first entry, in milliseconds since 1970.
    pub first: i64,
    pub last: Option<i64>,
    pub entries: u64,
}

/// Calls of a principal that a quota refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuotaRefusals {
    pub principal: String,
    pub quota: String,
    pub calls: u64,
}

pub(super) fn digest_of(bytes: &[u8]) -> Result<RowDigest> {
    bytes
        .try_into()
        .map_err(|_| StoreError::InvalidValue("a digest of the audit has the wrong length".into()))
}

pub(super) fn from_row(row: &SqlRow<'_>) -> Result<(AuditRow, Vec<u8>)> {
    let entry = AuditRow {
        seq: row.get(0)?,
        at: row.get(1)?,
        kind: row.get(2)?,
        principal: row.get(3)?,
        sealed: row.get(4)?,
        preset: row.get(5)?,
        tool: row.get(6)?,
        rule: row.get(7)?,
        approval: row.get(8)?,
        outcome: row.get(9)?,
        took_us: row.get(10)?,
        tokens_in: row.get(11)?,
        tokens_out: row.get(12)?,
        arguments: row.get(13)?,
        details: row.get(14)?,
    };
    Ok((entry, row.get(15)?))
}

/// Returns the last matching entries, oldest first.
pub(super) async fn search(db: Session<'_>, filter: &AuditFilter) -> Result<Vec<AuditRecord>> {
    let pseudonym = match &filter.principal {
        None => None,
        Some(name) => match find_key(db, name).await? {
            Some(known) => Some(known.pseudonym),
            None => match pseudonym_with(db, name).await? {
                Some(pseudonym) => Some(pseudonym),
                None => return Ok(Vec::new()),
            },
        },
    };
    matching(db, filter, pseudonym).await
}

/// Returns the pseudonym with these first hexadecimal digits, at least eight.
async fn pseudonym_with(db: Session<'_>, digits: &str) -> Result<Option<Vec<u8>>> {
    let padded =
        |digit: &str| bytes_of(&format!("{digits}{}", digit.repeat(64_usize.saturating_sub(digits.len()))));
    let (true, Some(from), Some(to)) = (digits.len() >= 8, padded("0"), padded("f")) else { return Ok(None) };
    db.find("SELECT principal FROM audit_entry WHERE principal BETWEEN ?1 AND ?2 LIMIT 1", values![from, to])
        .await
}

/// Decodes hexadecimal digits.
pub(super) fn bytes_of(digits: &str) -> Option<Vec<u8>> {
    let pairs = digits.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).ok());
    pairs.map(|pair| u8::from_str_radix(pair.filter(|pair| pair.len() == 2)?, 16).ok()).collect()
}

async fn matching(
    db: Session<'_>,
    AuditFilter { tool, since, outcome, limit, .. }: &AuditFilter,
    principal: Option<Vec<u8>>,
) -> Result<Vec<AuditRecord>> {
    let limit = i64::try_from(*limit).unwrap_or(i64::MAX);
    let mut values = values![*since].to_vec();
    let mut conditions = "at >= ?1".to_owned();
    if let Some(principal) = &principal {
        values.push(SqlValue::Blob(principal));
        conditions.push_str(&format!(" AND principal = ?{}", values.len()));
    }
    if let Some(outcome) = outcome {
        values.push(SqlValue::Text(outcome));
        conditions.push_str(&format!(" AND outcome = ?{}", values.len()));
    }
    let tools;
    if let Some(pattern) = tool {
        tools = matching_tools(db, pattern, &conditions, &values).await?;
        if tools.is_empty() {
            return Ok(Vec::new());
        }
        values.push(SqlValue::Texts(&tools));
        conditions.push_str(&format!(" AND tool IN @texts(?{})", values.len()));
    }
    values.push(SqlValue::Integer(limit));
    let sql = format!(
        "SELECT {COLUMNS} FROM audit_entry WHERE {conditions} ORDER BY seq DESC LIMIT ?{}",
        values.len()
    );
    let mut rows: Vec<(AuditRow, Vec<u8>)> = db.rows(&sql, &values, from_row).await?;
    rows.reverse();
    let mut principals: HashMap<Vec<u8>, Option<(String, Vec<u8>)>> = HashMap::new();
    let mut records = Vec::with_capacity(rows.len());
    for (row, _) in rows {
        if !principals.contains_key(&row.principal) {
            let sql = "SELECT name, key FROM audit_principal WHERE pseudonym = ?1";
            let known = |row: &SqlRow<'_>| Ok((row.get(0)?, row.get(1)?));
            principals.insert(row.principal.clone(), db.first(sql, values![row.principal], known).await?);
        }
        records.push(record(&row, principals[&row.principal].as_ref()));
    }
    Ok(records)
}

/// Returns the tools of the entries under these conditions whose names match a glob.
async fn matching_tools(
    db: Session<'_>,
    pattern: &str,
    conditions: &str,
    values: &[SqlValue<'_>],
) -> Result<Vec<String>> {
    let glob = Glob::new(pattern).map_err(|error| {
        Fault::invalid(format!("invalid pattern for a tool: {error}")).hint("Use a glob such as github__*.")
    })?;
    let sql = format!("SELECT DISTINCT tool FROM audit_entry WHERE tool IS NOT NULL AND {conditions}");
    let (glob, tools) = (glob.compile_matcher(), db.column::<String, Vec<_>>(&sql, values).await?);
    Ok(tools.into_iter().filter(|tool| glob.is_match(tool)).collect())
}

fn record(row: &AuditRow, known: Option<&(String, Vec<u8>)>) -> AuditRecord {
    let person = known
        .and_then(|(_, key)| serde_json::from_slice::<[String; 3]>(&unseal(key, row.seq, &row.sealed)?).ok());
    let [credential, client, address] = person.unwrap_or_default();
    let AuditRow { kind, preset, tool, rule, approval, outcome, details, .. } = row.clone();
    AuditRecord {
        seq: row.seq,
        at: row.at,
        kind,
        principal: known.map(|(name, _)| name.clone()),
        pseudonym: hex(&row.principal),
        credential,
        client,
        address,
        preset,
        tool,
        rule,
        approval,
        outcome,
        took_us: row.took_us,
        tokens_in: row.tokens_in,
        tokens_out: row.tokens_out,
        details,
    }
}

/// Returns the calls that quotas refused since a time in milliseconds since 1970.
pub(super) async fn quota_refusals(db: Session<'_>, since: i64) -> Result<Vec<QuotaRefusals>> {
    let sql = "SELECT e.seq, p.name, e.rule, coalesce(e.details, '')
         FROM audit_entry e JOIN audit_principal p ON p.pseudonym = e.principal
         WHERE e.at >= ?1 AND e.outcome = 'exhausted' AND e.rule IS NOT NULL AND e.seq > ?2
         ORDER BY e.seq LIMIT ?3";
    let entry = |row: &SqlRow<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?));
    let mut counts: BTreeMap<(String, String), u64> = BTreeMap::new();
    let mut after = 0;
    loop {
        let entries: Vec<(i64, String, String, String)> =
            db.rows(sql, values![since, after, MAX_READ], entry).await?;
        let Some((last, ..)) = entries.last() else { break };
        after = *last;
        for (_, principal, rule, details) in entries {
            // The rule of such an entry begins with `quota 'NAME'`. Names have no quotes.
            let quota = rule.strip_prefix("quota '").and_then(|rest| rest.split_once('\''));
            let Some((quota, _)) = quota else { continue };
            // Details begin with `(N refusals` if entries before it were left out.
            let left_out = details.strip_prefix('(').and_then(|rest| rest.split_once(' '));
            let left_out = left_out.and_then(|(number, _)| number.parse().ok()).unwrap_or(0);
            *counts.entry((principal, quota.to_owned())).or_default() += 1 + left_out;
        }
    }
    let refusals = counts.into_iter();
    Ok(refusals.map(|((principal, quota), calls)| QuotaRefusals { principal, quota, calls }).collect())
}

pub(super) async fn principals(db: Session<'_>) -> Result<Vec<KnownPrincipal>> {
    let sql = "SELECT name, pseudonym, first,
            (SELECT max(at) FROM audit_entry e WHERE e.principal = p.pseudonym),
            (SELECT count(*) FROM audit_entry e WHERE e.principal = p.pseudonym)
         FROM audit_principal p ORDER BY name";
    let principal = |row: &SqlRow<'_>| {
        Ok(KnownPrincipal {
            name: row.get(0)?,
            pseudonym: hex(row.get::<Vec<u8>>(1)?),
            first: row.get(2)?,
            last: row.get(3)?,
            entries: row.get::<i64>(4)?.unsigned_abs(),
        })
    };
    db.rows(sql, &[], principal).await
}
