//! Writes artifacts. Every function runs inside a transaction of the caller.

use gatehouse_core::{
    outcome::Fault,
    ports::artifacts::{Artifact, ArtifactChanges},
};

use super::{
    ArtifactLimits,
    blocks::TextBlock,
    engine::{ARTIFACTS, BlockStart, NewArtifact, OwnerScope, PackedText, item_key, largest_other},
    read,
    row::{ArtifactRow, StoredArtifact},
    words,
};
use crate::sql::{Result, Session, SqlValue, StoreError, values, vectors};

/// Artifacts per sweep. Limited because other writers wait for it.
const MAX_SWEPT: i64 = 500;

/// Blocks that are sent without waiting. They share a time limit, and each has up to a mebibyte.
const BLOCKS_IN_FLIGHT: usize = 4;

/// Space for the vector of an artifact and its place in an index: two pages of a file.
const VECTOR_BYTES: u64 = 8_192;

/// Stores a text. If the limit is exceeded, deletes expired artifacts first. Fails with [`StoreError::NotAlone`] if that
/// deletes texts and `alone` is false.
pub(super) async fn put(
    db: Session<'_>,
    new: &NewArtifact,
    limits: &ArtifactLimits,
    alone: bool,
) -> Result<Artifact> {
    let NewArtifact { scope, text, row, owner_limit } = new;
    // Concurrent writes can exceed the limit together by a text each; the next one makes room.
    if !alone && check_room(db, limits, text.packed_size().unsigned_abs()).await?.is_err() {
        return Err(StoreError::NotAlone);
    }
    let number = put_text(db, text).await?;
    let stored_artifact = loop {
        let condition = "a.owner = ?1 AND a.text = ?2 @lock(FOR UPDATE OF a)";
        match read::one(db, condition, values![scope.owner, number]).await? {
            // Keeps the text for the new artifact.
            Some(over) if over.is_expired(scope.now) => remove(db, &[over]).await?,
            Some(mut stored) => {
                stored.row.renew(row)?;
                store(db, &stored).await?;
                break stored;
            }
            None => {
                if let Some(inserted) = insert(db, new, number, alone).await? {
                    break inserted;
                }
            }
        }
    };
    if owner_limit.is_some() {
        read::live_holding(db, scope).await?.check(*owner_limit)?;
    }
    if alone && check_room(db, limits, 0).await?.is_err() {
        while sweep(db, scope.now).await? > 0 {}
        make_room(db, &scope.owner, limits).await?;
    }
    Ok(stored_artifact.artifact())
}

/// Checks that the store fits with `more` bytes. Its vector is stored later.
async fn check_room(db: Session<'_>, limits: &ArtifactLimits, more: u64) -> Result<Result<(), Fault>> {
    Ok(limits.check(read::bytes(db).await? + VECTOR_BYTES + more))
}

