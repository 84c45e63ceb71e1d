//! Reading what servers listed.

use std::sync::Arc;

use gatehouse_core::{
    SourceId, ToolSpec,
    ports::tool_index::{CATEGORIES, HeldTool, KnownListing, KnownTool},
    source::Listing,
    tool_policy::Promise,
};
use rusqlite::{Connection, OptionalExtension as _, Row};
use serde::de::DeserializeOwned;

use super::{StoredServer, StoredTool, TOOLS};
use crate::sqlite::error::StoreError;

pub(super) fn generation(db: &Connection) -> Result<i64, StoreError> {
    Ok(db.prepare_cached("SELECT generation FROM listing_state")?.query_row([], |row| row.get(0))?)
}

pub(super) fn count(db: &Connection) -> Result<usize, StoreError> {
    let count: i64 = db.prepare_cached("SELECT count(*) FROM tool")?.query_row([], |row| row.get(0))?;
    Ok(count as usize)
}

pub(super) fn known(db: &Connection, server: &str) -> Result<Option<KnownListing>, StoreError> {
    let mut statement = db.prepare_cached("SELECT about, last_change FROM server WHERE name = ?1")?;
    let found: Option<(String, Option<i64>)> =
        statement.query_row([server], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
    let Some((about, last_change)) = found else { return Ok(None) };
    let mut listing: Listing = parsed(&about)?;
    let mut tools = Vec::new();
    let mut statement = db.prepare_cached(
        "SELECT spec, digest, category, last_change, approved IS NOT NULL, accepted
         FROM tool LEFT JOIN promise USING (server, name) WHERE server = ?1 ORDER BY place",
    )?;
    let mut rows = statement.query([server])?;
    while let Some(row) = rows.next()? {
        let spec = as_accepted(row.get(0)?, row.get(5)?)?;
        let category: String = row.get(2)?;
        let held: bool = row.get(4)?;
        tools.push(KnownTool {
            name: Arc::clone(&spec.name),
            digest: row.get(1)?,
            category: CATEGORIES.into_iter().find(|known| *known == category).unwrap_or("other"),
            last_change: time(row, 3)?,
            held: held.then(|| "its definition is not the one that was approved".to_owned()),
        });
        listing.tools.push(spec);
    }
    let last_change = last_change.and_then(|time| u64::try_from(time).ok());
    Ok(Some(KnownListing { listing: Arc::new(listing), last_change, tools: Arc::new(tools) }))
}

pub(super) fn held(db: &Connection) -> Result<Vec<HeldTool>, StoreError> {
    let mut statement = db.prepare_cached(
        "SELECT server, name, digest, approved, spec, accepted FROM tool LEFT JOIN promise USING (server, name)
         ORDER BY server, name",
    )?;
    let mut rows = statement.query([])?;
    let mut all = Vec::new();
    while let Some(row) = rows.next()? {
        let text: String = row.get(4)?;
        let spec: ToolSpec = parsed(&text)?;
        let accepted = as_accepted(text, row.get(5)?)?;
        let (counts_as, says) = (Promise::of(&accepted), Promise::of(&spec));
        let approved: Option<String> = row.get(3)?;
        if approved.is_none() && counts_as == says {
            continue;
        }
        all.push(HeldTool {
            server: row.get(0)?,
            tool: row.get(1)?,
            digest: row.get(2)?,
            held_back: approved.is_some(),
            before: approved.unwrap_or_else(|| super::write::canonical(&accepted)),
            now: super::write::canonical(&spec),
            counts_as: (counts_as != says).then_some(counts_as),
            says,
        });
    }
    Ok(all)
}

/// A tool that promises no more than was accepted.
fn as_accepted(spec: String, accepted: Option<String>) -> Result<Arc<ToolSpec>, StoreError> {
    let mut spec: ToolSpec = parsed(&spec)?;
    accepted.map(|text| parsed(&text)).transpose()?.unwrap_or(Promise::NOTHING).hold(&mut spec);
    Ok(Arc::new(spec))
}

pub(super) fn all(db: &Connection) -> Result<Vec<StoredServer>, StoreError> {
    let mut statement = db.prepare_cached(
        "SELECT server, number, spec, approved IS NOT NULL, accepted FROM tool LEFT JOIN promise USING (server, name)
         ORDER BY server, place",
    )?;
    let mut rows = statement.query([])?;
    let mut all: Vec<StoredServer> = Vec::new();
    while let Some(row) = rows.next()? {
        let server: String = row.get(0)?;
        let spec = as_accepted(row.get(2)?, row.get(4)?)?;
        let tool = StoredTool { number: row.get(1)?, spec, held: row.get(3)? };
        match all.last_mut().filter(|last| **last.server.name() == *server) {
            Some(last) => last.tools.push(tool),
            None => all.push(StoredServer { server: SourceId::Server(server.into()), tools: vec![tool] }),
        }
    }
    Ok(all)
}

pub(super) fn spec(db: &Connection, key: &str) -> Result<Option<ToolSpec>, StoreError> {
    let mut statement = db.prepare_cached(
        "SELECT spec FROM tool JOIN item ON item.number = tool.number WHERE item.corpus = ?1 AND item.key = ?2",
    )?;
    let found: Option<String> = statement.query_row([TOOLS, key], |row| row.get(0)).optional()?;
    found.map(|text| parsed(&text)).transpose()
}

fn time(row: &Row<'_>, column: usize) -> Result<Option<u64>, StoreError> {
    Ok(row.get::<_, Option<i64>>(column)?.and_then(|time| u64::try_from(time).ok()))
}

fn parsed<T: DeserializeOwned>(text: &str) -> Result<T, StoreError> {
    serde_json::from_str(text).map_err(|error| StoreError::Damaged(error.to_string()))
}
