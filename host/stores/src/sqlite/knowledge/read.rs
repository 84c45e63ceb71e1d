//! Reads stored pages, their links and counts.

use gatehouse_core::ports::knowledge::{EngineStatistics, KnowledgePage, PageLink, PageNeighbor};
use rusqlite::{Connection, Row, params_from_iter};
use serde_json::Value;

use crate::{
    engine::{PageHead, PageScope, statistics_of},
    sqlite::{
        error::{Result, StoreError},
        statements::CachedStatements as _,
    },
    wiki::{
        ids,
        record::{PageOrigin, PageRecord, parse_type},
    },
};

/// Columns that [`record`] reads, in order.
const COLUMNS: &str =
    "id, type, title, overview, content, domains, sources, last_updated, hash, root, file, number";

const PAGES: &str = "page JOIN page_body ON page_body.page = page.number";

/// Returns the page with this id key, and its number.
pub(super) fn find_record(db: &Connection, key: &str) -> Result<Option<(i64, PageRecord)>> {
    let sql = format!("SELECT {COLUMNS} FROM {PAGES} WHERE key = ?1");
    let Some((number, record)) = db.first(&sql, [key], |row| Ok((row.get(11)?, record(row))))? else {
        return Ok(None);
    };
    let links = "SELECT edge, target FROM link WHERE page = ?1 ORDER BY position";
    let link = |row: &Row<'_>| Ok(PageLink { edge: row.get(0)?, target: row.get(1)? });
    Ok(Some((number, PageRecord { links: db.all(links, [number], link)?, ..record? })))
}

pub(super) fn number(db: &Connection, key: &str) -> Result<Option<i64>> {
    db.find("SELECT number FROM page WHERE key = ?1", [key])
}

pub(super) fn id(db: &Connection, number: i64) -> Result<Option<String>> {
    db.find("SELECT id FROM page WHERE number = ?1", [number])
}

fn record(row: &Row<'_>) -> Result<PageRecord> {
    Ok(PageRecord {
        id: row.get(0)?,
        page_type: parse_type(&row.get::<_, String>(1)?).map_err(StoreError::InvalidValue)?,
        title: row.get(2)?,
        overview: row.get(3)?,
        content: row.get(4)?,
        domains: serde_json::from_str(&row.get::<_, String>(5)?).map_err(StoreError::invalid)?,
        sources: serde_json::from_str(&row.get::<_, String>(6)?).map_err(StoreError::invalid)?,
        links: Vec::new(),
        last_updated: row.get(7)?,
        hash: row.get(8)?,
        origin: PageOrigin::from_columns(row.get(9)?, row.get(10)?),
    })
}

pub(super) fn page(db: &Connection, id: &str) -> Result<Option<KnowledgePage>> {
    let Some((number, record)) = find_record(db, &ids::key(id))? else { return Ok(None) };
    Ok(Some(record.into_page(neighbors(db, number)?)))
}

/// Returns the existing pages one link away. Each edge counts once, even if both pages declare it.
fn neighbors(db: &Connection, number: i64) -> Result<Vec<PageNeighbor>> {
    // A link is outgoing if this page declares it or the other page declares it inverse.
    let sql =
        "SELECT l.kept, l.inverse = 0, p.id, p.title FROM link l JOIN page p ON p.key = l.target_key WHERE l.page = ?1
         UNION
         SELECT l.kept, l.inverse = 1, p.id, p.title FROM page own JOIN link l ON l.target_key = own.key
            JOIN page p ON p.number = l.page WHERE own.number = ?1";
    let neighbors: Vec<_> = db.all(sql, [number], |row| {
        Ok(PageNeighbor { edge: row.get(0)?, outgoing: row.get(1)?, id: row.get(2)?, title: row.get(3)? })
    })?;
    Ok(PageNeighbor::deduplicate(neighbors))
}

pub(super) fn heads(db: &Connection, scope: &PageScope) -> Result<Vec<PageHead>> {
    let (condition, values) = match scope {
        PageScope::All => ("", Vec::new()),
        PageScope::Matching { ids, root } => {
            let keys: Value = ids.iter().map(|id| ids::key(id)).collect();
            let condition = " WHERE key IN (SELECT value FROM json_each(?1)) OR root = ?2";
            (condition, vec![Some(keys.to_string()), root.clone()])
        }
    };
    let sql = format!("SELECT id, title, hash, root, file FROM page{condition} ORDER BY id");
    db.all(&sql, params_from_iter(values), |row| {
        let origin = PageOrigin::from_columns(row.get(3)?, row.get(4)?);
        Ok(PageHead { id: row.get(0)?, title: row.get(1)?, hash: row.get(2)?, origin })
    })
}

/// Returns the sorted domains in use, or those of `requested_domains` that are in use.
pub(super) fn domains(db: &Connection, requested_domains: Option<&[String]>) -> Result<Vec<String>> {
    let Some(requested_domains) = requested_domains else {
        return db.column("SELECT DISTINCT key FROM domain ORDER BY key", []);
    };
    let mut existing_domains = Vec::new();
    for domain in requested_domains {
        if db.find::<i64>("SELECT 1 FROM domain WHERE key = ?1 LIMIT 1", [domain])?.is_some() {
            existing_domains.push(domain.clone());
        }
    }
    Ok(existing_domains)
}

pub(super) fn statistics(db: &Connection) -> Result<EngineStatistics> {
    let by_type = db.all("SELECT type, count(*) FROM page GROUP BY type", [], |row| row.try_into())?;
    let links = "SELECT count(*) FROM (SELECT DISTINCT l.kept, iif(l.inverse, p.number, l.page),
            iif(l.inverse, l.page, p.number) FROM link l JOIN page p ON p.key = l.target_key)";
    Ok(statistics_of(super::NAME, &by_type, db.value(links, [])?))
}
