//! Writes artifacts. Every function here runs inside a transaction of the caller.

use gatehouse_core::ports::artifacts::Artifact;
use rusqlite::{Connection, OptionalExtension as _, params};

use super::{
    read::{self, StoredArtifact},
    words,
};
use crate::{
    artifacts::{
        engine::{ARTIFACTS, NewArtifact, OwnerScope, PackedText, RowEdit, StorageLimit, item_key},
        row::ArtifactRow,
    },
    sqlite::error::StoreError,
};

/// Limited because other writers wait for a sweep.
pub(super) const MAX_SWEPT: usize = 500;

/// Stores a text. If the cap is exceeded, deletes expired artifacts first.
pub(super) fn put(db: &Connection, new: NewArtifact, cap: &StorageLimit) -> Result<Artifact, StoreError> {
    let NewArtifact { scope, text, row } = new;
    let owner = put_owner(db, &scope.owner)?;
    let number = put_text(db, &text)?;
    let mut stored = read::by_text(db, owner, number)?;
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
    let found = read::by_number(db, artifact)?
        .ok_or_else(|| StoreError::InvalidValue("artifact row is missing".into()))?;
    if cap.check(read::bytes(db)?).is_err() {
        while sweep(db, scope.now, MAX_SWEPT)? > 0 {}
        cap.check(read::bytes(db)?)?;
    }
    Ok(found.artifact())
}

pub(super) fn change(
    db: &Connection,
    scope: &OwnerScope,
    id: &str,
    edit: RowEdit,
) -> Result<Option<Artifact>, StoreError> {
    let Some(mut found) = find_live(db, scope, id)? else { return Ok(None) };
    edit(&mut found.row)?;
    store(db, found.number, found.owner, &found.row)?;
    Ok(Some(found.artifact()))
}

pub(super) fn delete(db: &Connection, scope: &OwnerScope, id: &str) -> Result<bool, StoreError> {
    let Some(found) = find_live(db, scope, id)? else { return Ok(false) };
    remove(db, &found)?;
    forget_text(db, found.text)?;
    Ok(true)
}

pub(super) fn sweep(db: &Connection, now: i64, limit: usize) -> Result<u64, StoreError> {
    let mut over = db
        .prepare_cached("SELECT number FROM artifact WHERE expires IS NOT NULL AND expires <= ?1 LIMIT ?2")?;
    let over: Vec<i64> = over.query_map([now, limit as i64], |row| row.get(0))?.collect::<Result<_, _>>()?;
    for number in &over {
        let Some(found) = read::by_number(db, *number)? else { continue };
        remove(db, &found)?;
        forget_text(db, found.text)?;
        forget_owner(db, found.owner)?;
    }
    Ok(over.len() as u64)
}

fn find_live(db: &Connection, scope: &OwnerScope, id: &str) -> Result<Option<StoredArtifact>, StoreError> {
    match read::owner(db, &scope.owner)? {
        Some(owner) => read::by_id(db, owner, id, scope.now),
        None => Ok(None),
    }
}

/// Returns the number of an owner. Creates a new owner with its indexes.
fn put_owner(db: &Connection, name: &str) -> Result<i64, StoreError> {
    if let Some(owner) = read::owner(db, name)? {
        return Ok(owner);
    }
    db.execute("INSERT INTO owner (name) VALUES (?1)", [name])?;
    let owner = db.last_insert_rowid();
    words::create(db, owner)?;
    Ok(owner)
}

