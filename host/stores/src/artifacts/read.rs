//! Reads artifacts and their texts.

use std::collections::HashMap;

use gatehouse_core::ports::artifacts::{Artifact, ArtifactFilter};

use super::{
    blocks::TextBlock,
    engine::{ArtifactSpan, BlockStart, OwnerHolding, OwnerScope, PackedText, item_number},
    row::{ArtifactRow, StoredArtifact, split_tags},
};
use crate::sql::{Result, Session, SqlRow, SqlValue, values};

/// Selects artifacts `a` and their texts `t` with the columns that [`from_row`] reads.
pub(super) const SELECT_ARTIFACT: &str =
    "SELECT a.number, a.owner, a.text, t.size, t.lines, a.id, a.mime_type, a.tool,
        a.source, a.preset, a.summary, a.tags, a.created, a.expires, a.ttl, a.subject
     FROM artifact a JOIN artifact_text t ON t.number = a.text";

/// Condition: owned by `?1` and not expired at `?2`.
pub(super) const LIVE: &str = "a.owner = ?1 AND (a.expires IS NULL OR a.expires > ?2)";

pub(super) fn from_row(row: &SqlRow<'_>) -> Result<StoredArtifact> {
    Ok(StoredArtifact {
        number: row.get(0)?,
        owner: row.get(1)?,
        text: row.get(2)?,
        size: row.get(3)?,
        lines: row.get(4)?,
        row: ArtifactRow {
            id: row.get(5)?,
            mime_type: row.get(6)?,
            tool: row.get(7)?,
            source: row.get(8)?,
            preset: row.get(9)?,
            summary: row.get(10)?,
            tags: split_tags(&row.get::<String>(11)?),
            created: row.get(12)?,
            expires: row.get(13)?,
            ttl: row.get(14)?,
            subject: row.get(15)?,
        },
    })
}

