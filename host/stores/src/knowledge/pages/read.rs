//! Reads stored pages, their links and counts.

use std::collections::HashMap;

use gatehouse_core::ports::knowledge::{EngineStatistics, KnowledgePage, PageLink, PageNeighbor};

use crate::{
    engine::{PageHead, PageScope, statistics_of},
    sql::{Result, Session, SqlRow, StoreError, values},
    wiki::{
        ids,
        record::{PageOrigin, PageRecord, parse_type},
    },
};

/// Returns the pages with these ids, without their links, and their numbers.
async fn pages_without_links(db: Session<'_>, ids: &[String]) -> Result<Vec<(i64, PageRecord)>> {
    let keys: Vec<String> = ids.iter().map(|id| ids::key(id)).collect();
    let sql = "SELECT p.number, p.id, p.type, p.title, b.overview, b.content, p.domains, p.sources,
            p.last_updated, p.hash, p.root, p.file
         FROM page p JOIN page_body b ON b.page = p.number WHERE p.key IN @texts(?1)";
    db.rows(sql, values![keys], |row| Ok((row.get(0)?, record(row)?))).await
}

fn record(row: &SqlRow<'_>) -> Result<PageRecord> {
    let list = |at: usize| row.get::<String>(at);
    Ok(PageRecord {
        id: row.get(1)?,
        page_type: parse_type(&row.get::<String>(2)?).map_err(StoreError::InvalidValue)?,
        title: row.get(3)?,
        overview: row.get(4)?,
        content: row.get(5)?,
        domains: serde_json::from_str(&list(6)?).map_err(StoreError::invalid)?,
        sources: serde_json::from_str(&list(7)?).map_err(StoreError::invalid)?,
        links: Vec::new(),
        last_updated: row.get(8)?,
        hash: row.get(9)?,
        origin: PageOrigin::from_columns(row.get(10)?, row.get(11)?),
    })
}

pub(super) async fn records(db: Session<'_>, ids: &[String]) -> Result<Vec<PageRecord>> {
    let mut pages: HashMap<i64, PageRecord> = pages_without_links(db, ids).await?.into_iter().collect();
    let numbers: Vec<i64> = pages.keys().copied().collect();
    let sql = "SELECT page, edge, target FROM link WHERE page IN @numbers(?1) ORDER BY page, position";
    let link = |row: &SqlRow<'_>| Ok((row.get(0)?, PageLink { edge: row.get(1)?, target: row.get(2)? }));
    for (number, link) in db.rows::<_, Vec<(i64, PageLink)>>(sql, values![numbers], link).await? {
        pages.entry(number).and_modify(|page| page.links.push(link));
    }
    Ok(pages.into_values().collect())
}

/// Returns the pages in the order of the ids.
pub(super) async fn pages(db: Session<'_>, ids: &[String]) -> Result<Vec<Option<KnowledgePage>>> {
    let records = pages_without_links(db, ids).await?;
    let numbers: Vec<i64> = records.iter().map(|(number, _)| *number).collect();
    let mut page_neighbors = neighbors(db, &numbers).await?;
    let mut pages = HashMap::new();
    for (number, record) in records {
        let neighbors = PageNeighbor::deduplicate(page_neighbors.remove(&number).unwrap_or_default());
        pages.insert(record.key(), record.into_page(neighbors));
    }
    Ok(ids.iter().map(|id| pages.remove(&ids::key(id))).collect())
}

/// Returns the existing pages one link away from each page, by its number.
async fn neighbors(db: Session<'_>, numbers: &[i64]) -> Result<HashMap<i64, Vec<PageNeighbor>>> {
    // A link is outgoing if this page declares it or the other page declares it inverse.
    let sql = "SELECT l.page, l.canonical, l.inverse = 0, p.id, p.title
            FROM link l JOIN page p ON p.key = l.target_key WHERE l.page IN @numbers(?1)
         UNION
         SELECT own.number, l.canonical, l.inverse = 1, p.id, p.title
            FROM page own JOIN link l ON l.target_key = own.key
            JOIN page p ON p.number = l.page WHERE own.number IN @numbers(?1)";
    let neighbor = |row: &SqlRow<'_>| {
        let (edge, outgoing, id, title) = (row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?);
        Ok((row.get(0)?, PageNeighbor { edge, outgoing, id, title }))
    };
    let mut by_page: HashMap<i64, Vec<PageNeighbor>> = HashMap::new();
    for (number, neighbor) in db.rows::<_, Vec<_>>(sql, values![numbers], neighbor).await? {
        by_page.entry(number).or_default().push(neighbor);
    }
    Ok(by_page)
}

/// Returns the heads of the pages in scope, by id.
pub(super) async fn heads(db: Session<'_>, scope: &PageScope) -> Result<Vec<PageHead>> {
    let head = |row: &SqlRow<'_>| {
        let origin = PageOrigin::from_columns(row.get(3)?, row.get(4)?);
        Ok(PageHead { id: row.get(0)?, title: row.get(1)?, hash: row.get(2)?, origin })
    };
    let sql =
        |condition: &str| format!("SELECT id, title, hash, root, file FROM page {condition} ORDER BY id");
    let PageScope::Matching { ids, root } = scope else { return db.rows(&sql(""), &[], head).await };
    let keys: Vec<String> = ids.iter().map(|id| ids::key(id)).collect();
    match root {
        None => db.rows(&sql("WHERE key IN @texts(?1)"), values![keys], head).await,
        // PostgreSQL would go through all pages for a condition with OR.
        Some(root) => {
            let either =
                "WHERE key IN @texts(?1) UNION SELECT id, title, hash, root, file FROM page WHERE root = ?2";
            db.rows(&sql(either), values![keys, root], head).await
        }
    }
}

/// Returns the sorted domains in use, or those of `among` that are in use.
pub(super) async fn domains(db: Session<'_>, among: Option<&[String]>) -> Result<Vec<String>> {
    let mut domains: Vec<String> = match among {
        None => db.column("SELECT DISTINCT key FROM domain", &[]).await?,
        Some(among) => {
            let sql = "SELECT DISTINCT given.value FROM @texts(?1) AS given
                 WHERE EXISTS (SELECT 1 FROM domain d WHERE d.key = given.value)";
            db.column(sql, values![among]).await?
        }
    };
    domains.sort_unstable();
    Ok(domains)
}

pub(super) async fn statistics(db: Session<'_>, engine: &str) -> Result<EngineStatistics> {
    let by_type = "SELECT type, count(*) FROM page GROUP BY type";
    let by_type = db.rows(by_type, &[], |row| Ok((row.get(0)?, row.count(1)?))).await?;
    let links = "SELECT count(*) FROM (SELECT DISTINCT l.canonical, CASE WHEN l.inverse = 1 THEN p.number ELSE l.page END,
            CASE WHEN l.inverse = 1 THEN l.page ELSE p.number END
         FROM link l JOIN page p ON p.key = l.target_key) AS edge";
    let links = db.first(links, &[], |row| row.count(0)).await?.unwrap_or(0);
    Ok(statistics_of(engine, &by_type, links))
}
