//! Reads artifacts and their texts.

use gatehouse_core::ports::artifacts::{Artifact, ArtifactFilter};
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use crate::{
    artifacts::{
        blocks::TextBlock,
        engine::{ArtifactSpan, BlockStart, OwnerScope, PackedText, item_number},
        row::ArtifactRow,
    },
    sqlite::{error::StoreError, query::list},
};

const ARTIFACT_COLUMNS: &str =
    "a.number, a.owner, a.text, t.size, t.lines, a.id, a.mime_type, a.tool, a.source, a.preset,
    a.summary, a.tags, a.created, a.expires, a.ttl, a.subject";

const NOT_EXPIRED: &str = "(a.expires IS NULL OR a.expires > ?2)";

pub(super) struct StoredArtifact {
    pub(super) number: i64,
    pub(super) owner: i64,
    pub(super) text: i64,
    size: i64,
    lines: i64,
    pub(super) row: ArtifactRow,
}

impl StoredArtifact {
    fn from_row(row: &Row<'_>) -> rusqlite::Result<Self> {
        let tags: String = row.get(11)?;
        Ok(Self {
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
                tags: tags.split('\n').filter(|tag| !tag.is_empty()).map(str::to_owned).collect(),
                created: row.get(12)?,
                expires: row.get(13)?,
                ttl: row.get(14)?,
                subject: row.get(15)?,
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

/// Returns the number of an owner. `None` if nothing was ever stored for it.
pub(super) fn owner(db: &Connection, name: &str) -> Result<Option<i64>, StoreError> {
    let mut statement = db.prepare_cached("SELECT number FROM owner WHERE name = ?1")?;
    Ok(statement.query_row([name], |row| row.get(0)).optional()?)
}

pub(super) fn by_id(
    db: &Connection,
    owner: i64,
    id: &str,
    now: i64,
) -> Result<Option<StoredArtifact>, StoreError> {
    let sql = format!(
        "SELECT {ARTIFACT_COLUMNS} FROM artifact a JOIN text t ON t.number = a.text WHERE a.owner = ?1 AND a.id = ?3 AND {NOT_EXPIRED}"
    );
    Ok(db.prepare_cached(&sql)?.query_row(params![owner, now, id], StoredArtifact::from_row).optional()?)
}

pub(super) fn owner_name(db: &Connection, owner: i64) -> Result<String, StoreError> {
    let mut statement = db.prepare_cached("SELECT name FROM owner WHERE number = ?1")?;
    Ok(statement.query_row([owner], |row| row.get(0))?)
}

/// Returns an owner's artifact with this text, expired or not.
pub(super) fn by_text(db: &Connection, owner: i64, text: i64) -> Result<Option<StoredArtifact>, StoreError> {
    let sql = format!(
        "SELECT {ARTIFACT_COLUMNS} FROM artifact a JOIN text t ON t.number = a.text WHERE a.owner = ?1 AND a.text = ?2"
    );
    Ok(db.prepare_cached(&sql)?.query_row([owner, text], StoredArtifact::from_row).optional()?)
}

pub(super) fn by_number(db: &Connection, number: i64) -> Result<Option<StoredArtifact>, StoreError> {
    let sql = format!(
        "SELECT {ARTIFACT_COLUMNS} FROM artifact a JOIN text t ON t.number = a.text WHERE a.number = ?1"
    );
    Ok(db.prepare_cached(&sql)?.query_row([number], StoredArtifact::from_row).optional()?)
}

pub(super) fn live_numbers(db: &Connection, owner: i64, now: i64) -> Result<Vec<i64>, StoreError> {
    let sql = format!("SELECT number FROM artifact a WHERE owner = ?1 AND {NOT_EXPIRED} ORDER BY number");
    let mut statement = db.prepare_cached(&sql)?;
    let numbers = statement.query_map([owner, now], |row| row.get(0))?;
    Ok(numbers.collect::<Result<_, _>>()?)
}

pub(super) fn recent(
    db: &Connection,
    scope: &OwnerScope,
    filter: &ArtifactFilter,
    limit: usize,
) -> Result<Vec<Artifact>, StoreError> {
    let Some(owner) = owner(db, &scope.owner)? else { return Ok(Vec::new()) };
    // Every word must occur. Every tag must occur between line feeds.
    let sql = format!(
        "SELECT {ARTIFACT_COLUMNS} FROM artifact a JOIN text t ON t.number = a.text WHERE a.owner = ?1 AND {NOT_EXPIRED}
            AND NOT EXISTS (SELECT 1 FROM json_each(?3) tag WHERE instr(a.tags, tag.value) = 0)
            AND NOT EXISTS (SELECT 1 FROM json_each(?4) word WHERE instr(a.words, word.value) = 0)
         ORDER BY a.created DESC, a.number DESC LIMIT ?5"
    );
    let tags = list(filter.tags.iter().map(|tag| format!("\n{tag}\n")));
    let words = list(filter.words.split_whitespace().map(str::to_owned));
    let mut statement = db.prepare_cached(&sql)?;
    let found = statement
        .query_map(params![owner, scope.now, tags, words, limit as i64], StoredArtifact::from_row)?;
    Ok(found.map(|found| found.map(StoredArtifact::artifact)).collect::<Result<_, _>>()?)
}

/// Returns the owner and id of artifacts without a subject.
pub(super) fn without_subject(
    db: &Connection,
    now: i64,
    limit: usize,
) -> Result<Vec<(String, String)>, StoreError> {
    let mut found = db.prepare_cached(
        "SELECT o.name, a.id FROM artifact a JOIN owner o ON o.number = a.owner
         WHERE a.subject IS NULL AND (a.expires IS NULL OR a.expires > ?1) LIMIT ?2",
    )?;
    let found = found.query_map(params![now, limit as i64], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(found.collect::<Result<_, _>>()?)
}

pub(super) fn text(
    db: &Connection,
    scope: &OwnerScope,
    id: &str,
    span: ArtifactSpan,
) -> Result<Option<PackedText>, StoreError> {
    let Some(owner) = owner(db, &scope.owner)? else { return Ok(None) };
    let Some(found) = by_id(db, owner, id, scope.now)? else { return Ok(None) };
    let mut starts = db.prepare_cached(
        "SELECT characters_before, feeds_before FROM text_block WHERE text = ?1 ORDER BY position",
    )?;
    let start = |row: &Row<'_>| Ok(BlockStart { characters: row.get(0)?, line_feeds: row.get(1)? });
    let starts: Vec<BlockStart> = starts.query_map([found.text], start)?.collect::<Result<_, _>>()?;
    let wanted = span.blocks(&starts);
    let mut blocks = db.prepare_cached(
        "SELECT size, digest, packed, position FROM text_block WHERE text = ?1 AND position >= ?2 AND position < ?3
         ORDER BY position",
    )?;
    let block = |row: &Row<'_>| {
        let position = usize::try_from(row.get::<_, i64>(3)?).unwrap_or(0);
        let start = starts.get(position).copied().unwrap_or(BlockStart { characters: 0, line_feeds: 0 });
        Ok(TextBlock { start, size: row.get(0)?, digest: row.get(1)?, packed: row.get(2)? })
    };
    let range = params![found.text, wanted.start as i64, wanted.end as i64];
    let blocks = blocks.query_map(range, block)?.collect::<Result<_, _>>()?;
    let mut text = db.prepare_cached("SELECT digest, characters FROM text WHERE number = ?1")?;
    let (digest, characters) = text.query_row([found.text], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(Some(PackedText { digest, size: found.size, lines: found.lines, characters, blocks }))
}

pub(super) fn text_to_embed(db: &Connection, key: &str) -> Result<Option<String>, StoreError> {
    Ok(by_number(db, item_number(key))?.and_then(|found| found.row.text_to_embed()))
}

/// Returns the used bytes of the file, including uncommitted changes.
pub(super) fn bytes(db: &Connection) -> Result<u64, StoreError> {
    let number = |of: &str| db.query_row(&format!("PRAGMA {of}"), [], |row| row.get::<_, i64>(0));
    let pages = number("page_count")? - number("freelist_count")?;
    Ok(u64::try_from(pages * number("page_size")?).unwrap_or(0))
}
