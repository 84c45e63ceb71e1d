//! Writing what servers list.

use std::collections::HashMap;

use gatehouse_core::{
    ToolSpec,
    hash::sha256_hex,
    ports::{
        servers::RefreshReport,
        tool_index::{HeldTool, IndexedListing, OnChange},
    },
    source::Listing,
    tool_policy::Promise,
};
use rusqlite::{Connection, OptionalExtension as _, params};
use serde_json::{Value, json};

use super::TOOLS;
use crate::{
    sqlite::{error::StoreError, vectors},
    tools::{category, key},
};

/// Maximum tools of one server whose promises are stored.
const MAX_PROMISES: i64 = 4_096;

/// A tool as it was.
struct Old {
    digest: String,
    last_change: Option<i64>,
    approved: Option<String>,
    spec: String,
}

pub(super) fn put(
    db: &Connection,
    listed: &IndexedListing,
    now: i64,
    force: bool,
) -> Result<RefreshReport, StoreError> {
    let server = &*listed.server;
    let mut before = old(db, server)?;
    let about = Listing { tools: Vec::new(), ..Listing::clone(&listed.listing) };
    let about = serde_json::to_string(&about).map_err(damaged)?;
    let known: Option<String> = db
        .prepare_cached("SELECT about FROM server WHERE name = ?1")?
        .query_row([server], |row| row.get(0))
        .optional()?;
    db.prepare_cached("INSERT INTO server (name, about) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET about = excluded.about")?
        .execute([server, &about])?;
    let mut report = RefreshReport::default();
    for (place, tool) in listed.listing.tools.iter().enumerate() {
        accept_first(db, server, tool)?;
        let canonical = canonical(tool);
        let digest = sha256_hex(&canonical);
        let old = before.remove(&*tool.name);
        let same = old.as_ref().is_some_and(|old| old.digest == digest);
        match &old {
            None => report.added += 1,
            Some(_) if same => report.unchanged += 1,
            Some(_) => report.updated += 1,
        }
        if same && !force {
            let sql = "UPDATE tool SET place = ?3 WHERE server = ?1 AND name = ?2 AND place <> ?3";
            db.prepare_cached(sql)?.execute(params![server, &*tool.name, place as i64])?;
            continue;
        }
        report.embeddings += 1;
        let (last_change, approved) = match old {
            None => (None, None),
            Some(old) if same => (old.last_change, old.approved),
            Some(old) => (Some(now), approved(old, &canonical, listed.on_change)?),
        };
        let number = vectors::put_item(db, TOOLS, &key(server, &tool.name), &digest)?;
        let category = category::of(&listed.tags, tool);
        let spec = serde_json::to_string(&**tool).map_err(damaged)?;
        db.prepare_cached(
            "INSERT OR REPLACE INTO tool (number, server, name, place, digest, category, last_change, approved, spec)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        )?
        .execute(params![
            number, server, &*tool.name, place as i64, digest, category, last_change, approved, spec
        ])?;
    }
    for name in before.keys() {
        db.prepare_cached("DELETE FROM item WHERE corpus = ?1 AND key = ?2")?
            .execute([TOOLS, &key(server, name)])?;
        report.removed += 1;
    }
    let others = report.updated + report.removed > 0 || (known.is_some() && report.added > 0);
    if others {
        db.prepare_cached("UPDATE server SET last_change = ?2 WHERE name = ?1")?
            .execute(params![server, now])?;
    }
    if others || force || known.is_none_or(|known| known != about) || report.added > 0 {
        changed(db)?;
    }
    Ok(report)
}

/// The definition that stays approved while the new one waits; none where nothing waits.
fn approved(old: Old, canonical: &str, on_change: OnChange) -> Result<Option<String>, StoreError> {
    if on_change == OnChange::Warn {
        return Ok(None);
    }
    let before = match old.approved {
        Some(approved) => approved,
        None => self::canonical(&serde_json::from_str::<ToolSpec>(&old.spec).map_err(damaged)?),
    };
    // Changed back: there is nothing to look at.
    Ok(Some(before).filter(|before| before != canonical))
}

pub(super) fn forget(db: &Connection, server: &str) -> Result<(), StoreError> {
    let sql = "DELETE FROM item WHERE number IN (SELECT number FROM tool WHERE server = ?1)";
    db.prepare_cached(sql)?.execute([server])?;
    db.prepare_cached("DELETE FROM server WHERE name = ?1")?.execute([server])?;
    changed(db)
}

pub(super) fn approve(db: &Connection, server: &str, tool: &str, digest: &str) -> Result<bool, StoreError> {
    let waits = super::read::held(db)?;
    let named = |held: &&HeldTool| held.server == server && held.tool == tool && held.digest == digest;
    let Some(held) = waits.iter().find(named) else { return Ok(false) };
    db.prepare_cached("UPDATE tool SET approved = NULL WHERE server = ?1 AND name = ?2")?
        .execute([server, tool])?;
    let accepted = serde_json::to_string(&held.says).map_err(damaged)?;
    db.prepare_cached("INSERT OR REPLACE INTO promise (server, name, accepted) VALUES (?1, ?2, ?3)")?
        .execute([server, tool, &accepted])?;
    changed(db)?;
    Ok(true)
}

/// Accepts what a tool promises when it is first seen. Of a server that names more tools than anyone could review, further
/// ones promise nothing: to forget older promises would let it take them back.
fn accept_first(db: &Connection, server: &str, tool: &ToolSpec) -> Result<(), StoreError> {
    let accepted = serde_json::to_string(&Promise::of(tool)).map_err(damaged)?;
    let sql = "INSERT OR IGNORE INTO promise (server, name, accepted) SELECT ?1, ?2, ?3
               WHERE (SELECT count(*) FROM promise WHERE server = ?1) < ?4";
    db.prepare_cached(sql)?.execute(params![server, &*tool.name, accepted, MAX_PROMISES])?;
    Ok(())
}

fn changed(db: &Connection) -> Result<(), StoreError> {
    db.prepare_cached("UPDATE listing_state SET generation = generation + 1")?.execute([])?;
    Ok(())
}

fn old(db: &Connection, server: &str) -> Result<HashMap<String, Old>, StoreError> {
    let mut statement =
        db.prepare_cached("SELECT name, digest, last_change, approved, spec FROM tool WHERE server = ?1")?;
    let rows = statement.query_map([server], |row| {
        let old =
            Old { digest: row.get(1)?, last_change: row.get(2)?, approved: row.get(3)?, spec: row.get(4)? };
        Ok((row.get(0)?, old))
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// What a tool is known by: what clients are told of it, with the keys of objects in order. What it promises not to do is a part
/// of that: presets and people rely on it.
pub(super) fn canonical(tool: &ToolSpec) -> String {
    let output = tool.output_schema.as_deref().cloned().map(Value::Object);
    let hints = tool.annotations();
    let mut definition = json!({
        "name": &*tool.name, "description": tool.description, "inputSchema": *tool.input_schema, "outputSchema": output,
        "annotations": {"readOnlyHint": hints.read_only, "destructiveHint": hints.destructive,
            "idempotentHint": hints.idempotent, "openWorldHint": hints.open_world},
    });
    definition.sort_all_objects();
    definition.to_string()
}

fn damaged(error: serde_json::Error) -> StoreError {
    StoreError::Damaged(error.to_string())
}
