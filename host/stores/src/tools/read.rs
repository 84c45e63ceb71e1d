//! Reads server listings.

use std::{
    collections::HashMap,
    sync::{Arc, LazyLock, Mutex, Weak},
};

use gatehouse_core::{
    SourceId, ToolSpec,
    definition::{DefinitionKind, ReviewedDefinition},
    hash::sha256_hex,
    lock,
    ports::tool_index::{CATEGORIES, KnownListing, KnownTool, PendingChange},
    source::Listing,
    tool_policy::{AcceptedPromise, ToolPromise},
};
use rusqlite::{Connection, Row};
use serde::de::DeserializeOwned;

use super::{
    catalog::{StoredServer, StoredTool},
    review::{self, IS_QUARANTINED, REVIEW_JOINS},
    schema::TOOLS,
};
use crate::sql::{Result, StoreError, sqlite::CachedStatements as _};

pub(super) fn generation(db: &Connection) -> Result<i64> {
    db.value("SELECT generation FROM listing_state", [])
}

pub(super) fn count(db: &Connection) -> Result<usize> {
    Ok(db.value::<i64>("SELECT count(*) FROM tool", [])? as usize)
}

pub(super) fn connection_start(db: &Connection, server: &str) -> Result<Option<String>> {
    db.first("SELECT start FROM connection WHERE server = ?1", [server], |row| row.get(0))
}

pub(super) fn known_listing(db: &Connection, server: &str) -> Result<Option<KnownListing>> {
    let sql = "SELECT about, last_change, quarantine FROM server WHERE name = ?1";
    let server_row: Option<(String, Option<i64>, bool)> = db.first(sql, [server], |row| row.try_into())?;
    let Some((about, last_change, quarantine)) = server_row else { return Ok(None) };
    let mut listing: Listing = parsed(&about)?;
    let mut held_back = 0;
    if quarantine {
        let held = review::quarantined_definitions(db, server, &listing)?;
        review::remove_quarantined(&mut listing, &held);
        held_back = held.len();
    }
    let is_lost = review::is_lost(db)?;
    let mut tools = Vec::new();
    let mut statement = db.prepare_cached(&format!(
        "SELECT spec, tool.digest, category, tool.last_change, {IS_QUARANTINED}, reviewed.digest IS NULL, accepted FROM {REVIEW_JOINS}
         WHERE tool.server = ?1 ORDER BY place"
    ))?;
    let mut rows = statement.query([server])?;
    while let Some(row) = rows.next()? {
        let digest: String = row.get(1)?;
        let accepted: Option<String> = row.get(6)?;
        let is_declared = is_declared(accepted.as_deref(), &digest)?;
        let spec = accepted_spec(&row.get::<_, String>(0)?, accepted, &digest)?;
        let category: String = row.get(2)?;
        let (held, is_new): (bool, bool) = (row.get(4)?, row.get(5)?);
        let reason = match (is_new, is_lost) {
            (false, _) => "its definition differs from the approved one",
            (true, false) => "it was not in the server's first listing and has not been approved",
            (true, true) => "the record of approvals is lost, and it has not been approved since",
        };
        held_back += usize::from(held);
        tools.push(KnownTool {
            name: Arc::clone(&spec.name),
            digest,
            category: CATEGORIES.into_iter().find(|name| *name == category).unwrap_or("other"),
            last_change: time(row, 3)?,
            quarantine_reason: held.then(|| reason.to_owned()),
            is_declared,
        });
        listing.tools.push(spec);
    }
    let last_change = last_change.and_then(|time| u64::try_from(time).ok());
    Ok(Some(KnownListing {
        listing: Arc::new(listing),
        last_change,
        tools: Arc::new(tools),
        quarantined: held_back,
    }))
}

pub(super) fn pending_changes(db: &Connection) -> Result<Vec<PendingChange>> {
    let mut changes = quarantined_tools(db)?;
    let sql = "SELECT name, about FROM server WHERE quarantine";
    for (server, about) in db.all::<(String, String), Vec<_>>(sql, [], |row| row.try_into())? {
        let held = review::quarantined_definitions(db, &server, &parsed(&about)?)?;
        changes.extend(held.into_iter().map(|held| held.change(&server)));
    }
    changes.sort_by(|a, b| (&a.server, a.kind, &a.name).cmp(&(&b.server, b.kind, &b.name)));
    Ok(changes)
}

