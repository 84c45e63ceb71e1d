//! Reads artifacts and their texts, and finds candidates of one owner by words and by vector.

use std::collections::{BTreeSet, HashMap};

use gatehouse_core::{
    ports::artifacts::{Artifact, ArtifactFilter},
    search::{NameMatch, ScoredCandidate},
};
use rusqlite::{Connection, Params, Row, params};

use super::write::index;
use crate::{
    artifacts::{
        blocks::TextBlock,
        engine::{
            ArtifactCandidate, ArtifactCandidates, ArtifactQuestion, ArtifactSpan, BlockStart, NearestItem,
            OwnerHolding, OwnerScope, PackedText, item_number,
        },
        row::{ArtifactRow, StoredArtifact, split_tags},
    },
    sqlite::{
        error::Result,
        query::list,
        statements::CachedStatements as _,
        vector_cache::VectorCache,
        vectors,
        words::{self, RowFilter},
    },
};

/// Selects artifacts `a` and their texts `t` with the columns that [`from_row`] reads.
const SELECT_ARTIFACT: &str = "SELECT a.number, a.owner, a.text, t.size, t.lines, a.id, a.mime_type, a.tool,
        a.source, a.preset, a.summary, a.tags, a.created, a.expires, a.ttl, a.subject
     FROM artifact a JOIN text t ON t.number = a.text";

/// Condition: owned by the owner named `?1` and not expired at `?2`.
const LIVE: &str =
    "a.owner = (SELECT number FROM owner WHERE name = ?1) AND (a.expires IS NULL OR a.expires > ?2)";

fn from_row(row: &Row<'_>) -> rusqlite::Result<StoredArtifact<i64>> {
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
            tags: split_tags(row.get_ref(11)?.as_str()?),
            created: row.get(12)?,
            expires: row.get(13)?,
            ttl: row.get(14)?,
            subject: row.get(15)?,
        },
    })
}

/// Returns the artifact that meets a condition, expired or not.
pub(super) fn one(
    db: &Connection,
    condition: &str,
    values: impl Params,
) -> Result<Option<StoredArtifact<i64>>> {
    db.first(&format!("{SELECT_ARTIFACT} WHERE {condition}"), values, from_row)
}

pub(super) fn by_number(db: &Connection, number: i64) -> Result<Option<StoredArtifact<i64>>> {
    one(db, "a.number = ?1", [number])
}

pub(super) fn find_live(
    db: &Connection,
    scope: &OwnerScope,
    id: &str,
) -> Result<Option<StoredArtifact<i64>>> {
    one(db, &format!("{LIVE} AND a.id = ?3"), params![scope.owner, scope.now, id])
}

pub(super) fn info(db: &Connection, scope: &OwnerScope, id: &str) -> Result<Option<Artifact>> {
    Ok(find_live(db, scope, id)?.map(StoredArtifact::artifact))
}

/// Returns the number of an owner. `None` if nothing was ever stored for it.
pub(super) fn owner(db: &Connection, name: &str) -> Result<Option<i64>> {
    db.find("SELECT number FROM owner WHERE name = ?1", [name])
}

/// Returns what an owner holds, without what has expired.
pub(super) fn live_holding(db: &Connection, scope: &OwnerScope) -> Result<OwnerHolding> {
    let sql = format!(
        "SELECT count(*), coalesce(sum(t.size), 0) FROM artifact a JOIN text t ON t.number = a.text WHERE {LIVE}"
    );
    Ok(db.first(&sql, params![scope.owner, scope.now], holding)?.unwrap_or_default())
}

/// Returns what each owner holds, by its number.
pub(super) fn holdings(db: &Connection) -> Result<Vec<(i64, OwnerHolding)>> {
    let sql = "SELECT count(*), sum(t.size), a.owner FROM artifact a JOIN text t ON t.number = a.text
         GROUP BY a.owner";
    db.all(sql, [], |row| Ok((row.get(2)?, holding(row)?)))
}

pub(super) fn named_holdings(db: &Connection) -> Result<Vec<(String, OwnerHolding)>> {
    let sql = "SELECT count(*), sum(t.size), o.name FROM artifact a JOIN text t ON t.number = a.text
         JOIN owner o ON o.number = a.owner GROUP BY a.owner ORDER BY o.name";
    db.all(sql, [], |row| Ok((row.get(2)?, holding(row)?)))
}

fn holding(row: &Row<'_>) -> rusqlite::Result<OwnerHolding> {
    let number = |column: usize| row.get::<_, i64>(column).map(i64::unsigned_abs);
    Ok(OwnerHolding { artifacts: number(0)?, bytes: number(1)? })
}

pub(super) fn recent(
    db: &Connection,
    scope: &OwnerScope,
    filter: &ArtifactFilter,
    limit: usize,
) -> Result<Vec<Artifact>> {
    // Every word must occur. Every tag must occur between line feeds.
    let sql = format!(
        "{SELECT_ARTIFACT} WHERE {LIVE}
            AND NOT EXISTS (SELECT 1 FROM json_each(?3) tag WHERE instr(a.tags, tag.value) = 0)
            AND NOT EXISTS (SELECT 1 FROM json_each(?4) word WHERE instr(a.words, word.value) = 0)
         ORDER BY a.created DESC, a.number DESC LIMIT ?5"
    );
    let tags = list(filter.tags.iter().map(|tag| format!("\n{tag}\n")));
    let words = list(filter.words.split_whitespace().map(str::to_owned));
    let values = params![scope.owner, scope.now, tags, words, limit as i64];
    db.all(&sql, values, |row| Ok(from_row(row)?.artifact()))
}

