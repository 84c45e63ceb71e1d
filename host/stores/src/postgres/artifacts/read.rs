//! Reads artifacts and their texts.

use std::{borrow::Cow, collections::HashMap};

use gatehouse_core::ports::artifacts::{Artifact, ArtifactFilter};
use tokio_postgres::Row;

use super::super::{
    error::{StoreError, column, count},
    session::{PostgresSession, SqlValues},
    terms::storable,
};
use crate::artifacts::{
    blocks::TextBlock,
    engine::{ArtifactSpan, BlockStart, OwnerScope, PackedText, item_number},
    row::ArtifactRow,
};

/// Selects artifacts `a` and their texts `t` with the columns of [`StoredArtifact`].
pub(super) const SELECT_ARTIFACT: &str =
    "SELECT a.number, a.owner, a.text, t.size, t.lines, a.id, a.mime_type, a.tool,
        a.source, a.preset, a.summary, a.tags, a.created, a.expires, a.ttl, a.subject
     FROM gatehouse.artifact a JOIN gatehouse.artifact_text t ON t.number = a.text";

/// Condition: owned by `$1` and not expired at `$2`.
pub(super) const NOT_EXPIRED: &str = "a.owner = $1 AND (a.expires IS NULL OR a.expires > $2)";

pub(super) struct StoredArtifact {
    pub(super) number: i64,
    pub(super) owner: String,
    pub(super) text: i64,
    size: i64,
    lines: i64,
    pub(super) row: ArtifactRow,
}

impl StoredArtifact {
    pub(super) fn from_row(row: &Row) -> Result<Self, StoreError> {
        let tags: String = column(row, 11)?;
        Ok(Self {
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
                tags: tags.split('\n').filter(|tag| !tag.is_empty()).map(str::to_owned).collect(),
                created: column(row, 12)?,
                expires: column(row, 13)?,
                ttl: column(row, 14)?,
                subject: column(row, 15)?,
            },
        })
    }

    pub(super) fn artifact(self) -> Artifact {
        self.row.artifact(self.size, self.lines)
    }

    pub(super) fn is_expired(&self, now: i64) -> bool {
        self.row.expires.is_some_and(|expires| expires <= now)
    }
}

pub(super) async fn one(
    db: &PostgresSession,
    condition: &str,
    values: SqlValues<'_>,
) -> Result<Option<StoredArtifact>, StoreError> {
    db.query_opt(&format!("{SELECT_ARTIFACT} WHERE {condition}"), values)
        .await?
        .as_ref()
        .map(StoredArtifact::from_row)
        .transpose()
}

pub(super) async fn find_live(
    db: &PostgresSession,
    scope: &OwnerScope,
    id: &str,
) -> Result<Option<StoredArtifact>, StoreError> {
    let id = storable(id);
    one(db, &format!("{NOT_EXPIRED} AND a.id = $3"), &[&scope.owner, &scope.now, &id]).await
}

pub(super) async fn info(
    db: &PostgresSession,
    scope: &OwnerScope,
    ids: &[String],
) -> Result<Vec<Option<Artifact>>, StoreError> {
    let stored_ids: Vec<Cow<'_, str>> = ids.iter().map(|id| storable(id)).collect();
    let sql = format!("{SELECT_ARTIFACT} WHERE {NOT_EXPIRED} AND a.id = ANY($3)");
    let rows = db.rows(&sql, &[&scope.owner, &scope.now, &stored_ids]).await?;
    let mut found = HashMap::new();
    for row in &rows {
        let artifact = StoredArtifact::from_row(row)?.artifact();
        found.insert(artifact.id.clone(), artifact);
    }
    Ok(ids.iter().map(|id| found.get(id).cloned()).collect())
}

/// Lists the matching artifacts of an owner, newest first.
pub(super) async fn recent(
    db: &PostgresSession,
    scope: &OwnerScope,
    filter: &ArtifactFilter,
    limit: usize,
) -> Result<Vec<Artifact>, StoreError> {
    let sql = format!(
        "{SELECT_ARTIFACT} WHERE {NOT_EXPIRED}
            AND NOT EXISTS (SELECT 1 FROM unnest($3::text[]) tag WHERE strpos(a.tags, tag) = 0)
            AND NOT EXISTS (SELECT 1 FROM unnest($4::text[]) word WHERE strpos(a.words, word) = 0)
         ORDER BY a.created DESC, a.number DESC LIMIT $5"
    );
    let tags: Vec<String> = filter.tags.iter().map(|tag| format!("\n{}\n", storable(tag))).collect();
    let words: Vec<Cow<'_, str>> = filter.words.split_whitespace().map(storable).collect();
    let rows = db.rows(&sql, &[&scope.owner, &scope.now, &tags, &words, &(limit as i64)]).await?;
    rows.iter().map(|row| Ok(StoredArtifact::from_row(row)?.artifact())).collect()
}

