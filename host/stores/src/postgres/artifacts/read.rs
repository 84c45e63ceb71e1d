//! Reads artifacts and their texts.

use std::{borrow::Cow, collections::HashMap};

use gatehouse_core::ports::artifacts::{Artifact, ArtifactFilter};
use tokio_postgres::Row;

use super::super::{
    error::{Result, column},
    session::{PostgresSession, SqlValues},
    terms::storable,
};
use crate::artifacts::{
    blocks::TextBlock,
    engine::{ArtifactSpan, BlockStart, OwnerHolding, OwnerScope, PackedText, item_number},
    row::{ArtifactRow, StoredArtifact, split_tags},
};

/// Selects artifacts `a` and their texts `t` with the columns that [`from_row`] reads.
pub(super) const SELECT_ARTIFACT: &str =
    "SELECT a.number, a.owner, a.text, t.size, t.lines, a.id, a.mime_type, a.tool,
        a.source, a.preset, a.summary, a.tags, a.created, a.expires, a.ttl, a.subject
     FROM gatehouse.artifact a JOIN gatehouse.artifact_text t ON t.number = a.text";

/// Condition: owned by `$1` and not expired at `$2`.
pub(super) const NOT_EXPIRED: &str = "a.owner = $1 AND (a.expires IS NULL OR a.expires > $2)";

pub(super) fn from_row(row: &Row) -> Result<StoredArtifact<String>> {
    Ok(StoredArtifact {
        number: column(row, 0)?,
        owner: column(row, 1)?,
        text: column(row, 2)?,
        size: column(row, 3)?,
        lines: column(row, 4)?,
        row: ArtifactRow {
            id: column(row, 5)?,
            mime_type: column(row, 6)?,
            tool: column(row, 7)?,
            source: column(row, 8)?,
            preset: column(row, 9)?,
            summary: column(row, 10)?,
            tags: split_tags(&column::<String>(row, 11)?),
            created: column(row, 12)?,
            expires: column(row, 13)?,
            ttl: column(row, 14)?,
            subject: column(row, 15)?,
        },
    })
}

pub(super) async fn one(
    db: &PostgresSession,
    condition: &str,
    values: SqlValues<'_>,
) -> Result<Option<StoredArtifact<String>>> {
    let row = db.query_opt(&format!("{SELECT_ARTIFACT} WHERE {condition}"), values).await?;
    row.as_ref().map(from_row).transpose()
}

pub(super) async fn find_live(
    db: &PostgresSession,
    scope: &OwnerScope,
    id: &str,
) -> Result<Option<StoredArtifact<String>>> {
    let id = storable(id);
    one(db, &format!("{NOT_EXPIRED} AND a.id = $3"), &[&scope.owner, &scope.now, &id]).await
}

pub(super) async fn info(
    db: &PostgresSession,
    scope: &OwnerScope,
    ids: &[String],
) -> Result<Vec<Option<Artifact>>> {
    let stored_ids: Vec<Cow<'_, str>> = ids.iter().map(|id| storable(id)).collect();
    let sql = format!("{SELECT_ARTIFACT} WHERE {NOT_EXPIRED} AND a.id = ANY($3)");
    let by_id = |row: &Row| {
        let artifact = from_row(row)?.artifact();
        Ok((artifact.id.clone(), artifact))
    };
    let artifacts: HashMap<String, Artifact> =
        db.all(&sql, &[&scope.owner, &scope.now, &stored_ids], by_id).await?;
    Ok(ids.iter().map(|id| artifacts.get(id).cloned()).collect())
}

/// Returns what an owner holds, without what has expired.
pub(super) async fn live_holding(db: &PostgresSession, scope: &OwnerScope) -> Result<OwnerHolding> {
    let sql = format!(
        "SELECT count(*), coalesce(sum(t.size), 0)::bigint FROM gatehouse.artifact a
            JOIN gatehouse.artifact_text t ON t.number = a.text WHERE {NOT_EXPIRED}"
    );
    let holdings: Vec<_> = db.all(&sql, &[&scope.owner, &scope.now], holding).await?;
    Ok(holdings.first().copied().unwrap_or_default())
}

/// Returns what each owner holds, sorted by name.
pub(super) async fn holdings(db: &PostgresSession) -> Result<Vec<(String, OwnerHolding)>> {
    let sql = "SELECT count(*), sum(t.size)::bigint, a.owner FROM gatehouse.artifact a
         JOIN gatehouse.artifact_text t ON t.number = a.text GROUP BY a.owner ORDER BY a.owner";
    db.all(sql, &[], |row| Ok((column(row, 2)?, holding(row)?))).await
}

