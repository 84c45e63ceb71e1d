//! Reads stored pages, their links and statistics.

use std::collections::HashMap;

use gatehouse_core::ports::knowledge::{EngineStatistics, KnowledgePage, PageLink, PageNeighbor, PageType};
use serde::de::DeserializeOwned;
use tokio_postgres::Row;

use super::{
    super::{
        error::{StoreError, column, count},
        session::PostgresSession,
    },
    key,
};
use crate::{
    engine::{PageHead, PageScope},
    wiki::record::{PageOrigin, PageRecord},
};

/// Columns that [`record`] reads, in its order.
const COLUMNS: &str = "p.number, p.id, p.type, p.title, b.overview, b.content, p.domains, p.sources,
    p.last_updated, p.hash, p.root, p.file";

const PAGES: &str = "gatehouse.page p JOIN gatehouse.page_body b ON b.page = p.number";

pub(super) async fn records(db: &PostgresSession, ids: &[String]) -> Result<Vec<PageRecord>, StoreError> {
    let keys: Vec<String> = ids.iter().map(|id| key(id)).collect();
    let sql = format!(
        "SELECT {COLUMNS},
            ARRAY(SELECT l.edge FROM gatehouse.link l WHERE l.page = p.number ORDER BY l.position),
            ARRAY(SELECT l.target FROM gatehouse.link l WHERE l.page = p.number ORDER BY l.position)
         FROM {PAGES} WHERE p.key = ANY($1)"
    );
    let whole = |row: &Row| {
        let (_, mut page) = record(row)?;
        let (edges, targets): (Vec<String>, Vec<String>) = (column(row, 12)?, column(row, 13)?);
        page.links = edges.into_iter().zip(targets).map(|(edge, target)| PageLink { edge, target }).collect();
        Ok(page)
    };
    db.rows(&sql, &[&keys]).await?.iter().map(whole).collect()
}

/// Decodes a page without its links.
fn record(row: &Row) -> Result<(i64, PageRecord), StoreError> {
    let root: Option<String> = column(row, 10)?;
    let file: Option<String> = column(row, 11)?;
    let page = PageRecord {
        id: column(row, 1)?,
        page_type: page_type(&column::<String>(row, 2)?)?,
        title: column(row, 3)?,
        overview: column(row, 4)?,
        content: column(row, 5)?,
        domains: column(row, 6)?,
        sources: json(&column::<String>(row, 7)?)?,
        links: Vec::new(),
        last_updated: column(row, 8)?,
        hash: column(row, 9)?,
        origin: root.zip(file).map(|(root, file)| PageOrigin { root, file }),
    };
    Ok((column(row, 0)?, page))
}

fn page_type(text: &str) -> Result<PageType, StoreError> {
    text.parse().map_err(|_| StoreError::InvalidValue(format!("'{text}' is not a page type")))
}

fn json<T: DeserializeOwned>(text: &str) -> Result<T, StoreError> {
    serde_json::from_str(text).map_err(|error| StoreError::InvalidValue(error.to_string()))
}

/// Returns the pages in the order of `ids`.
pub(super) async fn pages(
    db: &PostgresSession,
    ids: &[String],
) -> Result<Vec<Option<KnowledgePage>>, StoreError> {
    let keys: Vec<String> = ids.iter().map(|id| key(id)).collect();
    let sql = format!("SELECT {COLUMNS} FROM {PAGES} WHERE p.key = ANY($1)");
    let records = db.rows(&sql, &[&keys]).await?.iter().map(record).collect::<Result<Vec<_>, _>>()?;
    let numbers: Vec<i64> = records.iter().map(|(number, _)| *number).collect();
    let mut near = neighbors(db, &numbers).await?;
    let mut found = HashMap::new();
    for (number, record) in records {
        found.insert(record.key(), record.into_page(near.remove(&number).unwrap_or_default()));
    }
    Ok(keys.iter().map(|key| found.remove(key)).collect())
}

