//! Reads stored pages, their links and counts.

use gatehouse_core::ports::knowledge::{EngineStatistics, KnowledgePage, PageNeighbor, PageType};
use rusqlite::{Connection, OptionalExtension as _, Row, params};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{
    engine::{PageHead, PageScope},
    sqlite::error::StoreError,
    wiki::{
        ids,
        record::{PageOrigin, PageRecord},
    },
};

/// Columns that [`record`] reads, in order.
const COLUMNS: &str =
    "id, type, title, overview, content, domains, sources, last_updated, hash, root, file, number";

const PAGES: &str = "page JOIN page_body ON page_body.page = page.number";

/// Returns the page with this id key, and its number.
pub(super) fn find_record(db: &Connection, key: &str) -> Result<Option<(i64, PageRecord)>, StoreError> {
    let mut statement = db.prepare_cached(&format!("SELECT {COLUMNS} FROM {PAGES} WHERE key = ?1"))?;
    let found = statement.query_row([key], |row| Ok((row.get(11)?, record(row)))).optional()?;
    let Some((number, record)) = found else { return Ok(None) };
    let mut record = record?;
    record.links = declared_links(db, number)?;
    Ok(Some((number, record)))
}

pub(super) fn number(db: &Connection, key: &str) -> Result<Option<i64>, StoreError> {
    let mut statement = db.prepare_cached("SELECT number FROM page WHERE key = ?1")?;
    Ok(statement.query_row([key], |row| row.get(0)).optional()?)
}

pub(super) fn id(db: &Connection, number: i64) -> Result<Option<String>, StoreError> {
    let mut statement = db.prepare_cached("SELECT id FROM page WHERE number = ?1")?;
    Ok(statement.query_row([number], |row| row.get(0)).optional()?)
}

fn record(row: &Row<'_>) -> Result<PageRecord, StoreError> {
    let root: Option<String> = row.get(9)?;
    let file: Option<String> = row.get(10)?;
    Ok(PageRecord {
        id: row.get(0)?,
        page_type: page_type(&row.get::<_, String>(1)?)?,
        title: row.get(2)?,
        overview: row.get(3)?,
        content: row.get(4)?,
        domains: json(&row.get::<_, String>(5)?)?,
        sources: json(&row.get::<_, String>(6)?)?,
        links: Vec::new(),
        last_updated: row.get(7)?,
        hash: row.get(8)?,
        origin: root.zip(file).map(|(root, file)| PageOrigin { root, file }),
    })
}

fn page_type(text: &str) -> Result<PageType, StoreError> {
    text.parse().map_err(|_| StoreError::InvalidValue(format!("'{text}' is not a page type")))
}

fn json<T: DeserializeOwned>(text: &str) -> Result<T, StoreError> {
    serde_json::from_str(text).map_err(|error| StoreError::InvalidValue(error.to_string()))
}

fn declared_links(
    db: &Connection,
    number: i64,
) -> Result<Vec<gatehouse_core::ports::knowledge::PageLink>, StoreError> {
    let mut statement =
        db.prepare_cached("SELECT edge, target FROM link WHERE page = ?1 ORDER BY position")?;
    let links = statement.query_map([number], |row| {
        Ok(gatehouse_core::ports::knowledge::PageLink { edge: row.get(0)?, target: row.get(1)? })
    })?;
    Ok(links.collect::<Result<_, _>>()?)
}

pub(super) fn page(db: &Connection, id: &str) -> Result<Option<KnowledgePage>, StoreError> {
    let Some((number, record)) = find_record(db, &ids::key(id))? else { return Ok(None) };
    Ok(Some(record.into_page(neighbors(db, number)?)))
}