fn holding(row: &Row) -> Result<OwnerHolding> {
    let number = |at: usize| column::<i64>(row, at).map(i64::unsigned_abs);
    Ok(OwnerHolding { artifacts: number(0)?, bytes: number(1)? })
}

/// Lists the matching artifacts of an owner, newest first.
pub(super) async fn recent(
    db: &PostgresSession,
    scope: &OwnerScope,
    filter: &ArtifactFilter,
    limit: usize,
) -> Result<Vec<Artifact>> {
    let sql = format!(
        "{SELECT_ARTIFACT} WHERE {NOT_EXPIRED}
            AND NOT EXISTS (SELECT 1 FROM unnest($3::text[]) tag WHERE strpos(a.tags, tag) = 0)
            AND NOT EXISTS (SELECT 1 FROM unnest($4::text[]) word WHERE strpos(a.words, word) = 0)
         ORDER BY a.created DESC, a.number DESC LIMIT $5"
    );
    let tags: Vec<String> = filter.tags.iter().map(|tag| format!("\n{}\n", storable(tag))).collect();
    let words: Vec<Cow<'_, str>> = filter.words.split_whitespace().map(storable).collect();
    let values: SqlValues<'_> = &[&scope.owner, &scope.now, &tags, &words, &(limit as i64)];
    db.all(&sql, values, |row| Ok(from_row(row)?.artifact())).await
}

/// Returns the owner and id of artifacts without a subject.
pub(super) async fn without_subject(
    db: &PostgresSession,
    now: i64,
    limit: i64,
) -> Result<Vec<(String, String)>> {
    let sql = "SELECT owner, id FROM gatehouse.artifact
         WHERE subject IS NULL AND (expires IS NULL OR expires > $1) LIMIT $2";
    db.all(sql, &[&now, &limit], |row| Ok((column(row, 0)?, column(row, 1)?))).await
}

pub(super) async fn text(
    db: &PostgresSession,
    scope: &OwnerScope,
    id: &str,
    span: ArtifactSpan,
) -> Result<Option<PackedText>> {
    let Some(stored_artifact) = find_live(db, scope, id).await? else { return Ok(None) };
    let start = |row: &Row| Ok(BlockStart { characters: column(row, 0)?, line_feeds: column(row, 1)? });
    let starts = "SELECT characters_before, feeds_before FROM gatehouse.artifact_block WHERE text = $1 ORDER BY position";
    let block_range = span.blocks(&db.all::<_, Vec<_>>(starts, &[&stored_artifact.text], start).await?);
    let (from, to) = (block_range.start as i64, block_range.end as i64);
    let blocks = "SELECT characters_before, feeds_before, size, digest, packed FROM gatehouse.artifact_block
         WHERE text = $1 AND position >= $2 AND position < $3 ORDER BY position";
    let block = |row: &Row| {
        let (size, digest, packed) = (column(row, 2)?, column(row, 3)?, column(row, 4)?);
        Ok(TextBlock { start: start(row)?, size, digest, packed })
    };
    let blocks = db.all(blocks, &[&stored_artifact.text, &from, &to], block).await?;
    let text = "SELECT digest, characters FROM gatehouse.artifact_text WHERE number = $1";
    let row = db.one(text, &[&stored_artifact.text]).await?;
    let (digest, characters) = (column(&row, 0)?, column(&row, 1)?);
    Ok(Some(PackedText {
        digest,
        size: stored_artifact.size,
        lines: stored_artifact.lines,
        characters,
        blocks,
    }))
}

pub(super) async fn texts_to_embed(db: &PostgresSession, keys: &[String]) -> Result<Vec<Option<String>>> {
    let numbers: Vec<i64> = keys.iter().map(|key| item_number(key)).collect();
    let sql = format!("{SELECT_ARTIFACT} WHERE a.number = ANY($1)");
    let text = |row: &Row| {
        let stored_artifact = from_row(row)?;
        Ok((stored_artifact.number, stored_artifact.row.text_to_embed()))
    };
    let texts: HashMap<i64, Option<String>> = db.all(&sql, &[&numbers], text).await?;
    Ok(numbers.iter().map(|number| texts.get(number).cloned().flatten()).collect())
}

/// Returns the approximate bytes of all artifacts: packed texts plus metadata.
pub(super) async fn bytes(db: &PostgresSession) -> Result<u64> {
    let sql = "SELECT ((SELECT coalesce(sum(packed), 0) FROM gatehouse.artifact_text)
            + (SELECT coalesce(sum(weight), 0) FROM gatehouse.artifact))::bigint";
    Ok(u64::try_from(db.value::<i64>(sql, &[]).await?).unwrap_or(0))
}
