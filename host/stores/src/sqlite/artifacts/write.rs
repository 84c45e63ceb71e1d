//! Writes artifacts and their word indexes. Every function here runs inside a transaction of the caller.
//!
//! Each owner has two index tables, so that word frequencies do not reveal other owners' artifacts, and a search does
//! not depend on how many others have.

use gatehouse_core::{ports::artifacts::Artifact, search::script};
use rusqlite::{Connection, Transaction, params};

use super::read;
use crate::{
    artifacts::{
        ArtifactLimits,
        engine::{ARTIFACTS, NewArtifact, OwnerScope, PackedText, RowEdit, item_key, largest_other},
        row::{ArtifactRow, StoredArtifact},
    },
    sqlite::{
        error::{Result, StoreError},
        migrations::with_variants,
        statements::CachedStatements as _,
        words::WordIndex,
    },
};

/// Artifacts per sweep. Limited because other writers wait for it.
const MAX_SWEPT: i64 = 500;

const WEIGHTS: &str = "3.0, 1.0";

pub(super) fn index(owner: i64) -> WordIndex {
    WordIndex::numbered(owner, WEIGHTS)
}

/// Stores a text. If the limit is exceeded, deletes expired artifacts first.
pub(super) fn put(db: &Connection, new: NewArtifact, limits: &ArtifactLimits) -> Result<Artifact> {
    let NewArtifact { scope, text, row, owner_limit } = new;
    let owner = put_owner(db, &scope.owner)?;
    let number = put_text(db, &text)?;
    let mut stored = read::one(db, "a.owner = ?1 AND a.text = ?2", [owner, number])?;
    if let Some(over) = stored.take_if(|stored| stored.is_expired(scope.now)) {
        // Keeps the text for the new artifact.
        remove(db, &over)?;
    }
    let artifact = match stored {
        Some(mut stored) => {
            stored.row.renew(&row)?;
            store(db, stored.number, owner, &stored.row)?;
            stored.number
        }
        None => insert(db, owner, number, &text.digest, row, scope.now)?,
    };
    let stored_artifact = read::by_number(db, artifact)?
        .ok_or_else(|| StoreError::InvalidValue("artifact row is missing".into()))?;
    if owner_limit.is_some() {
        read::live_holding(db, &scope)?.check(owner_limit)?;
    }
    if limits.check(read::bytes(db)?).is_err() {
        while sweep(db, scope.now)? > 0 {}
        make_room(db, owner, limits)?;
    }
    Ok(stored_artifact.artifact())
}

/// Deletes artifacts of owners that hold more than this one, until the store fits. Those that expire first go first.
fn make_room(db: &Connection, owner: i64, limits: &ArtifactLimits) -> Result<()> {
    let Err(mut full) = limits.check(read::bytes(db)?) else { return Ok(()) };
    let mut holdings = read::holdings(db)?;
    let mut evicted = 0;
    while let Some(largest) = largest_other(&holdings, owner) {
        let first =
            "SELECT number FROM artifact WHERE owner = ?1 ORDER BY expires IS NULL, expires, number LIMIT 1";
        let stored_artifact =
            db.find(first, [largest])?.map(|number| read::by_number(db, number)).transpose()?.flatten();
        let Some(stored_artifact) = stored_artifact else { break };
        remove_with_text(db, &stored_artifact)?;
        evicted += 1;
        holdings
            .iter_mut()
            .filter(|(key, _)| *key == largest)
            .for_each(|(_, held)| held.remove(stored_artifact.size));
        match limits.check(read::bytes(db)?) {
            Ok(()) => {
                tracing::info!(
                    evicted,
                    "deleted artifacts of the caller that holds the most, to make room for others"
                );
                return Ok(());
            }
            Err(still) => full = still,
        }
    }
    Err(full.into())
}

/// Deletes all artifacts of an owner and its indexes. Returns the number of artifacts.
pub(super) fn erase(db: &Connection, name: &str) -> Result<u64> {
    let Some(owner) = read::owner(db, name)? else { return Ok(0) };
    let numbers: Vec<i64> = db.column("SELECT number FROM artifact WHERE owner = ?1", [owner])?;
    for number in &numbers {
        if let Some(stored_artifact) = read::by_number(db, *number)? {
            remove_with_text(db, &stored_artifact)?;
        }
    }
    index(owner).drop_tables(db)?;
    db.run("DELETE FROM owner WHERE number = ?1", [owner])?;
    Ok(numbers.len() as u64)
}

pub(super) fn change(
    db: &Connection,
    scope: &OwnerScope,
    id: &str,
    edit: RowEdit,
) -> Result<Option<Artifact>> {
    let Some(mut found) = read::find_live(db, scope, id)? else { return Ok(None) };
    edit(&mut found.row)?;
    store(db, found.number, found.owner, &found.row)?;
    Ok(Some(found.artifact()))
}

pub(super) fn delete(db: &Connection, scope: &OwnerScope, id: &str) -> Result<bool> {
    let Some(found) = read::find_live(db, scope, id)? else { return Ok(false) };
    remove_with_text(db, &found)?;
    Ok(true)
}

/// Deletes some expired artifacts and returns their number.
pub(super) fn sweep(db: &Connection, now: i64) -> Result<u64> {
    let over = "SELECT number FROM artifact WHERE expires IS NOT NULL AND expires <= ?1 LIMIT ?2";
    let over: Vec<i64> = db.column(over, [now, MAX_SWEPT])?;
    for number in &over {
        let Some(found) = read::by_number(db, *number)? else { continue };
        remove_with_text(db, &found)?;
        let unused =
            "DELETE FROM owner WHERE number = ?1 AND NOT EXISTS (SELECT 1 FROM artifact WHERE owner = ?1)";
        if db.run(unused, [found.owner])? > 0 {
            index(found.owner).drop_tables(db)?;
        }
    }
    Ok(over.len() as u64)
}