/// Returns the owner and id of artifacts without a subject.
pub(super) fn without_subject(db: &Connection, now: i64, limit: usize) -> Result<Vec<(String, String)>> {
    let sql = "SELECT o.name, a.id FROM artifact a JOIN owner o ON o.number = a.owner
         WHERE a.subject IS NULL AND (a.expires IS NULL OR a.expires > ?1) LIMIT ?2";
    db.all(sql, params![now, limit as i64], |row| Ok((row.get(0)?, row.get(1)?)))
}

pub(super) fn text(
    db: &Connection,
    scope: &OwnerScope,
    id: &str,
    span: ArtifactSpan,
) -> Result<Option<PackedText>> {
    let Some(stored_artifact) = find_live(db, scope, id)? else { return Ok(None) };
    let start = |row: &Row<'_>| Ok(BlockStart { characters: row.get(0)?, line_feeds: row.get(1)? });
    let starts = "SELECT characters_before, feeds_before FROM text_block WHERE text = ?1 ORDER BY position";
    let block_range = span.blocks(&db.all::<_, Vec<_>>(starts, [stored_artifact.text], start)?);
    let block = |row: &Row<'_>| {
        Ok(TextBlock { start: start(row)?, size: row.get(2)?, digest: row.get(3)?, packed: row.get(4)? })
    };
    let blocks = db.all(
        "SELECT characters_before, feeds_before, size, digest, packed FROM text_block
         WHERE text = ?1 AND position >= ?2 AND position < ?3 ORDER BY position",
        params![stored_artifact.text, block_range.start as i64, block_range.end as i64],
        block,
    )?;
    let text = "SELECT digest, characters FROM text WHERE number = ?1";
    let text = db.first(text, [stored_artifact.text], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(text.map(|(digest, characters)| PackedText {
        digest,
        size: stored_artifact.size,
        lines: stored_artifact.lines,
        characters,
        blocks,
    }))
}

pub(super) fn text_to_embed(db: &Connection, key: &str) -> Result<Option<String>> {
    Ok(by_number(db, item_number(key))?.and_then(|stored_artifact| stored_artifact.row.text_to_embed()))
}

/// Returns the used bytes of the file, including uncommitted changes.
pub(super) fn bytes(db: &Connection) -> Result<u64> {
    let number = |of: &str| db.value::<i64>(&format!("PRAGMA {of}"), []);
    let pages = number("page_count")? - number("freelist_count")?;
    Ok(u64::try_from(pages * number("page_size")?).unwrap_or(0))
}

/// Returns the best artifacts by words and by vector, each scored in both ways.
pub(super) fn candidates(
    db: &Connection,
    cache: &VectorCache,
    question: &ArtifactQuestion,
) -> Result<ArtifactCandidates> {
    let mut result = ArtifactCandidates::default();
    let scope = &question.scope;
    let Some(owner) = owner(db, &scope.owner)? else { return Ok(result) };
    let live = format!("SELECT number FROM artifact a WHERE {LIVE} ORDER BY number");
    let live: Vec<i64> = db.column(&live, params![scope.owner, scope.now])?;
    // The plus makes SQLite look up the words once instead of once per artifact.
    let condition = " AND +rowid IN (SELECT value FROM json_each(?))".to_owned();
    let filter = RowFilter { condition, value: Some(list(live.iter().copied())) };
    let words =
        words::search(db, &index(owner), &question.query, &filter, live.len() as i64, question.limit)?;
    let best = words::best(&words.scores, question.pool, |number| Ok(Some(number.to_string())))?;
    let mut numbers: BTreeSet<i64> = best.into_iter().collect();
    let mut cached = None;
    if let Some(vector) = &question.vector {
        cached = cache.load(db, vector)?.map(|cached| (cached, &vector.values));
        let without = "SELECT count(*) FROM artifact a JOIN item i ON i.number = a.number WHERE a.owner = ?1
            AND NOT EXISTS (SELECT 1 FROM vector v WHERE v.item = i.number AND v.model = ?2)";
        let model = vectors::model(db, &vector.model)?;
        result.without_vector = db.value::<i64>(without, params![owner, model])? as usize;
    }
    if let Some((cached, values)) = &cached {
        let close = |cosine: f32| vectors::may_be_near(cosine, !words.scores.is_empty());
        let nearest = cached.nearest(values, Some(&live), question.pool).into_iter();
        numbers.extend(nearest.filter(|(_, cosine)| close(*cosine)).map(|(number, _)| number));
    }
    let foreign: HashMap<i64, &NearestItem> =
        question.near.iter().map(|item| (item_number(&item.key), item)).collect();
    numbers.extend(foreign.keys().filter(|number| live.binary_search(number).is_ok()));
    for number in numbers {
        let Some(stored) = by_number(db, number)? else { continue };
        let bm25 = words.scores.get(&number).copied().unwrap_or(0.0);
        let cosine = match &cached {
            Some((cached, values)) => vectors::cosine(db, cached.model(), number, values)?,
            None => foreign.get(&number).and_then(|item| item.cosine_if_current(&stored.row)),
        };
        let (body, artifact) = (stored.row.body(), stored.artifact());
        let scored = ScoredCandidate { key: artifact.id.clone(), name: NameMatch::No, bm25, cosine };
        result.candidates.push(ArtifactCandidate { scored, artifact, body });
    }
    Ok(result)
}