fn put_text(db: &Connection, text: &PackedText) -> Result<i64, StoreError> {
    let mut known = db.prepare_cached("SELECT number FROM text WHERE digest = ?1")?;
    if let Some(number) = known.query_row([&text.digest], |row| row.get(0)).optional()? {
        return Ok(number);
    }
    db.prepare_cached("INSERT INTO text (digest, size, lines, characters) VALUES (?1, ?2, ?3, ?4)")?
        .execute(params![text.digest, text.size, text.lines, text.characters])?;
    let number = db.last_insert_rowid();
    let mut insert = db.prepare_cached(
        "INSERT INTO text_block (text, position, characters_before, feeds_before, size, digest, packed)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )?;
    for (position, block) in (0_i64..).zip(&text.blocks) {
        let (characters, feeds) = (block.start.characters, block.start.line_feeds);
        insert.execute(params![
            number,
            position,
            characters,
            feeds,
            block.size,
            block.digest,
            block.packed
        ])?;
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
) -> Result<i64, StoreError> {
    for id in ArtifactRow::ids(digest) {
        let mut other = db.prepare_cached("SELECT number FROM artifact WHERE owner = ?1 AND id = ?2")?;
        let other: Option<i64> = other.query_row(params![owner, id], |row| row.get(0)).optional()?;
        row.id = id;
        match other.map(|number| read::by_number(db, number)).transpose()?.flatten() {
            None => break,
            Some(other) if other.is_expired(now) => {
                remove(db, &other)?;
                forget_text(db, other.text)?;
                break;
            }
            Some(_) => {}
        }
    }
    let mut insert = db.prepare_cached(
        "INSERT INTO artifact (owner, id, text, created, ttl, mime_type, preset, tags, words)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, '', '')",
    )?;
    insert.execute(params![owner, row.id, text, row.created, row.ttl, row.mime_type, row.preset])?;
    let number = db.last_insert_rowid();
    store(db, number, owner, &row)?;
    Ok(number)
}

fn store(db: &Connection, number: i64, owner: i64, row: &ArtifactRow) -> Result<(), StoreError> {
    let tags: String = row.tags.iter().map(|tag| format!("\n{tag}\n")).collect();
    db.prepare_cached(
        "UPDATE artifact SET expires = ?2, ttl = ?3, tool = ?4, source = ?5, tags = ?6, summary = ?7, words = ?8,
            subject = ?9
         WHERE number = ?1",
    )?
    .execute(params![
        number,
        row.expires,
        row.ttl,
        row.tool,
        row.source,
        tags,
        row.summary,
        row.words(),
        row.subject
    ])?;
    words::index(owner).remove(db, number)?;
    words::put(db, owner, number, row)?;
    let version = row.version_to_embed();
    // Drop the vectors of a changed text.
    db.prepare_cached("DELETE FROM item WHERE number = ?1 AND version IS NOT ?2")?
        .execute(params![number, version])?;
    if let Some(version) = version {
        let key = item_key(&read::owner_name(db, owner)?, number);
        db.prepare_cached(
            "INSERT OR IGNORE INTO item (number, corpus, key, version) VALUES (?1, ?2, ?3, ?4)",
        )?
        .execute(params![number, ARTIFACTS, key, version])?;
    }
    Ok(())
}

/// Removes an artifact, but not its text.
fn remove(db: &Connection, found: &StoredArtifact) -> Result<(), StoreError> {
    words::index(found.owner).remove(db, found.number)?;
    for sql in ["DELETE FROM item WHERE number = ?1", "DELETE FROM artifact WHERE number = ?1"] {
        db.prepare_cached(sql)?.execute([found.number])?;
    }
    Ok(())
}

fn forget_text(db: &Connection, text: i64) -> Result<(), StoreError> {
    db.prepare_cached(
        "DELETE FROM text WHERE number = ?1 AND NOT EXISTS (SELECT 1 FROM artifact WHERE text = ?1)",
    )?
    .execute([text])?;
    Ok(())
}

fn forget_owner(db: &Connection, owner: i64) -> Result<(), StoreError> {
    let mut gone = db.prepare_cached(
        "DELETE FROM owner WHERE number = ?1 AND NOT EXISTS (SELECT 1 FROM artifact WHERE owner = ?1)",
    )?;
    if gone.execute([owner])? > 0 {
        words::index(owner).drop_tables(db)?;
    }
    Ok(())
}