/// Returns existing pages one link away from each page. An edge declared several times, or from both ends, appears
/// once.
async fn neighbors(
    db: &PostgresSession,
    numbers: &[i64],
) -> Result<HashMap<i64, Vec<PageNeighbor>>, StoreError> {
    // A link declared here is outgoing unless it is inverse; a link declared there is incoming unless it is.
    let sql = "SELECT l.page, l.kept, NOT l.inverse, p.id, p.title
            FROM gatehouse.link l JOIN gatehouse.page p ON p.key = l.target_key WHERE l.page = ANY($1)
         UNION
         SELECT own.number, l.kept, l.inverse, p.id, p.title
            FROM gatehouse.page own JOIN gatehouse.link l ON l.target_key = own.key
            JOIN gatehouse.page p ON p.number = l.page WHERE own.number = ANY($1)";
    let mut near: HashMap<i64, Vec<PageNeighbor>> = HashMap::new();
    for row in db.rows(sql, &[&numbers]).await? {
        let neighbour = PageNeighbor {
            edge: column(&row, 1)?,
            outgoing: column(&row, 2)?,
            id: column(&row, 3)?,
            title: column(&row, 4)?,
        };
        near.entry(column(&row, 0)?).or_default().push(neighbour);
    }
    Ok(near.into_iter().map(|(number, near)| (number, PageNeighbor::deduplicate(near))).collect())
}

/// Returns the heads of the pages in scope, by id.
pub(super) async fn heads(db: &PostgresSession, scope: &PageScope) -> Result<Vec<PageHead>, StoreError> {
    let of = |condition: &str| {
        format!("SELECT id, title, hash, root, file FROM gatehouse.page{condition} ORDER BY id")
    };
    let rows = match scope {
        PageScope::All => db.rows(&of(""), &[]).await?,
        PageScope::Matching { ids, root } => {
            let keys: Vec<String> = ids.iter().map(|id| key(id)).collect();
            db.rows(&of(" WHERE key = ANY($1) OR root = $2"), &[&keys, root]).await?
        }
    };
    let head = |row: &Row| {
        let origin = column::<Option<String>>(row, 3)?.zip(column(row, 4)?);
        Ok(PageHead {
            id: column(row, 0)?,
            title: column(row, 1)?,
            hash: column(row, 2)?,
            origin: origin.map(|(root, file)| PageOrigin { root, file }),
        })
    };
    rows.iter().map(head).collect()
}

pub(super) async fn ids_by_title(db: &PostgresSession, title_key: &str) -> Result<Vec<String>, StoreError> {
    let sql = "SELECT id FROM gatehouse.page WHERE title_key = $1 ORDER BY id";
    db.rows(sql, &[&title_key]).await?.iter().map(|row| column(row, 0)).collect()
}

/// Returns the existing domains, sorted. `asked` restricts them if it is `Some`.
pub(super) async fn domains(
    db: &PostgresSession,
    asked: Option<Vec<String>>,
) -> Result<Vec<String>, StoreError> {
    let sql =
        "SELECT DISTINCT key FROM gatehouse.domain WHERE $1::text[] IS NULL OR key = ANY($1) ORDER BY key";
    db.rows(sql, &[&asked]).await?.iter().map(|row| column(row, 0)).collect()
}

pub(super) async fn statistics(db: &PostgresSession) -> Result<EngineStatistics, StoreError> {
    let mut counted: HashMap<String, u32> = HashMap::new();
    for row in db.rows("SELECT type, count(*) FROM gatehouse.page GROUP BY type", &[]).await? {
        counted.insert(column(&row, 0)?, count(&row, 1)?);
    }
    let links = "SELECT count(*) FROM (
            SELECT DISTINCT l.kept, CASE WHEN l.inverse THEN p.number ELSE l.page END,
                CASE WHEN l.inverse THEN l.page ELSE p.number END
            FROM gatehouse.link l JOIN gatehouse.page p ON p.key = l.target_key) edge";
    let by_type = PageType::ALL.into_iter().filter_map(|kind| Some((kind, *counted.get(kind.as_str())?)));
    Ok(EngineStatistics {
        engine: super::NAME.to_owned(),
        pages: counted.values().sum(),
        links: count(&db.one(links, &[]).await?, 0)?,
        by_type: by_type.collect(),
    })
}