/// Merges the indexes, which removes the words of deleted rows. FTS5 only marks them until then.
pub(super) fn optimize(db: &Transaction<'_>) -> Result<()> {
    for owner in db.column::<_, Vec<i64>>("SELECT number FROM owner", [])? {
        let WordIndex { words, pieces, .. } = index(owner);
        for index in [words, pieces] {
            db.execute(&format!("INSERT INTO {index} ({index}) VALUES ('optimize')"), [])?;
        }
    }
    Ok(())
}

/// Returns the number of an owner. Creates a new owner with its indexes.
fn put_owner(db: &Connection, name: &str) -> Result<i64> {
    if let Some(owner) = read::owner(db, name)? {
        return Ok(owner);
    }
    db.run("INSERT INTO owner (name) VALUES (?1)", [name])?;
    let owner = db.last_insert_rowid();
    index(owner).create(db, "heading, summary")?;
    Ok(owner)
}

fn put_text(db: &Connection, text: &PackedText) -> Result<i64> {
    if let Some(number) = db.find("SELECT number FROM text WHERE digest = ?1", [&text.digest])? {
        return Ok(number);
    }
    let insert = "INSERT INTO text (digest, size, lines, characters) VALUES (?1, ?2, ?3, ?4)";
    db.run(insert, params![text.digest, text.size, text.lines, text.characters])?;
    let number = db.last_insert_rowid();
    let insert =
        "INSERT INTO text_block (text, position, characters_before, feeds_before, size, digest, packed)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
    for (position, block) in (0_i64..).zip(&text.blocks) {
        let (characters, feeds) = (block.start.characters, block.start.line_feeds);
        db.run(insert, params![number, position, characters, feeds, block.size, block.digest, block.packed])?;
    }
    Ok(number)
}

/// Inserts an artifact under its shortest free id and returns its number.
fn insert(
    db: &Connection,
    owner: i64,
    text: i64,
    digest: &[u8],
    mut row: ArtifactRow,
    now: i64,
) -> Result<i64> {
    for id in ArtifactRow::ids(digest) {
        let other = read::one(db, "a.owner = ?1 AND a.id = ?2", params![owner, id])?;
        row.id = id;
        match other {
            None => break,
            Some(other) if other.is_expired(now) => {
                remove_with_text(db, &other)?;
                break;
            }
            Some(_) => {}
        }
    }
    db.run(
        "INSERT INTO artifact (owner, id, text, created, ttl, mime_type, preset, tags, words)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, '', '')",
        params![owner, row.id, text, row.created, row.ttl, row.mime_type, row.preset],
    )?;
    let number = db.last_insert_rowid();
    store(db, number, owner, &row)?;
    Ok(number)
}

fn store(db: &Connection, number: i64, owner: i64, row: &ArtifactRow) -> Result<()> {
    db.run(
        "UPDATE artifact SET expires = ?2, ttl = ?3, tool = ?4, source = ?5, tags = ?6, summary = ?7, words = ?8,
            subject = ?9
         WHERE number = ?1",
        params![
            number,
            row.expires,
            row.ttl,
            row.tool,
            row.source,
            row.joined_tags(),
            row.summary,
            row.words(),
            row.subject
        ],
    )?;
    put_words(db, number, &index(owner), row)?;
    let version = row.version_to_embed();
    // Drop the vectors of a changed text.
    db.run("DELETE FROM item WHERE number = ?1 AND version IS NOT ?2", params![number, version])?;
    if let Some(version) = version {
        let name: String = db.value("SELECT name FROM owner WHERE number = ?1", [owner])?;
        db.run(
            "INSERT OR IGNORE INTO item (number, corpus, key, version) VALUES (?1, ?2, ?3, ?4)",
            params![number, ARTIFACTS, item_key(&name, number), version],
        )?;
    }
    Ok(())
}

fn put_words(db: &Connection, number: i64, index: &WordIndex, row: &ArtifactRow) -> Result<()> {
    index.remove(db, number)?;
    let WordIndex { words, pieces, .. } = index;
    let (heading, body) = (row.heading(), row.body());
    let columns = "(rowid, heading, summary) VALUES (?1, ?2, ?3)";
    let values = params![number, with_variants(&heading), with_variants(&body)];
    db.run(&format!("INSERT INTO {words} {columns}"), values)?;
    let [heading, body] = [&heading, &body].map(|text| script::grams(text));
    if !heading.is_empty() || !body.is_empty() {
        db.run(&format!("INSERT INTO {pieces} {columns}"), params![number, heading, body])?;
    }
    Ok(())
}

/// Removes an artifact, but not its text.
fn remove(db: &Connection, found: &StoredArtifact<i64>) -> Result<()> {
    index(found.owner).remove(db, found.number)?;
    for sql in ["DELETE FROM item WHERE number = ?1", "DELETE FROM artifact WHERE number = ?1"] {
        db.run(sql, [found.number])?;
    }
    Ok(())
}

/// Removes an artifact, and its text unless another artifact has it.
fn remove_with_text(db: &Connection, found: &StoredArtifact<i64>) -> Result<()> {
    remove(db, found)?;
    let unused = "DELETE FROM text WHERE number = ?1 AND NOT EXISTS (SELECT 1 FROM artifact WHERE text = ?1)";
    db.run(unused, [found.text])?;
    Ok(())
}
