//! Reviewed definitions of quarantined servers. They outlive a temporary absence from the listing, so a definition
//! cannot return changed.

use std::collections::HashMap;

use gatehouse_core::{
    definition::{DefinitionKind, ReviewedDefinition},
    ports::tool_index::{ChangePolicy, IndexedListing, PendingChange},
    source::Listing,
};
use rusqlite::{Connection, params};
use serde_json::Value;

use super::read::parsed;
use crate::sql::{Result, sqlite::CachedStatements as _};

/// SQL condition for a quarantined tool, given [`REVIEW_JOINS`].
pub(super) const IS_QUARANTINED: &str = "coalesce(reviewed.digest <> tool.digest, server.quarantine)";

pub(super) const REVIEW_JOINS: &str = "tool JOIN server ON server.name = tool.server
    LEFT JOIN reviewed ON reviewed.server = tool.server AND reviewed.kind = 'tool' AND reviewed.name = tool.name
    LEFT JOIN promise ON promise.server = tool.server AND promise.name = tool.name";

/// State of a server before a new listing.
pub(super) struct StoredServerState {
    pub(super) about: String,
    pub(super) quarantine: bool,
}

/// A quarantined definition that is not a tool.
pub(super) struct QuarantinedDefinition {
    definition: ReviewedDefinition,
    before: Option<String>,
}

impl QuarantinedDefinition {
    pub(super) fn change(self, server: &str) -> PendingChange {
        let ReviewedDefinition { kind, name, text, digest } = self.definition;
        PendingChange {
            server: server.to_owned(),
            kind,
            name,
            digest,
            before: self.before,
            now: text,
            held_back: true,
            counts_as: None,
            says: None,
            outdated_effect: None,
        }
    }
}

/// Records the definitions that count as reviewed before a new listing is stored. Returns true if it deleted reviews.
pub(super) fn prepare(
    db: &Connection,
    listed: &IndexedListing,
    before: Option<&StoredServerState>,
) -> Result<bool> {
    let server = &*listed.server;
    if listed.on_change == ChangePolicy::Warn {
        return Ok(db.run("DELETE FROM reviewed WHERE server = ?1", [server])? > 0);
    }
    let accepted = match before {
        Some(before) if before.quarantine => Vec::new(),
        // Changes were served until now, so the stored definitions are those last served.
        Some(before) => {
            let mut accepted = parsed::<Listing>(&before.about)?.non_tool_definitions();
            let sql = "SELECT spec FROM tool WHERE server = ?1";
            for spec in db.column::<String, Vec<_>>(sql, [server])? {
                accepted.push(ReviewedDefinition::from_tool(&parsed(&spec)?));
            }
            accepted
        }
        // The server may have been reviewed before the loss, so accepting its listing could hide a change.
        None if is_lost(db)? => Vec::new(),
        None => {
            let mut accepted = listed.listing.non_tool_definitions();
            accepted.extend(listed.listing.tools.iter().map(|tool| ReviewedDefinition::from_tool(tool)));
            accepted
        }
    };
    for definition in accepted {
        accept(db, "INSERT OR IGNORE", server, &definition)?;
    }
    Ok(false)
}

pub(super) fn approve(db: &Connection, held: &PendingChange) -> Result<()> {
    let PendingChange { kind, name, now, digest, .. } = held.clone();
    accept(db, "INSERT OR REPLACE", &held.server, &ReviewedDefinition { kind, name, text: now, digest })
}

fn accept(db: &Connection, insert: &str, server: &str, definition: &ReviewedDefinition) -> Result<()> {
    let ReviewedDefinition { kind, name, text, digest } = definition;
    let sql = format!(
        "{insert} INTO reviewed (server, kind, name, digest, definition) VALUES (?1, ?2, ?3, ?4, ?5)"
    );
    db.run(&sql, params![server, kind.as_str(), name, digest, text])?;
    Ok(())
}

/// Returns true if this database replaces an unreadable one, whose reviews are lost.
pub(super) fn is_lost(db: &Connection) -> Result<bool> {
    db.value("SELECT lost FROM listing_state", [])
}

pub(super) fn set_lost(db: &Connection) -> Result<()> {
    db.execute("UPDATE listing_state SET lost = 1, generation = generation + 1", [])?;
    Ok(())
}

/// Returns the quarantined definitions of a server that are not tools.
pub(super) fn quarantined_definitions(
    db: &Connection,
    server: &str,
    about: &Listing,
) -> Result<Vec<QuarantinedDefinition>> {
    let sql = "SELECT kind, name, digest, definition FROM reviewed WHERE server = ?1 AND kind <> 'tool'";
    let mut reviewed: HashMap<(String, String), (String, String)> =
        db.all(sql, [server], |row| Ok(((row.get(0)?, row.get(1)?), (row.get(2)?, row.get(3)?))))?;
    let held = about.non_tool_definitions().into_iter().filter_map(|definition| {
        let key = (definition.kind.as_str().to_owned(), definition.name.clone());
        let before = reviewed.remove(&key);
        let is_reviewed = before.as_ref().is_some_and(|(digest, _)| *digest == definition.digest);
        (!is_reviewed).then(|| QuarantinedDefinition { definition, before: before.map(|(_, text)| text) })
    });
    Ok(held.collect())
}

/// Removes quarantined definitions, and replaces quarantined instructions with the approved ones.
pub(super) fn remove_quarantined(listing: &mut Listing, held: &[QuarantinedDefinition]) {
    for QuarantinedDefinition { definition, before } in held {
        let name = &definition.name;
        match definition.kind {
            DefinitionKind::Tool => {}
            DefinitionKind::Prompt => listing.prompts.retain(|prompt| *prompt.name != **name),
            DefinitionKind::Template => {
                listing.templates.retain(|template| template.uri_template != *name);
            }
            DefinitionKind::Instructions => {
                let before: Option<Value> = before.as_ref().and_then(|text| serde_json::from_str(text).ok());
                let text = before.as_ref().and_then(|before| before["instructions"].as_str());
                listing.summary = text.unwrap_or_default().to_owned();
            }
        }
    }
}
