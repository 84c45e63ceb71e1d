//! Writes pages. Every function runs inside a transaction of the caller, with no other writer of pages.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{read, words};
use crate::{
    engine::{PAGES, PageWrites, WriteOutcome, WritePlan, name_keys},
    sql::{Result, Session, SqlValue, StoreError, value::storable, values, vectors},
    wiki::{edges, ids, record::PageRecord},
};

/// Pages whose parts one statement inserts. Statements of PostgreSQL have a time limit.
const MAX_PAGES: usize = 500;

/// Applies a plan if it is still valid.
pub(super) async fn apply(db: Session<'_>, plan: &Arc<dyn WritePlan>) -> Result<WriteOutcome> {
    let own = Arc::clone(plan);
    let scope = db.blocking(move || own.scope()).await?;
    let (own, heads) = (Arc::clone(plan), read::heads(db, &scope).await?);
    let writes = db.blocking(move || own.writes(&heads)).await?;
    let Some(PageWrites { remove, put: pages }) = writes else { return Ok(WriteOutcome::Conflict) };
    let removed: Vec<String> = remove.iter().map(|id| ids::key(id)).collect();
    if !removed.is_empty() {
        vectors::remove_items(db, PAGES, &removed).await?;
    }
    let replaced: Vec<String> = removed.into_iter().chain(pages.iter().map(PageRecord::key)).collect();
    if !replaced.is_empty() {
        words::remove(db, &replaced).await?;
        db.run("DELETE FROM page WHERE key IN @texts(?1)", values![replaced]).await?;
    }
    for pages in pages.chunks(MAX_PAGES) {
        put(db, pages).await?;
    }
    let own = Arc::clone(plan);
    db.blocking(move || own.finish()).await?;
    Ok(WriteOutcome::Done)
}

/// Inserts pages that do not exist.
async fn put(db: Session<'_>, pages: &[PageRecord]) -> Result<()> {
    let items: Vec<_> = pages.iter().map(|page| (page.key(), page.version_to_embed())).collect();
    let numbers = vectors::put_items(db, PAGES, &items).await?;
    let numbered = |page| -> Result<(i64, &PageRecord)> {
        let number = numbers.get(&*storable(&PageRecord::key(page))).copied();
        Ok((number.ok_or_else(|| StoreError::invalid("the item of a page is missing"))?, page))
    };
    let pages = pages.iter().map(numbered).collect::<Result<Vec<_>>>()?;
    let columns = pages.iter().map(|(number, page)| PageColumns::new(*number, page));
    let columns = columns.collect::<Result<Vec<_>>>()?;
    words::put(db, &columns).await?;
    put_parts(db, &pages).await
}

pub(super) const COLUMNS: &str =
    "number, id, key, title_key, type, title, hash, root, file, last_updated, domains, sources";

pub(super) const VALUES: &str = "?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12";

/// A page and its columns that are not as in its record.
pub(super) struct PageColumns<'a> {
    pub(super) number: i64,
    pub(super) page: &'a PageRecord,
    root: Option<&'a String>,
    file: Option<&'a String>,
    page_type: &'static str,
    key: String,
    title_key: String,
    domains: String,
    sources: String,
}

impl<'a> PageColumns<'a> {
    fn new(number: i64, page: &'a PageRecord) -> Result<Self> {
        let (key, title_key) = (page.key(), ids::key(&page.title));
        let domains = serde_json::to_string(&page.domains).map_err(StoreError::invalid)?;
        let sources = serde_json::to_string(&page.sources).map_err(StoreError::invalid)?;
        let (root, file) = page.origin.as_ref().map(|origin| (&origin.root, &origin.file)).unzip();
        let page_type = page.page_type.as_str();
        Ok(Self { number, page, root, file, page_type, key, title_key, domains, sources })
    }

    /// Returns the values of [`COLUMNS`].
    pub(super) fn values(&self) -> Vec<SqlValue<'_>> {
        let page = self.page;
        values![
            self.number,
            page.id,
            self.key,
            self.title_key,
            self.page_type,
            page.title,
            page.hash,
            self.root,
            self.file,
            page.last_updated,
            self.domains,
            self.sources,
        ]
        .to_vec()
    }
}

/// Inserts the names, domains and links of pages, in a statement each.
async fn put_parts(db: Session<'_>, pages: &[(i64, &PageRecord)]) -> Result<()> {
    let (mut names, mut domains, mut links) = (Vec::new(), Vec::new(), Vec::new());
    for (number, page) in pages {
        let stem = page.id.split_once('/').map_or("", |(_, stem)| stem);
        for name in name_keys([&page.title, &page.id, stem]) {
            names.push(json!([number, storable(&name)]));
        }
        let mut keys: Vec<String> = page.domains.iter().map(|domain| ids::domain_key(domain)).collect();
        keys.sort_unstable();
        keys.dedup();
        domains.extend(keys.iter().map(|key| json!([number, storable(key)])));
        for (position, link) in page.links.iter().enumerate() {
            let (canonical, inverse) = edges::stored_edge(page.page_type, link);
            let (edge, target, key) = (storable(&link.edge), storable(&link.target), ids::key(&link.target));
            let canonical = storable(canonical);
            links.push(json!([number, position, edge, target, storable(&key), canonical, u8::from(inverse)]));
        }
    }
    let [names, domains, links] = [names, domains, links].map(|rows| Value::from(rows).to_string());
    for (table, rows) in [("page_name", &names), ("domain", &domains)] {
        let sql = format!(
            "INSERT INTO {table} (page, key) SELECT CAST(given.value ->> 0 AS bigint), given.value ->> 1
             FROM @json(?1) AS given"
        );
        db.run(&sql, values![rows]).await?;
    }
    let sql = "INSERT INTO link (page, position, edge, target, target_key, canonical, inverse)
         SELECT CAST(given.value ->> 0 AS bigint), CAST(given.value ->> 1 AS bigint), given.value ->> 2,
            given.value ->> 3, given.value ->> 4, given.value ->> 5, CAST(given.value ->> 6 AS bigint)
         FROM @json(?1) AS given";
    db.run(sql, values![links]).await.map(drop)
}
