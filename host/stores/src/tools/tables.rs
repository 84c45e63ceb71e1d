//! The tables of the tool catalog.

use std::sync::Arc;

use gatehouse_core::ports::{
    servers::RefreshReport,
    tool_index::{IndexedListing, PendingChange},
};
use serde::de::DeserializeOwned;

use super::{
    catalog::{Catalog, CatalogServer},
    key,
    record::{ServerRecord, checked_json},
    schema::TOOLS,
};
use crate::sql::{Result, Session, StoreError, value::storable, values, vectors};

/// Returns the catalog as it is stored. Reads the records that changed since `before` only, and returns `None` if nothing
/// did. `generation_of` returns the generation of the catalog by that of the tables.
pub(super) async fn catalog(
    db: Session<'_>,
    before: &Catalog,
    generation_of: impl Fn(i64) -> i64,
) -> Result<Option<Catalog>> {
    let (generation, is_lost) = state(db).await?;
    let generation = generation_of(generation);
    if generation == before.generation {
        return Ok(None);
    }
    // Tables that were restored or made again have other records under the same numbers.
    let none = Catalog::default();
    let before = if generation < before.generation { &none } else { before };
    let sql = "SELECT name, changed FROM tool_server WHERE record IS NOT NULL";
    let stored = db.rows(sql, &[], |row| Ok((row.get(0)?, generation_of(row.get(1)?)))).await?;
    let stored: Vec<(String, i64)> = stored;
    let mut catalog = Catalog { generation, ..Catalog::default() };
    let mut changed = Vec::new();
    for (name, at) in stored {
        match before.servers.get(&name).filter(|server| server.changed == at) {
            Some(server) => drop(catalog.servers.insert(name, server.clone())),
            None => changed.push((name, at)),
        }
    }
    for (name, at) in changed {
        // One at a time, because a record can have several MiB.
        let Some(record) = record(db, &name).await? else { continue };
        let known = db.blocking(move || parsed::<ServerRecord>(&record)?.known(is_lost)).await?;
        let keys: Vec<String> = known.tools.iter().map(|tool| item_key(&name, &tool.name)).collect();
        let numbers = vectors::numbers(db, TOOLS, &keys).await?;
        let numbers = keys.iter().map(|key| numbers.get(key).copied()).collect();
        let server = CatalogServer::new(&name, at, known, numbers);
        catalog.servers.insert(name, server);
    }
    Ok(Some(catalog))
}

/// Stores a listing. Writes only changes, unless `force` is set.
pub(super) async fn put(
    db: Session<'_>,
    listed: Arc<IndexedListing>,
    now: u64,
    force: bool,
) -> Result<RefreshReport> {
    let server = &*Arc::clone(&listed.server);
    let before = record(db, server).await?;
    let (_, is_lost) = state(db).await?;
    let decide = move || {
        let earlier = before.as_deref().map(parsed).transpose()?;
        let (after, changes) = ServerRecord::after(earlier, &listed, is_lost, now, force)?;
        let text = serde_json::to_string(&after).map_err(StoreError::invalid)?;
        if !force && before.as_ref() == Some(&text) {
            return Ok((None, changes));
        }
        Ok::<_, StoreError>((Some(checked_json(&after)?), changes))
    };
    let (text, changes) = db.blocking(decide).await?;
    if let Some(text) = text {
        let removed: Vec<_> = changes.removed.iter().map(|name| item_key(server, name)).collect();
        vectors::remove_items(db, TOOLS, &removed).await?;
        let embedded = changes.embedded.into_iter();
        let embedded: Vec<_> = embedded.map(|(name, digest)| (item_key(server, &name), digest)).collect();
        vectors::put_items(db, TOOLS, &embedded).await?;
        store(db, server, &text).await?;
    }
    Ok(changes.report)
}