/// Returns the owner and id of artifacts without a subject.
pub(super) async fn without_subject(
    db: &PostgresSession,
    now: i64,
    limit: i64,
) -> Result<Vec<(String, String)>, StoreError> {
    let sql = "SELECT owner, id FROM gatehouse.artifact
         WHERE subject IS NULL AND (expires IS NULL OR expires > $1) LIMIT $2";
    let rows = db.rows(sql, &[&now, &limit]).await?;
    rows.iter().map(|row| Ok((column(row, 0)?, column(row, 1)?))).collect()
}

pub(super) async fn text(
    db: &PostgresSession,
    scope: &OwnerScope,
    id: &str,
    span: ArtifactSpan,
) -> Result<Option<PackedText>, StoreError> {
    let Some(found) = find_live(db, scope, id).await? else { return Ok(None) };
    let starts = "SELECT characters_before, feeds_before FROM gatehouse.artifact_block WHERE text = $1 ORDER BY position";
    let starts = db.rows(starts, &[&found.text]).await?;
    let start = |row: &Row| Ok(BlockStart { characters: column(row, 0)?, line_feeds: column(row, 1)? });
    let starts: Vec<BlockStart> = starts.iter().map(start).collect::<Result<_, StoreError>>()?;
    let wanted = span.blocks(&starts);
    let (from, to) = (wanted.start as i64, wanted.end as i64);
    let blocks = "SELECT size, digest, packed FROM gatehouse.artifact_block
         WHERE text = $1 AND position >= $2 AND position < $3 ORDER BY position";
    let rows = db.rows(blocks, &[&found.text, &from, &to]).await?;
    let block = |(row, start): (&Row, &BlockStart)| {
        let (size, digest, packed) = (column(row, 0)?, column(row, 1)?, column(row, 2)?);
        Ok(TextBlock { start: *start, size, digest, packed })
    };
    let blocks = rows.iter().zip(&starts[wanted]).map(block).collect::<Result<_, StoreError>>()?;
    let text = "SELECT digest, characters FROM gatehouse.artifact_text WHERE number = $1";
    let row = db.one(text, &[&found.text]).await?;
    let (digest, characters) = (column(&row, 0)?, column(&row, 1)?);
    Ok(Some(PackedText { digest, size: found.size, lines: found.lines, characters, blocks }))
}

pub(super) async fn texts_to_embed(
    db: &PostgresSession,
    keys: &[String],
) -> Result<Vec<Option<String>>, StoreError> {
    let numbers: Vec<i64> = keys.iter().map(|key| item_number(key)).collect();
    let rows = db.rows(&format!("{SELECT_ARTIFACT} WHERE a.number = ANY($1)"), &[&numbers]).await?;
    let mut texts = HashMap::new();
    for row in &rows {
        let found = StoredArtifact::from_row(row)?;
        texts.insert(found.number, found.row.text_to_embed());
    }
    Ok(numbers.iter().map(|number| texts.get(number).cloned().flatten()).collect())
}

pub(super) async fn identity(db: &PostgresSession) -> Result<String, StoreError> {
    column(&db.one("SELECT name FROM gatehouse.artifact_store", &[]).await?, 0)
}

pub(super) async fn count_all(db: &PostgresSession) -> Result<u32, StoreError> {
    count(&db.one("SELECT count(*) FROM gatehouse.artifact", &[]).await?, 0)
}

/// Returns the approximate bytes of all artifacts: packed texts plus metadata.
pub(super) async fn bytes(db: &PostgresSession) -> Result<u64, StoreError> {
    let sql = "SELECT ((SELECT coalesce(sum(packed), 0) FROM gatehouse.artifact_text)
            + (SELECT coalesce(sum(weight), 0) FROM gatehouse.artifact))::bigint";
    Ok(u64::try_from(column::<i64>(&db.one(sql, &[]).await?, 0)?).unwrap_or(0))
}