fn quarantined_tools(db: &Connection) -> Result<Vec<PendingChange>> {
    let mut statement = db.prepare_cached(&format!(
        "SELECT tool.server, tool.name, tool.digest, reviewed.definition, spec, accepted, {IS_QUARANTINED} FROM {REVIEW_JOINS}"
    ))?;
    let mut rows = statement.query([])?;
    let mut changes = Vec::new();
    while let Some(row) = rows.next()? {
        let text: String = row.get(4)?;
        let spec: ToolSpec = parsed(&text)?;
        let (digest, promise): (String, Option<String>) = (row.get(2)?, row.get(5)?);
        let declared: Option<AcceptedPromise> = promise.as_deref().map(parsed).transpose()?;
        let outdated_effect = declared.as_ref().and_then(|declared| declared.outdated_effect(&digest));
        let is_declared = is_declared(promise.as_deref(), &digest)?;
        let accepted = accepted_spec(&text, promise, &digest)?;
        let (counts_as, says) = (ToolPromise::from_spec(&accepted), ToolPromise::from_spec(&spec));
        let held_back: bool = row.get(6)?;
        if !held_back && (is_declared || counts_as == says && outdated_effect.is_none()) {
            continue;
        }
        let before: Option<String> = row.get(3)?;
        let before = if held_back { before } else { Some(ReviewedDefinition::from_tool(&accepted).text) };
        changes.push(PendingChange {
            server: row.get(0)?,
            kind: DefinitionKind::Tool,
            name: row.get(1)?,
            digest,
            before,
            now: ReviewedDefinition::from_tool(&spec).text,
            held_back,
            counts_as: (counts_as != says && !is_declared).then_some(counts_as),
            says: Some(says),
            outdated_effect,
        });
    }
    Ok(changes)
}

/// Definitions in use, by a digest of their texts. Listings and the search index share them, because a schema takes many
/// times its text in memory.
static SPECS_IN_USE: LazyLock<Mutex<HashMap<String, Weak<ToolSpec>>>> = LazyLock::new(Mutex::default);

/// Whether a person declared the effect of the definition with this digest.
fn is_declared(accepted: Option<&str>, digest: &str) -> Result<bool> {
    let accepted: Option<AcceptedPromise> = accepted.map(parsed).transpose()?;
    Ok(accepted.is_some_and(|accepted| accepted.declared_for.as_deref() == Some(digest)))
}

/// Returns a tool whose promises are limited to the accepted ones. `digest` is that of its definition.
fn accepted_spec(spec: &str, accepted: Option<String>, digest: &str) -> Result<Arc<ToolSpec>> {
    let key = sha256_hex(format!("{}\0{spec}", accepted.as_deref().unwrap_or_default()));
    if let Some(known) = lock(&SPECS_IN_USE).get(&key).and_then(Weak::upgrade) {
        return Ok(known);
    }
    let mut spec: ToolSpec = parsed(spec)?;
    match accepted {
        Some(accepted) => parsed::<AcceptedPromise>(&accepted)?.apply(&mut spec, digest),
        None => ToolPromise::NONE.enforce(&mut spec),
    }
    let spec = Arc::new(spec);
    let mut specs = lock(&SPECS_IN_USE);
    if specs.len() == specs.capacity() {
        specs.retain(|_, spec| spec.strong_count() > 0);
    }
    specs.insert(key, Arc::downgrade(&spec));
    Ok(spec)
}

pub(super) fn all(db: &Connection) -> Result<Vec<StoredServer>> {
    let mut statement = db.prepare_cached(&format!(
        "SELECT tool.server, number, spec, {IS_QUARANTINED}, accepted, tool.digest FROM {REVIEW_JOINS} ORDER BY tool.server, place"
    ))?;
    let mut rows = statement.query([])?;
    let mut servers: Vec<StoredServer> = Vec::new();
    while let Some(row) = rows.next()? {
        let server: String = row.get(0)?;
        let spec = accepted_spec(&row.get::<_, String>(2)?, row.get(4)?, &row.get::<_, String>(5)?)?;
        let tool = StoredTool { number: row.get(1)?, spec, quarantined: row.get(3)? };
        match servers.last_mut().filter(|last| **last.server.name() == *server) {
            Some(last) => last.tools.push(tool),
            None => servers.push(StoredServer { server: SourceId::Server(server.into()), tools: vec![tool] }),
        }
    }
    Ok(servers)
}

pub(super) fn spec(db: &Connection, key: &str) -> Result<Option<ToolSpec>> {
    let sql = "SELECT spec FROM tool JOIN item ON item.number = tool.number WHERE item.corpus = ?1 AND item.key = ?2";
    let spec_text: Option<String> = db.find(sql, [TOOLS, key])?;
    spec_text.map(|text| parsed(&text)).transpose()
}

fn time(row: &Row<'_>, column: usize) -> Result<Option<u64>> {
    Ok(row.get::<_, Option<i64>>(column)?.and_then(|time| u64::try_from(time).ok()))
}

pub(super) fn parsed<T: DeserializeOwned>(text: &str) -> Result<T> {
    serde_json::from_str(text).map_err(StoreError::invalid)
}