/// Changes the record of a server. Returns false, without a change, if there is none or `decide` returns false.
pub(super) async fn change(
    db: Session<'_>,
    server: &str,
    decide: impl FnOnce(&mut ServerRecord) -> Result<bool>,
) -> Result<bool> {
    let Some(before) = record(db, server).await? else { return Ok(false) };
    let mut changed = parsed(&before)?;
    if !decide(&mut changed)? {
        return Ok(false);
    }
    let text = serde_json::to_string(&changed).map_err(StoreError::invalid)?;
    if text != before {
        store(db, server, &text).await?;
    }
    Ok(true)
}

pub(super) async fn pending_changes(db: Session<'_>) -> Result<Vec<PendingChange>> {
    let mut changes = Vec::new();
    let sql = "SELECT name, record FROM tool_server WHERE record IS NOT NULL";
    let records = db.rows(sql, &[], |row| Ok((row.get(0)?, parsed(&row.get::<String>(1)?)?))).await?;
    for (server, record) in Vec::<(String, ServerRecord)>::into_iter(records) {
        changes.extend(record.pending_changes(&server)?);
    }
    changes.sort_by(|a, b| (&a.server, a.kind, &a.name).cmp(&(&b.server, b.kind, &b.name)));
    Ok(changes)
}

/// Removes a server with all that is stored about it.
pub(super) async fn forget(db: Session<'_>, server: &str) -> Result<()> {
    // The character after the line feed of `key`.
    let (from, to) = (item_key(server, ""), format!("{server}\u{b}"));
    let items = "DELETE FROM item WHERE corpus = ?1 AND key >= ?2 AND key < ?3";
    db.run(items, values![TOOLS, from, to]).await?;
    db.run("DELETE FROM tool_server WHERE name = ?1", values![server]).await?;
    count_change(db).await.map(drop)
}

pub(super) async fn connection_start(db: Session<'_>, server: &str) -> Result<Option<String>> {
    let sql = "SELECT start FROM tool_server WHERE name = ?1";
    Ok(db.find::<Option<String>>(sql, values![server]).await?.flatten())
}

/// Stores how a server was connected. No listing depends on it, so the generation stays.
pub(super) async fn set_connection_start(db: Session<'_>, server: &str, start: Option<String>) -> Result<()> {
    let sql = "INSERT INTO tool_server (name, start, changed) VALUES (?1, ?2, 0)
        ON CONFLICT (name) DO UPDATE SET start = excluded.start";
    db.run(sql, values![server, start]).await.map(drop)
}

/// Increments and returns the generation.
pub(super) async fn count_change(db: Session<'_>) -> Result<i64> {
    db.value("UPDATE tool_state SET generation = generation + 1 RETURNING generation", &[]).await
}

/// Records that the database replaces one whose reviews are lost.
pub(super) async fn set_lost(db: Session<'_>) -> Result<()> {
    db.run("UPDATE tool_state SET lost = 1, generation = generation + 1", &[]).await.map(drop)
}

async fn state(db: Session<'_>) -> Result<(i64, bool)> {
    let sql = "SELECT generation, lost FROM tool_state";
    let state = db.first(sql, &[], |row| Ok((row.get(0)?, row.get::<i64>(1)? != 0))).await?;
    state.ok_or_else(|| StoreError::invalid("the state of the tool catalog is missing"))
}

async fn record(db: Session<'_>, server: &str) -> Result<Option<String>> {
    let sql = "SELECT record FROM tool_server WHERE name = ?1";
    Ok(db.find::<Option<String>>(sql, values![server]).await?.flatten())
}

async fn store(db: Session<'_>, server: &str, record: &str) -> Result<()> {
    let generation = count_change(db).await?;
    let sql = "INSERT INTO tool_server (name, changed, record) VALUES (?1, ?2, ?3)
        ON CONFLICT (name) DO UPDATE SET changed = excluded.changed, record = excluded.record";
    db.run(sql, values![server, generation, record]).await.map(drop)
}

fn item_key(server: &str, tool: &str) -> String {
    storable(&key(server, tool)).into_owned()
}

fn parsed<T: DeserializeOwned>(text: &str) -> Result<T> {
    serde_json::from_str(text).map_err(StoreError::invalid)
}
