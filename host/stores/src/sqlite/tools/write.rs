//! Writes server listings.

use std::collections::HashMap;

use gatehouse_core::{
    ToolSpec,
    definition::{DefinitionKind, ReviewedDefinition},
    ports::{
        servers::RefreshReport,
        tool_index::{ChangePolicy, IndexedListing},
    },
    source::Listing,
    tool_policy::ToolPromise,
};
use rusqlite::{Connection, OptionalExtension as _, params};

use super::{
    TOOLS,
    review::{self, StoredServerState},
};
use crate::{
    sqlite::{error::StoreError, vectors},
    tools::{category, key},
};

const MAX_PROMISES: i64 = 4_096;

struct PreviousTool {
    digest: String,
    last_change: Option<i64>,
}

pub(super) fn put(
    db: &Connection,
    listed: &IndexedListing,
    now: i64,
    force: bool,
) -> Result<RefreshReport, StoreError> {
    let server = &*listed.server;
    let mut before = previous_tools(db, server)?;
    let about = Listing { tools: Vec::new(), ..Listing::clone(&listed.listing) };
    let about = serde_json::to_string(&about).map_err(encoding_error)?;
    let known = db
        .prepare_cached("SELECT about, quarantine FROM server WHERE name = ?1")?
        .query_row([server], |row| Ok(StoredServerState { about: row.get(0)?, quarantine: row.get(1)? }))
        .optional()?;
    let quarantine = listed.on_change == ChangePolicy::Quarantine;
    db.prepare_cached(
        "INSERT INTO server (name, about, quarantine) VALUES (?1, ?2, ?3)
         ON CONFLICT (name) DO UPDATE SET about = excluded.about, quarantine = excluded.quarantine",
    )?
    .execute(params![server, about, quarantine])?;
    let is_forgotten = review::prepare(db, listed, known.as_ref())?;
    let mut report = RefreshReport::default();
    for (place, tool) in listed.listing.tools.iter().enumerate() {
        accept_first(db, server, tool)?;
        let digest = ReviewedDefinition::from_tool(tool).digest;
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
        let last_change = old.and_then(|old| if same { old.last_change } else { Some(now) });
        let number = vectors::put_item(db, TOOLS, &key(server, &tool.name), &digest)?;
        let category = category::classify(&listed.tags, tool);
        let spec = serde_json::to_string(&**tool).map_err(encoding_error)?;
        db.prepare_cached(
            "INSERT OR REPLACE INTO tool (number, server, name, place, digest, category, last_change, spec)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        )?
        .execute(params![
            number,
            server,
            &*tool.name,
            place as i64,
            digest,
            category,
            last_change,
            spec
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
    let is_as_it_was = known.is_some_and(|known| known.about == about && known.quarantine == quarantine);
    if others || force || is_forgotten || !is_as_it_was || report.added > 0 {
        changed(db)?;
    }
    Ok(report)
}

pub(super) fn forget(db: &Connection, server: &str) -> Result<(), StoreError> {
    let sql = "DELETE FROM item WHERE number IN (SELECT number FROM tool WHERE server = ?1)";
    db.prepare_cached(sql)?.execute([server])?;
    db.prepare_cached("DELETE FROM server WHERE name = ?1")?.execute([server])?;
    changed(db)
}

pub(super) fn approve(db: &Connection, server: &str, label: &str, digest: &str) -> Result<bool, StoreError> {
    let mut waits = super::read::pending_changes(db)?.into_iter();
    let named = waits.find(|held| held.server == server && held.digest == digest && held.label() == label);
    let Some(held) = named else { return Ok(false) };
    if held.held_back {
        review::approve(db, &held)?;
    }
    if held.kind == DefinitionKind::Tool {
        let accepted = serde_json::to_string(&held.says).map_err(encoding_error)?;
        db.prepare_cached("INSERT OR REPLACE INTO promise (server, name, accepted) VALUES (?1, ?2, ?3)")?
            .execute([server, &held.name, &accepted])?;
    }
    changed(db)?;
    Ok(true)
}

/// Accepts the promises of a tool when it is first seen. Beyond [`MAX_PROMISES`] tools per server, new ones promise
/// nothing, because deleting older promises would let a server change them.
fn accept_first(db: &Connection, server: &str, tool: &ToolSpec) -> Result<(), StoreError> {
    let accepted = serde_json::to_string(&ToolPromise::from_spec(tool)).map_err(encoding_error)?;
    let sql = "INSERT OR IGNORE INTO promise (server, name, accepted) SELECT ?1, ?2, ?3
               WHERE (SELECT count(*) FROM promise WHERE server = ?1) < ?4";
    db.prepare_cached(sql)?.execute(params![server, &*tool.name, accepted, MAX_PROMISES])?;
    Ok(())
}

pub(super) fn changed(db: &Connection) -> Result<(), StoreError> {
    db.prepare_cached("UPDATE listing_state SET generation = generation + 1")?.execute([])?;
    Ok(())
}

fn previous_tools(db: &Connection, server: &str) -> Result<HashMap<String, PreviousTool>, StoreError> {
    let mut statement = db.prepare_cached("SELECT name, digest, last_change FROM tool WHERE server = ?1")?;
    let rows = statement.query_map([server], |row| {
        Ok((row.get(0)?, PreviousTool { digest: row.get(1)?, last_change: row.get(2)? }))
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn encoding_error(error: serde_json::Error) -> StoreError {
    StoreError::InvalidValue(error.to_string())
}
