//! Reads stored pages, their links and statistics.

use std::collections::HashMap;

use gatehouse_core::ports::knowledge::{EngineStatistics, KnowledgePage, PageLink, PageNeighbor};
use tokio_postgres::Row;

use super::{
    super::{
        error::{Result, StoreError, column, count},
        session::PostgresSession,
    },
    key,
};
use crate::{
    engine::{PageHead, PageScope, statistics_of},
    wiki::record::{PageOrigin, PageRecord, parse_type},
};

/// Columns that [`record`] reads, in its order.
const COLUMNS: &str = "p.number, p.id, p.type, p.title, b.overview, b.content, p.domains, p.sources,
    p.last_updated, p.hash, p.root, p.file";

const PAGES: &str = "gatehouse.page p JOIN gatehouse.page_body b ON b.page = p.number";

pub(super) async fn records(db: &PostgresSession, ids: &[String]) -> Result<Vec<PageRecord>> {
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
    db.all(&sql, &[&keys], whole).await
}

/// Decodes a page without its links.
fn record(row: &Row) -> Result<(i64, PageRecord)> {
    let page = PageRecord {
        id: column(row, 1)?,
        page_type: parse_type(&column::<String>(row, 2)?).map_err(StoreError::InvalidValue)?,
        title: column(row, 3)?,
        overview: column(row, 4)?,
        content: column(row, 5)?,
        domains: column(row, 6)?,
        sources: serde_json::from_str(&column::<String>(row, 7)?).map_err(StoreError::invalid)?,
        links: Vec::new(),
        last_updated: column(row, 8)?,
        hash: column(row, 9)?,
        origin: PageOrigin::from_columns(column(row, 10)?, column(row, 11)?),
    };
    Ok((column(row, 0)?, page))
}

/// Returns the pages in the order of `ids`.
pub(super) async fn pages(db: &PostgresSession, ids: &[String]) -> Result<Vec<Option<KnowledgePage>>> {
    let keys: Vec<String> = ids.iter().map(|id| key(id)).collect();
    let sql = format!("SELECT {COLUMNS} FROM {PAGES} WHERE p.key = ANY($1)");
    let records: Vec<(i64, PageRecord)> = db.all(&sql, &[&keys], record).await?;
    let numbers: Vec<i64> = records.iter().map(|(number, _)| *number).collect();
    let mut page_neighbors = neighbors(db, &numbers).await?;
    let mut pages = HashMap::new();
    for (number, record) in records {
        pages.insert(record.key(), record.into_page(page_neighbors.remove(&number).unwrap_or_default()));
    }
    Ok(keys.iter().map(|key| pages.remove(key)).collect())
}

/// Returns existing pages one link away from each page. An edge declared several times, or from both ends, appears
/// once.
async fn neighbors(db: &PostgresSession, numbers: &[i64]) -> Result<HashMap<i64, Vec<PageNeighbor>>> {
    // A link declared here is outgoing unless it is inverse; a link declared there is incoming unless it is.
    let sql = "SELECT l.page, l.kept, NOT l.inverse, p.id, p.title
            FROM gatehouse.link l JOIN gatehouse.page p ON p.key = l.target_key WHERE l.page = ANY($1)
         UNION
         SELECT own.number, l.kept, l.inverse, p.id, p.title
            FROM gatehouse.page own JOIN gatehouse.link l ON l.target_key = own.key
            JOIN gatehouse.page p ON p.number = l.page WHERE own.number = ANY($1)";
    let mut by_page: HashMap<i64, Vec<PageNeighbor>> = HashMap::new();
    for row in db.rows(sql, &[&numbers]).await? {
        let neighbour = PageNeighbor {
            edge: column(&row, 1)?,
            outgoing: column(&row, 2)?,
            id: column(&row, 3)?,
            title: column(&row, 4)?,
        };
        by_page.entry(column(&row, 0)?).or_default().push(neighbour);
    }
    Ok(by_page
        .into_iter()
        .map(|(number, neighbors)| (number, PageNeighbor::deduplicate(neighbors)))
        .collect())
}

/// Returns the heads of the pages in scope, by id.
pub(super) async fn heads(db: &PostgresSession, scope: &PageScope) -> Result<Vec<PageHead>> {
    let of = |condition: &str| {
        format!("SELECT id, title, hash, root, file FROM gatehouse.page{condition} ORDER BY id")
    };
    let head = |row: &Row| {
        let origin = PageOrigin::from_columns(column(row, 3)?, column(row, 4)?);
        Ok(PageHead { id: column(row, 0)?, title: column(row, 1)?, hash: column(row, 2)?, origin })
    };
    match scope {
        PageScope::All => db.all(&of(""), &[], head).await,
        PageScope::Matching { ids, root } => {
            let keys: Vec<String> = ids.iter().map(|id| key(id)).collect();
            db.all(&of(" WHERE key = ANY($1) OR root = $2"), &[&keys, root], head).await
        }
    }
}

pub(super) async fn statistics(db: &PostgresSession) -> Result<EngineStatistics> {
    let pages = "SELECT type, count(*) FROM gatehouse.page GROUP BY type";
    let pages = db.all(pages, &[], |row| Ok((column(row, 0)?, count(row, 1)?))).await?;
    let links = "SELECT count(*) FROM (
            SELECT DISTINCT l.kept, CASE WHEN l.inverse THEN p.number ELSE l.page END,
                CASE WHEN l.inverse THEN l.page ELSE p.number END
            FROM gatehouse.link l JOIN gatehouse.page p ON p.key = l.target_key) edge";
    Ok(statistics_of(super::NAME, &pages, db.count(links, &[]).await?))
}