/// Deletes artifacts of owners that hold more than this one, until the store fits. Those that expire first go first.
async fn make_room(db: Session<'_>, owner: &str, limits: &ArtifactLimits) -> Result<()> {
    let Err(mut full) = check_room(db, limits, 0).await? else { return Ok(()) };
    let named = read::holdings(db).await?;
    let mut holdings: Vec<(&str, _)> = named.iter().map(|(name, held)| (name.as_str(), *held)).collect();
    let mut evicted = 0;
    while let Some(largest) = largest_other(&holdings, owner) {
        let first = "a.owner = ?1 ORDER BY a.expires IS NULL, a.expires, a.number LIMIT 1";
        let Some(stored_artifact) = read::one(db, first, values![largest]).await? else { break };
        let size = stored_artifact.size;
        remove_with_texts(db, &[stored_artifact]).await?;
        evicted += 1;
        holdings.iter_mut().filter(|(key, _)| *key == largest).for_each(|(_, held)| held.remove(size));
        match check_room(db, limits, 0).await? {
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

/// Deletes all artifacts of an owner and returns their number.
pub(super) async fn erase(db: Session<'_>, owner: &str) -> Result<u64> {
    let artifacts = read::all(db, "a.owner = ?1", values![owner]).await?;
    remove_with_texts(db, &artifacts).await?;
    words::drop_unused(db).await?;
    Ok(artifacts.len() as u64)
}

pub(super) async fn change(
    db: Session<'_>,
    scope: &OwnerScope,
    id: &str,
    changes: ArtifactChanges,
) -> Result<Option<Artifact>> {
    let Some(mut stored_artifact) = read::find_live(db, scope, id, true).await? else { return Ok(None) };
    stored_artifact.row.change(changes, scope.now)?;
    store(db, &stored_artifact).await?;
    Ok(Some(stored_artifact.artifact()))
}

pub(super) async fn delete(db: Session<'_>, scope: &OwnerScope, id: &str) -> Result<bool> {
    let Some(stored_artifact) = read::find_live(db, scope, id, true).await? else { return Ok(false) };
    remove_with_texts(db, &[stored_artifact]).await?;
    Ok(true)
}

/// Deletes some expired artifacts of all owners and returns their number.
pub(super) async fn sweep(db: Session<'_>, now: i64) -> Result<u64> {
    let condition = "a.expires IS NOT NULL AND a.expires <= ?1 LIMIT ?2";
    let over = read::all(db, condition, values![now, MAX_SWEPT]).await?;
    if !over.is_empty() {
        remove_with_texts(db, &over).await?;
        words::drop_unused(db).await?;
    }
    Ok(over.len() as u64)
}

/// Stores a text unless it exists, and returns its number.
async fn put_text(db: Session<'_>, text: &PackedText) -> Result<i64> {
    let insert = "INSERT INTO artifact_text (digest, size, lines, characters, packed)
         VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (digest) DO NOTHING RETURNING number";
    let select = "SELECT number FROM artifact_text WHERE digest = ?1";
    let number = loop {
        if let Some(number) = db.find(select, values![text.digest]).await? {
            return Ok(number);
        }
        let packed = text.packed_size();
        let values = values![text.digest, text.size, text.lines, text.characters, packed];
        // Another writer may have stored it.
        if let Some(number) = db.find::<i64>(insert, values).await? {
            break number;
        }
    };
    let insert = "INSERT INTO artifact_block
            (text, position, characters_before, feeds_before, size, digest, packed)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
    let rows: Vec<_> = (0..).zip(&text.blocks).map(|(at, block)| block_values(number, at, block)).collect();
    for rows in rows.chunks(BLOCKS_IN_FLIGHT) {
        db.run_each(insert, rows).await?;
    }
    Ok(number)
}

fn block_values(text: i64, position: i64, block: &TextBlock) -> Vec<SqlValue<'_>> {
    let BlockStart { characters, line_feeds } = block.start;
    let numbers = [text, position, characters, line_feeds, block.size].map(SqlValue::Integer);
    numbers.into_iter().chain([SqlValue::Blob(&block.digest), SqlValue::Blob(&block.packed)]).collect()
}

/// Inserts an artifact with the shortest unused id. `None` if another writer was faster.
async fn insert(
    db: Session<'_>,
    new: &NewArtifact,
    text: i64,
    alone: bool,
) -> Result<Option<StoredArtifact>> {
    let (owner, PackedText { digest, size, lines, .. }) = (&new.scope.owner, &new.text);
    let mut row = new.row.clone();
    for id in ArtifactRow::ids(digest) {
        let other = read::one(db, "a.owner = ?1 AND a.id = ?2", values![owner, id]).await?;
        row.id = id;
        match other {
            None => break,
            Some(other) if other.is_expired(new.scope.now) => {
                if !alone {
                    return Err(StoreError::NotAlone);
                }
                remove_with_texts(db, &[other]).await?;
                break;
            }
            Some(_) => {}
        }
    }
    let insert = "INSERT INTO artifact (owner, id, text, created, ttl, mime_type, preset)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT DO NOTHING RETURNING number";
    let values = values![owner, row.id, text, row.created, row.ttl, row.mime_type, row.preset];
    let Some(number) = db.find(insert, values).await? else { return Ok(None) };
    let stored_artifact =
        StoredArtifact { number, owner: owner.clone(), text, size: *size, lines: *lines, row };
    store(db, &stored_artifact).await?;
    Ok(Some(stored_artifact))
}

/// Stores the metadata, search terms and embedding item of an artifact.
async fn store(db: Session<'_>, artifact: &StoredArtifact) -> Result<()> {
    let StoredArtifact { number, owner, row, .. } = artifact;
    let (tags, words, version) = (row.joined_tags(), row.words(), row.version_to_embed());
    let values =
        values![number, row.expires, row.ttl, row.tool, row.source, tags, row.summary, words, row.subject];
    let key = item_key(owner, *number);
    tokio::try_join!(
        biased;
        words::store(db, artifact, values),
        vectors::put_item(db, ARTIFACTS, *number, &key, &version),
    )?;
    Ok(())
}

/// Deletes artifacts but not their texts.
async fn remove(db: Session<'_>, artifacts: &[StoredArtifact]) -> Result<()> {
    let keys: Vec<String> =
        artifacts.iter().map(|artifact| item_key(&artifact.owner, artifact.number)).collect();
    vectors::remove_items(db, ARTIFACTS, &keys).await?;
    words::remove(db, artifacts).await?;
    let numbers: Vec<i64> = artifacts.iter().map(|artifact| artifact.number).collect();
    db.run("DELETE FROM artifact WHERE number IN @numbers(?1)", values![numbers]).await.map(drop)
}

/// Deletes artifacts, and their texts unless another artifact has them.
async fn remove_with_texts(db: Session<'_>, artifacts: &[StoredArtifact]) -> Result<()> {
    remove(db, artifacts).await?;
    let texts: Vec<i64> = artifacts.iter().map(|artifact| artifact.text).collect();
    let sql = "DELETE FROM artifact_text WHERE number IN @numbers(?1)
            AND NOT EXISTS (SELECT 1 FROM artifact a WHERE a.text = artifact_text.number)";
    db.run(sql, values![texts]).await.map(drop)
}