/// Returns the existing pages one link away. Each edge counts once, even if both pages declare it.
fn neighbors(db: &Connection, number: i64) -> Result<Vec<PageNeighbor>, StoreError> {
    // A link is outgoing if this page declares it or the other page declares it inverse.
    let mut statement = db.prepare_cached(
        "SELECT l.kept, l.inverse = 0, p.id, p.title FROM link l JOIN page p ON p.key = l.target_key WHERE l.page = ?1
         UNION
         SELECT l.kept, l.inverse = 1, p.id, p.title FROM page own JOIN link l ON l.target_key = own.key
            JOIN page p ON p.number = l.page WHERE own.number = ?1",
    )?;
    let found = statement.query_map([number], |row| {
        Ok(PageNeighbor { edge: row.get(0)?, outgoing: row.get(1)?, id: row.get(2)?, title: row.get(3)? })
    })?;
    Ok(PageNeighbor::deduplicate(found.collect::<Result<Vec<_>, _>>()?))
}

pub(super) fn heads(db: &Connection, scope: &PageScope) -> Result<Vec<PageHead>, StoreError> {
    let (condition, values) = match scope {
        PageScope::All => ("", Vec::new()),
        PageScope::Matching { ids, root } => {
            let keys: Value = ids.iter().map(|id| ids::key(id)).collect();
            let condition = " WHERE key IN (SELECT value FROM json_each(?1)) OR root = ?2";
            (condition, vec![Some(keys.to_string()), root.clone()])
        }
    };
    let sql = format!("SELECT id, title, hash, root, file FROM page{condition} ORDER BY id");
    let mut statement = db.prepare_cached(&sql)?;
    let found = statement.query_map(rusqlite::params_from_iter(values), |row| {
        let origin = row.get::<_, Option<String>>(3)?.zip(row.get(4)?);
        Ok(PageHead {
            id: row.get(0)?,
            title: row.get(1)?,
            hash: row.get(2)?,
            origin: origin.map(|(root, file)| PageOrigin { root, file }),
        })
    })?;
    Ok(found.collect::<Result<_, _>>()?)
}

pub(super) fn ids_by_title(db: &Connection, title_key: &str) -> Result<Vec<String>, StoreError> {
    let mut statement = db.prepare_cached("SELECT id FROM page WHERE title_key = ?1 ORDER BY id")?;
    let found = statement.query_map([title_key], |row| row.get(0))?;
    Ok(found.collect::<Result<_, _>>()?)
}

/// Returns the sorted domains in use, or those of `asked` that are in use.
pub(super) fn domains(db: &Connection, asked: Option<&[String]>) -> Result<Vec<String>, StoreError> {
    let Some(asked) = asked else {
        let mut statement = db.prepare_cached("SELECT DISTINCT key FROM domain ORDER BY key")?;
        let found = statement.query_map([], |row| row.get(0))?;
        return Ok(found.collect::<Result<_, _>>()?);
    };
    let mut statement = db.prepare_cached("SELECT 1 FROM domain WHERE key = ?1 LIMIT 1")?;
    let mut found = Vec::new();
    for domain in asked {
        if statement.exists([domain])? {
            found.push(domain.clone());
        }
    }
    Ok(found)
}

pub(super) fn statistics(db: &Connection) -> Result<EngineStatistics, StoreError> {
    let count = |sql: &str| db.query_row(sql, [], |row| row.get::<_, u32>(0));
    let mut by_type = Vec::new();
    for kind in PageType::ALL {
        let pages =
            db.query_row("SELECT count(*) FROM page WHERE type = ?1", params![kind.as_str()], |row| {
                row.get(0)
            })?;
        if pages > 0 {
            by_type.push((kind, pages));
        }
    }
    Ok(EngineStatistics {
        engine: super::NAME.to_owned(),
        pages: count("SELECT count(*) FROM page")?,
        links: count(
            "SELECT count(*) FROM (SELECT DISTINCT l.kept, iif(l.inverse, p.number, l.page), iif(l.inverse, l.page, p.number)
             FROM link l JOIN page p ON p.key = l.target_key)",
        )?,
        by_type,
    })
}
