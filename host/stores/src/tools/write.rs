//! Writes server listings.

use std::collections::{BTreeMap, HashSet};

use gatehouse_core::{
    ToolSpec,
    definition::{DefinitionKind, ReviewedDefinition},
    json,
    names::split_identifier,
    ports::{
        servers::RefreshReport,
        tool_index::{CATEGORIES, ChangePolicy, DeclaredEffect, IndexedListing},
    },
    search::for_each_term,
    source::{Listing, MAX_LISTING_BYTES, ServerList},
    tool_policy::{AcceptedPromise, ToolPromise},
};
use rusqlite::{Connection, Row, params};

use super::{
    key,
    read::parsed,
    review::{self, StoredServerState},
    schema::TOOLS,
};
use crate::sql::{
    Result, StoreError,
    sqlite::{CachedStatements as _, vectors},
};

const MAX_PROMISES: i64 = 4_096;

struct PreviousTool {
    digest: String,
    /// Length of its stored definition.
    bytes: usize,
    last_change: Option<i64>,
}

pub(super) fn put(db: &Connection, listed: &IndexedListing, now: i64, force: bool) -> Result<RefreshReport> {
    let server = &*listed.server;
    let mut before = previous_tools(db, server)?;
    let sql = "SELECT about, quarantine FROM server WHERE name = ?1";
    let state = |row: &Row<'_>| Ok(StoredServerState { about: row.get(0)?, quarantine: row.get(1)? });
    let server_state = db.first(sql, [server], state)?;
    let mut about = Listing { tools: Vec::new(), ..Listing::clone(&listed.listing) };
    if !about.incomplete.is_empty()
        && let Some(server_state) = &server_state
    {
        about.keep_earlier(parsed(&server_state.about)?);
    }
    let about = serde_json::to_string(&about).map_err(StoreError::invalid)?;
    let quarantine = listed.on_change == ChangePolicy::Quarantine;
    db.run(
        "INSERT INTO server (name, about, quarantine) VALUES (?1, ?2, ?3)
         ON CONFLICT (name) DO UPDATE SET about = excluded.about, quarantine = excluded.quarantine",
        params![server, about, quarantine],
    )?;
    let is_forgotten = review::prepare(db, listed, server_state.as_ref())?;
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
            db.run(sql, params![server, &*tool.name, place as i64])?;
            continue;
        }
        report.embeddings += 1;
        let last_change = old.and_then(|old| if same { old.last_change } else { Some(now) });
        let number = vectors::put_item(db, TOOLS, &key(server, &tool.name), &digest)?;
        let category = classify(&listed.tags, tool);
        let spec = serde_json::to_string(&**tool).map_err(StoreError::invalid)?;
        db.run(
            "INSERT OR REPLACE INTO tool (number, server, name, place, digest, category, last_change, spec)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            params![number, server, &*tool.name, place as i64, digest, category, last_change, spec],
        )?;
    }
    let mut remaining_bytes = kept_tools_limit(&listed.listing);
    for (name, old) in &before {
        if let Some(rest) = remaining_bytes.checked_sub(old.bytes) {
            remaining_bytes = rest;
            report.unchanged += 1;
            continue;
        }
        db.run("DELETE FROM item WHERE corpus = ?1 AND key = ?2", [TOOLS, &key(server, name)])?;
        report.removed += 1;
    }
    let listed_tools_changed =
        report.updated + report.removed > 0 || (server_state.is_some() && report.added > 0);
    if listed_tools_changed {
        db.run("UPDATE server SET last_change = ?2 WHERE name = ?1", params![server, now])?;
    }
    let is_as_it_was = server_state
        .is_some_and(|server_state| server_state.about == about && server_state.quarantine == quarantine);
    if listed_tools_changed || force || is_forgotten || !is_as_it_was || report.added > 0 {
        changed(db)?;
    }
    Ok(report)
}

pub(super) fn forget(db: &Connection, server: &str) -> Result<()> {
    db.run("DELETE FROM item WHERE number IN (SELECT number FROM tool WHERE server = ?1)", [server])?;
    db.run("DELETE FROM server WHERE name = ?1", [server])?;
    set_connection_start(db, server, None)?;
    changed(db)
}

/// Stores how a server was connected. No listing depends on it, so the generation stays.
pub(super) fn set_connection_start(db: &Connection, server: &str, start: Option<&str>) -> Result<()> {
    match start {
        Some(start) => {
            db.run("INSERT OR REPLACE INTO connection (server, start) VALUES (?1, ?2)", [server, start])?
        }
        None => db.run("DELETE FROM connection WHERE server = ?1", [server])?,
    };
    Ok(())
}

pub(super) fn approve(db: &Connection, server: &str, label: &str, digest: &str) -> Result<bool> {
    let mut waits = super::read::pending_changes(db)?.into_iter();
    let named = waits.find(|held| held.server == server && held.digest == digest && held.label() == label);
    let Some(held) = named else { return Ok(false) };
    if held.held_back {
        review::approve(db, &held)?;
    }
    if held.kind == DefinitionKind::Tool {
        let sql = "SELECT accepted ->> '$.declared_for' FROM promise WHERE server = ?1 AND name = ?2";
        let declared: Option<Option<String>> = db.first(sql, [server, &held.name], |row| row.get(0))?;
        // The review did not show what a person declared for this definition, so it stays.
        if declared.flatten().as_deref() != Some(digest) {
            let accepted = serde_json::to_string(&held.says).map_err(StoreError::invalid)?;
            db.run(SET_PROMISE, [server, &held.name, &accepted])?;
        }
    }
    changed(db)?;
    Ok(true)
}