/// Returns the artifacts that meet a condition, expired or not.
pub(super) async fn all(
    db: Session<'_>,
    condition: &str,
    values: &[SqlValue<'_>],
) -> Result<Vec<StoredArtifact>> {
    db.rows(&format!("{SELECT_ARTIFACT} WHERE {condition}"), values, from_row).await
}

pub(super) async fn one(
    db: Session<'_>,
    condition: &str,
    values: &[SqlValue<'_>],
) -> Result<Option<StoredArtifact>> {
    Ok(all(db, condition, values).await?.pop())
}

/// Returns the artifact with an id. With `lock`, no other write changes it until this transaction ends.
pub(super) async fn find_live(
    db: Session<'_>,
    scope: &OwnerScope,
    id: &str,
    lock: bool,
) -> Result<Option<StoredArtifact>> {
    let lock = if lock { "@lock(FOR UPDATE OF a)" } else { "" };
    one(db, &format!("{LIVE} AND a.id = ?3 {lock}"), values![scope.owner, scope.now, id]).await
}

pub(super) async fn info(
    db: Session<'_>,
    scope: &OwnerScope,
    ids: &[String],
) -> Result<Vec<Option<Artifact>>> {
    let condition = format!("{LIVE} AND a.id IN @texts(?3)");
    let artifacts = all(db, &condition, values![scope.owner, scope.now, ids]).await?;
    let artifacts: HashMap<String, Artifact> =
        artifacts.into_iter().map(|stored| (stored.row.id.clone(), stored.artifact())).collect();
    Ok(ids.iter().map(|id| artifacts.get(id).cloned()).collect())
}

/// Returns true if some artifact has expired.
pub(super) async fn has_expired(db: Session<'_>, now: i64) -> Result<bool> {
    let sql = "SELECT number FROM artifact WHERE expires IS NOT NULL AND expires <= ?1 LIMIT 1";
    Ok(db.find::<i64>(sql, values![now]).await?.is_some())
}

/// Returns what an owner holds, without what has expired.
pub(super) async fn live_holding(db: Session<'_>, scope: &OwnerScope) -> Result<OwnerHolding> {
    let sql = format!(
        "SELECT count(*), CAST(coalesce(sum(t.size), 0) AS bigint) FROM artifact a
            JOIN artifact_text t ON t.number = a.text WHERE {LIVE}"
    );
    Ok(db.first(&sql, values![scope.owner, scope.now], holding).await?.unwrap_or_default())
}

/// Returns what each owner holds, sorted by name.
pub(super) async fn holdings(db: Session<'_>) -> Result<Vec<(String, OwnerHolding)>> {
    let sql = "SELECT count(*), CAST(sum(t.size) AS bigint), a.owner FROM artifact a
         JOIN artifact_text t ON t.number = a.text GROUP BY a.owner ORDER BY a.owner";
    db.rows(sql, &[], |row| Ok((row.get(2)?, holding(row)?))).await
}

fn holding(row: &SqlRow<'_>) -> Result<OwnerHolding> {
    let number = |at: usize| row.get::<i64>(at).map(i64::unsigned_abs);
    Ok(OwnerHolding { artifacts: number(0)?, bytes: number(1)? })
}

/// Returns the matching artifacts of an owner, newest first.
pub(super) async fn recent(
    db: Session<'_>,
    scope: &OwnerScope,
    filter: &ArtifactFilter,
    limit: usize,
) -> Result<Vec<Artifact>> {
    // Every word must occur. Every tag must occur between line feeds.
    let condition = format!(
        "{LIVE} AND NOT EXISTS (SELECT 1 FROM @texts(?3) AS tag WHERE instr(a.tags, tag.value) = 0)
            AND NOT EXISTS (SELECT 1 FROM @texts(?4) AS word WHERE instr(a.words, word.value) = 0)
         ORDER BY a.created DESC, a.number DESC LIMIT ?5"
    );
    let tags: Vec<String> = filter.tags.iter().map(|tag| format!("\n{tag}\n")).collect();
    let words: Vec<String> = filter.words.split_whitespace().map(str::to_owned).collect();
    let artifacts = all(db, &condition, values![scope.owner, scope.now, tags, words, limit as i64]).await?;
    Ok(artifacts.into_iter().map(StoredArtifact::artifact).collect())
}

pub(super) async fn text(
    db: Session<'_>,
    scope: &OwnerScope,
    id: &str,
    span: ArtifactSpan,
) -> Result<Option<PackedText>> {
    let Some(StoredArtifact { text, size, lines, .. }) = find_live(db, scope, id, false).await? else {
        return Ok(None);
    };
    let start = |row: &SqlRow<'_>| Ok(BlockStart { characters: row.get(0)?, line_feeds: row.get(1)? });
    let starts =
        "SELECT characters_before, feeds_before FROM artifact_block WHERE text = ?1 ORDER BY position";
    let about = "SELECT digest, characters FROM artifact_text WHERE number = ?1";
    let number = values![text];
    let (starts, about): (Vec<BlockStart>, _) = tokio::try_join!(
        biased;
        db.rows(starts, number, start),
        db.first(about, number, |row| Ok((row.get(0)?, row.get(1)?))),
    )?;
    let Some((digest, characters)) = about else { return Ok(None) };
    let range = span.blocks(&starts);
    let sql = "SELECT characters_before, feeds_before, size, digest, packed FROM artifact_block
         WHERE text = ?1 AND position >= ?2 AND position < ?3 ORDER BY position";
    let block = |row: &SqlRow<'_>| {
        Ok(TextBlock { start: start(row)?, size: row.get(2)?, digest: row.get(3)?, packed: row.get(4)? })
    };
    let blocks = db.rows(sql, values![text, range.start as i64, range.end as i64], block).await?;
    Ok(Some(PackedText { digest, size, lines, characters, blocks }))
}

pub(super) async fn texts_to_embed(db: Session<'_>, keys: &[String]) -> Result<Vec<Option<String>>> {
    let numbers: Vec<i64> = keys.iter().map(|key| item_number(key)).collect();
    let artifacts = all(db, "a.number IN @numbers(?1)", values![numbers]).await?;
    let texts: HashMap<i64, String> = artifacts
        .into_iter()
        .filter_map(|stored| Some((stored.number, stored.row.text_to_embed()?)))
        .collect();
    Ok(numbers.iter().map(|number| texts.get(number).cloned()).collect())
}

/// Returns the bytes of all artifacts, including uncommitted changes: the used pages of a file, or approximately the
/// packed texts and the metadata.
pub(super) async fn bytes(db: Session<'_>) -> Result<u64> {
    let bytes: i64 = match db {
        Session::Sqlite(_) => {
            let sql = "SELECT (page_count - freelist_count) * page_size
                 FROM pragma_page_count, pragma_freelist_count, pragma_page_size";
            db.value(sql, &[]).await?
        }
        #[cfg(feature = "postgres")]
        Session::Postgres(_) => {
            let sql = "SELECT CAST((SELECT coalesce(sum(packed), 0) FROM artifact_text)
                + (SELECT coalesce(sum(weight), 0) FROM artifact) AS bigint)";
            db.value(sql, &[]).await?
        }
    };
    Ok(u64::try_from(bytes).unwrap_or(0))
}
