//! Writes one page with its links, names and search terms.

use gatehouse_core::search::name::name_key;

use super::{
    super::{error::StoreError, session::PostgresSession},
    terms::PageTerms,
};
use crate::wiki::{edges, ids, record::PageRecord};

/// Characters of a name. Index rows cannot be much longer.
const MAX_NAME: usize = 200;

/// Links of a page, one list per column.
struct LinkColumns<'a> {
    edges: Vec<&'a str>,
    targets: Vec<&'a str>,
    keys: Vec<String>,
    kept: Vec<&'a str>,
    inverse: Vec<bool>,
}

impl<'a> LinkColumns<'a> {
    fn from_record(page: &'a PageRecord) -> Self {
        let (kept, inverse) = page.links.iter().map(|link| edges::stored_edge(page.page_type, link)).unzip();
        Self {
            edges: page.links.iter().map(|link| link.edge.as_str()).collect(),
            targets: page.links.iter().map(|link| link.target.as_str()).collect(),
            keys: page.links.iter().map(|link| ids::key(&link.target)).collect(),
            kept,
            inverse,
        }
    }
}

fn sources(page: &PageRecord) -> Result<String, StoreError> {
    serde_json::to_string(&page.sources).map_err(|error| StoreError::Damaged(error.to_string()))
}

/// Inserts a page that does not exist yet.
pub(super) async fn put(db: &PostgresSession, page: &PageRecord) -> Result<(), StoreError> {
    let terms = PageTerms::from_record(page);
    if terms.cut {
        tracing::warn!(page = page.id, "page is too long; not all of its words are indexed");
    }
    let (sources, links) = (sources(page)?, LinkColumns::from_record(page));
    let origin = page.origin.as_ref();
    let names = names(page);
    let domains: Vec<String> = page.domains.iter().map(|domain| ids::domain_key(domain)).collect();
    db.run(
            "WITH own AS (
                INSERT INTO gatehouse.page (id, key, title_key, type, title, hash, root, file,
                    last_updated, domains, sources, length)
                VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $18) RETURNING number
             ), body AS (
                INSERT INTO gatehouse.page_body (page, overview, content) SELECT number, $12, $13 FROM own
             ), words AS (
                INSERT INTO gatehouse.page_text (page, terms)
                SELECT number, setweight(to_tsvector('gatehouse.words', $14), 'A')
                    || setweight(to_tsvector('gatehouse.words', $15), 'B')
                    || setweight(to_tsvector('gatehouse.words', $16), 'C')
                    || to_tsvector('gatehouse.words', $17) FROM own
             ), name AS (
                INSERT INTO gatehouse.page_name (page, key) SELECT DISTINCT number, key FROM own, unnest($25::text[]) key
             ), subject AS (
                INSERT INTO gatehouse.domain (page, key) SELECT DISTINCT number, key FROM own, unnest($19::text[]) key
             ), link AS (
                INSERT INTO gatehouse.link (page, position, edge, target, target_key, kept, inverse)
                SELECT number, l.position, l.edge, l.target, l.target_key, l.kept, l.inverse
                FROM own, unnest($20::text[], $21::text[], $22::text[], $23::text[], $24::boolean[])
                    WITH ORDINALITY AS l (edge, target, target_key, kept, inverse, position)
             )
             SELECT number FROM own",
            &[
                &page.id,
                &page.key(),
                &ids::key(&page.title),
                &page.page_type.as_str(),
                &page.title,
                &page.hash,
                &origin.map(|origin| &origin.root),
                &origin.map(|origin| &origin.file),
                &page.last_updated,
                &page.domains,
                &sources,
                &page.overview,
                &page.content,
                &terms.title,
                &terms.overview,
                &terms.domains,
                &terms.content,
                &terms.length,
                &domains,
                &links.edges,
                &links.targets,
                &links.keys,
                &links.kept,
                &links.inverse,
                &names,
            ],
        )
        .await?;
    Ok(())
}

/// Returns the comparison keys of the page's names: title, id, and id without type.
fn names(page: &PageRecord) -> Vec<String> {
    let stem = page.id.split_once('/').map_or(page.id.as_str(), |(_, name)| name);
    let keys = [page.title.as_str(), &page.id, stem].into_iter().map(name_key);
    keys.filter(|key| !key.is_empty() && key.chars().count() <= MAX_NAME).collect()
}
