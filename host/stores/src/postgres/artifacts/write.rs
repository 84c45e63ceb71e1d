//! Writes artifacts. Every function requires a transaction that holds the writer lock.

use gatehouse_core::ports::artifacts::Artifact;

use super::{
    super::{
        error::{Result, StoreError, column},
        session::PostgresSession,
        terms::{IndexTerms, with_variants},
        vectors,
    },
    read,
};
use crate::artifacts::{
    ArtifactLimits,
    engine::{ARTIFACTS, NewArtifact, OwnerScope, PackedText, RowEdit, item_key, item_prefix, largest_other},
    row::{ArtifactRow, StoredArtifact},
};

/// Estimated bytes of an artifact's row without its summary and subject: columns, indexes and a vector of a few hundred
/// numbers.
const ROW_BYTES: i64 = 4_096;

/// Stored copies of a summary or subject: original, lowercase, terms and index.
const TEXT_COPIES: i64 = 4;

/// Stores an artifact. If the storage limit is exceeded, deletes expired artifacts first.
pub(super) async fn put(db: &PostgresSession, new: NewArtifact, limits: &ArtifactLimits) -> Result<Artifact> {
    let NewArtifact { scope, text, row, owner_limit } = new;
    let number = put_text(db, &text).await?;
    let mut stored = read::one(db, "a.owner = $1 AND a.text = $2", &[&scope.owner, &number]).await?;
    if let Some(over) = stored.take_if(|stored| stored.is_expired(scope.now)) {
        // Keep the text, which the new artifact uses.
        remove(db, &[over]).await?;
    }
    let artifact = match stored {
        Some(mut stored) => {
            stored.row.renew(&row)?;
            store(db, stored.number, &stored.owner, &stored.row).await?;
            stored.number
        }
        None => insert(db, &scope, number, &text.digest, row).await?,
    };
    let stored_artifact = read::one(db, "a.number = $1", &[&artifact]).await?;
    let stored_artifact = stored_artifact
        .ok_or_else(|| StoreError::InvalidValue("the artifact vanished during the write".into()))?;
    if owner_limit.is_some() {
        read::live_holding(db, &scope).await?.check(owner_limit)?;
    }
    if limits.check(read::bytes(db).await?).is_err() {
        sweep(db, scope.now, i64::MAX).await?;
        make_room(db, &scope.owner, limits).await?;
    }
    Ok(stored_artifact.artifact())
}

/// Deletes artifacts of owners that hold more than this one, until the store fits. Those that expire first go first.
async fn make_room(db: &PostgresSession, owner: &str, limits: &ArtifactLimits) -> Result<()> {
    let Err(mut full) = limits.check(read::bytes(db).await?) else { return Ok(()) };
    let named = read::holdings(db).await?;
    let mut holdings: Vec<(&str, _)> = named.iter().map(|(name, held)| (name.as_str(), *held)).collect();
    while let Some(largest) = largest_other(&holdings, owner) {
        let first = "a.number = (SELECT number FROM gatehouse.artifact WHERE owner = $1
            ORDER BY expires IS NULL, expires, number LIMIT 1)";
        let Some(found) = read::one(db, first, &[&largest]).await? else { break };
        let (text, size) = (found.text, found.size);
        remove(db, &[found]).await?;
        forget_texts(db, &[text]).await?;
        holdings.iter_mut().filter(|(key, _)| *key == largest).for_each(|(_, held)| held.remove(size));
        match limits.check(read::bytes(db).await?) {
            Ok(()) => return Ok(()),
            Err(still) => full = still,
        }
    }
    Err(full.into())
}

/// Deletes all artifacts of an owner and returns their number.
pub(super) async fn erase(db: &PostgresSession, owner: &str) -> Result<u64> {
    let sql = format!("{} WHERE a.owner = $1", read::SELECT_ARTIFACT);
    let artifacts: Vec<StoredArtifact<String>> = db.all(&sql, &[&owner], read::from_row).await?;
    let texts: Vec<i64> = artifacts.iter().map(|artifact| artifact.text).collect();
    remove(db, &artifacts).await?;
    forget_texts(db, &texts).await?;
    Ok(artifacts.len() as u64)
}

pub(super) async fn change(
    db: &PostgresSession,
    scope: &OwnerScope,
    id: &str,
    edit: RowEdit,
) -> Result<Option<Artifact>> {
    let Some(mut found) = read::find_live(db, scope, id).await? else { return Ok(None) };
    edit(&mut found.row)?;
    store(db, found.number, &found.owner, &found.row).await?;
    Ok(Some(found.artifact()))
}

pub(super) async fn delete(db: &PostgresSession, scope: &OwnerScope, id: &str) -> Result<bool> {
    let Some(found) = read::find_live(db, scope, id).await? else { return Ok(false) };
    let text = found.text;
    remove(db, &[found]).await?;
    forget_texts(db, &[text]).await?;
    Ok(true)
}