const SET_PROMISE: &str = "INSERT OR REPLACE INTO promise (server, name, accepted) VALUES (?1, ?2, ?3)";

/// Takes back what a person declared for tools of a server. They promise nothing then, whatever the server says.
pub(super) fn drop_declared_effects(db: &Connection, server: &str) -> Result<()> {
    let none = serde_json::to_string(&ToolPromise::NONE).map_err(StoreError::invalid)?;
    let sql =
        "UPDATE promise SET accepted = ?2 WHERE server = ?1 AND accepted ->> '$.declared_for' IS NOT NULL";
    if db.run(sql, [server, &none])? > 0 {
        changed(db)?;
    }
    Ok(())
}

/// Returns false, without a change, if a tool no longer has the definition for which its effect is declared.
pub(super) fn declare_effects(db: &Connection, server: &str, declared: &[DeclaredEffect]) -> Result<bool> {
    let mut promises = Vec::new();
    for DeclaredEffect { tool, digest, effect } in declared {
        let sql = "SELECT spec FROM tool WHERE server = ?1 AND name = ?2 AND digest = ?3";
        let spec: Option<String> = db.find(sql, [server, tool, digest])?;
        let Some(spec) = spec else { return Ok(false) };
        let promise = AcceptedPromise::declare(*effect, &parsed(&spec)?, digest);
        promises.push((tool, serde_json::to_string(&promise).map_err(StoreError::invalid)?));
    }
    for (tool, promise) in promises {
        db.run(SET_PROMISE, [server, tool, &promise])?;
    }
    changed(db)?;
    Ok(true)
}

/// Accepts the promises of a tool when it is first seen. Beyond [`MAX_PROMISES`] tools per server, new ones promise
/// nothing, because deleting older promises would let a server change them.
fn accept_first(db: &Connection, server: &str, tool: &ToolSpec) -> Result<()> {
    let accepted = serde_json::to_string(&ToolPromise::from_spec(tool)).map_err(StoreError::invalid)?;
    let sql = "INSERT OR IGNORE INTO promise (server, name, accepted) SELECT ?1, ?2, ?3
               WHERE (SELECT count(*) FROM promise WHERE server = ?1) < ?4";
    db.run(sql, params![server, &*tool.name, accepted, MAX_PROMISES])?;
    Ok(())
}

pub(super) fn changed(db: &Connection) -> Result<()> {
    db.run("UPDATE listing_state SET generation = generation + 1", [])?;
    Ok(())
}

fn previous_tools(db: &Connection, server: &str) -> Result<BTreeMap<String, PreviousTool>> {
    let sql = "SELECT name, digest, octet_length(spec), last_change FROM tool WHERE server = ?1";
    db.all(sql, [server], |row| {
        let bytes = row.get::<_, u32>(2)? as usize;
        Ok((row.get(0)?, PreviousTool { digest: row.get(1)?, bytes, last_change: row.get(3)? }))
    })
}

/// Returns how many bytes of earlier tools stay in the index: none, unless this listing has only a part of the tools.
fn kept_tools_limit(listing: &Listing) -> usize {
    if !listing.incomplete.contains(&ServerList::Tools) {
        return 0;
    }
    let listed: usize = listing.tools.iter().map(|tool| json::encoded_len(&**tool)).sum();
    MAX_LISTING_BYTES.saturating_sub(listed)
}

/// Words of each category. The category with the most matching words wins.
const CATEGORY_WORDS: [(&str, &str); 8] = [
    ("files", "file files directory folder path disk filesystem copy move rename mkdir"),
    (
        "code",
        "git commit branch diff repository issue pull request merge lint build test function class compile",
    ),
    ("web", "web page url browser fetch http html crawl click navigate screenshot search site"),
    ("data", "database table sql query row column schema csv spreadsheet dataset record"),
    ("messages", "message email mail chat channel send slack thread reply notify sms"),
    ("documents", "document pdf markdown note notes wiki article docs paragraph text"),
    ("cloud", "cloud deploy cluster pod bucket instance container server region kubernetes lambda"),
    ("memory", "memory remember recall entity entities knowledge graph observation relation"),
];

/// Returns the category of a tool, from the tags of its server or from words in its name and description.
fn classify(tags: &[String], tool: &ToolSpec) -> &'static str {
    let tagged =
        CATEGORIES.into_iter().find(|category| tags.iter().any(|tag| tag.eq_ignore_ascii_case(category)));
    if let Some(category) = tagged {
        return category;
    }
    let mut terms = HashSet::new();
    let text = format!("{} {}", split_identifier(&tool.name), tool.description);
    for_each_term(&text, |term| {
        terms.insert(term.to_owned());
    });
    let score = |words: &str| {
        let mut score = 0;
        for_each_term(words, |word| score += usize::from(terms.contains(word)));
        score
    };
    let scored = CATEGORY_WORDS.iter().map(|(category, words)| (score(words), *category));
    // `rev` makes the first category win a tie, because file tools often mention text, too.
    let best = scored.rev().max_by_key(|(score, _)| *score);
    best.filter(|(score, _)| *score > 0).map_or("other", |(_, category)| category)
}