/// Deletes up to `limit` expired artifacts of all owners and returns how many.
pub(super) async fn sweep(db: &PostgresSession, now: i64, limit: i64) -> Result<u64> {
    let sql = format!("{} WHERE a.expires <= $1 LIMIT $2", read::SELECT_ARTIFACT);
    let over: Vec<StoredArtifact<String>> = db.all(&sql, &[&now, &limit], read::from_row).await?;
    let texts: Vec<i64> = over.iter().map(|artifact| artifact.text).collect();
    remove(db, &over).await?;
    forget_texts(db, &texts).await?;
    Ok(over.len() as u64)
}

/// Stores a text unless it exists, and returns its number.
async fn put_text(db: &PostgresSession, text: &PackedText) -> Result<i64> {
    let select = "SELECT number FROM gatehouse.artifact_text WHERE digest = $1";
    if let Some(row) = db.query_opt(select, &[&text.digest]).await? {
        return column(&row, 0);
    }
    let insert = "INSERT INTO gatehouse.artifact_text (digest, size, lines, characters, packed)
         VALUES ($1, $2, $3, $4, $5) RETURNING number";
    let packed = text.packed_size();
    let number: i64 =
        db.value(insert, &[&text.digest, &text.size, &text.lines, &text.characters, &packed]).await?;
    let insert = "INSERT INTO gatehouse.artifact_block
            (text, position, characters_before, feeds_before, size, digest, packed)
         VALUES ($1, $2, $3, $4, $5, $6, $7)";
    for (position, block) in (0_i64..).zip(&text.blocks) {
        let (characters, feeds) = (block.start.characters, block.start.line_feeds);
        db.run(insert, &[&number, &position, &characters, &feeds, &block.size, &block.digest, &block.packed])
            .await?;
    }
    Ok(number)
}

/// Inserts an artifact with the shortest unused id and returns its number.
async fn insert(
    db: &PostgresSession,
    scope: &OwnerScope,
    text: i64,
    digest: &[u8],
    mut row: ArtifactRow,
) -> Result<i64> {
    for id in ArtifactRow::ids(digest) {
        let other = read::one(db, "a.owner = $1 AND a.id = $2", &[&scope.owner, &id]).await?;
        row.id = id;
        match other {
            None => break,
            Some(other) if other.is_expired(scope.now) => {
                let text = other.text;
                remove(db, &[other]).await?;
                forget_texts(db, &[text]).await?;
                break;
            }
            Some(_) => {}
        }
    }
    let insert = "INSERT INTO gatehouse.artifact (owner, id, text, created, ttl, mime_type, preset)
         VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING number";
    let number = db
        .value(insert, &[&scope.owner, &row.id, &text, &row.created, &row.ttl, &row.mime_type, &row.preset])
        .await?;
    store(db, number, &scope.owner, &row).await?;
    Ok(number)
}

/// Stores the metadata, search terms and embedding item of an artifact.
async fn store(db: &PostgresSession, number: i64, owner: &str, row: &ArtifactRow) -> Result<()> {
    let body = row.body();
    let weight = ROW_BYTES + TEXT_COPIES * body.len() as i64;
    let terms = IndexTerms::new(&row.id, [&with_variants(&row.heading()), &with_variants(&body)]);
    let IndexTerms { texts: [heading, body], length } = terms;
    db.run(
        "UPDATE gatehouse.artifact SET expires = $2, ttl = $3, tool = $4, source = $5, tags = $6, summary = $7,
            words = $8, weight = $9, length = $10,
            terms = array_to_tsvector(ARRAY[$11::text]) || setweight(to_tsvector('gatehouse.words', $12), 'B')
                || to_tsvector('gatehouse.words', $13), subject = $14
         WHERE number = $1",
        &[
            &number,
            &row.expires,
            &row.ttl,
            &row.tool,
            &row.source,
            &row.joined_tags(),
            &row.summary,
            &row.words(),
            &weight,
            &length,
            &item_prefix(owner),
            &heading,
            &body,
            &row.subject,
        ],
    )
    .await?;
    let key = item_key(owner, number);
    match row.version_to_embed() {
        Some(version) => vectors::put_items(db, ARTIFACTS, &[(key, version)]).await,
        None => vectors::remove_items(db, ARTIFACTS, &[key]).await,
    }
}

/// Deletes artifacts but not their texts.
async fn remove(db: &PostgresSession, artifacts: &[StoredArtifact<String>]) -> Result<()> {
    let keys: Vec<String> =
        artifacts.iter().map(|artifact| item_key(&artifact.owner, artifact.number)).collect();
    vectors::remove_items(db, ARTIFACTS, &keys).await?;
    let numbers: Vec<i64> = artifacts.iter().map(|artifact| artifact.number).collect();
    db.run("DELETE FROM gatehouse.artifact WHERE number = ANY($1)", &[&numbers]).await?;
    Ok(())
}

/// Deletes those of the texts that no artifact uses.
async fn forget_texts(db: &PostgresSession, texts: &[i64]) -> Result<()> {
    let sql = "DELETE FROM gatehouse.artifact_text t WHERE t.number = ANY($1)
            AND NOT EXISTS (SELECT 1 FROM gatehouse.artifact a WHERE a.text = t.number)";
    db.run(sql, &[&texts]).await?;
    Ok(())
}
