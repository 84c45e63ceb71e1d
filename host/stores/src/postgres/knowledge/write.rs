//! Applies a write plan in one transaction. Writes pages with their links, names and search terms.

use std::sync::Arc;

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use gatehouse_core::outcome::Fault;

use super::{
    super::{
        error::{Result, StoreError},
        server::PostgresServer,
        session::{CommitOutcome, PostgresSession},
        terms::{IndexTerms, name_keys, with_variants},
        vectors::{put_items, remove_items},
    },
    read,
};
use crate::{
    engine::{PAGES, PageWrites, WriteOutcome, WritePlan},
    wiki::{edges, ids, record::PageRecord},
};

/// Page inserts that are sent concurrently.
const MAX_IN_FLIGHT: usize = 16;

/// Applies a plan if it is still valid; returns a conflict otherwise.
pub(super) async fn apply(
    server: &Arc<PostgresServer>,
    plan: &Arc<dyn WritePlan>,
) -> Result<WriteOutcome, Fault> {
    let db = server.write(None).await?;
    match write(&db, plan).await {
        Ok(true) => {}
        Ok(false) => {
            db.finish_transaction(Ok(())).await?;
            return Ok(WriteOutcome::Conflict);
        }
        Err(error) => return Err(db.rollback_fault(error).await),
    }
    match db.commit().await {
        CommitOutcome::Committed => Ok(WriteOutcome::Done),
        CommitOutcome::Failed(error) => Err(server.fault(error)),
        CommitOutcome::Unknown(error) => Ok(WriteOutcome::Unknown(server.fault(error))),
    }
}

async fn write(db: &PostgresSession, plan: &Arc<dyn WritePlan>) -> Result<bool> {
    let scope = plan.run_blocking(|plan| plan.scope()).await?;
    let heads = read::heads(db, &scope).await?;
    let writes = plan.run_blocking(move |plan| plan.writes(&heads)).await?;
    let Some(PageWrites { remove, put: pages }) = writes else { return Ok(false) };
    let removed: Vec<String> = remove.iter().map(|id| ids::key(id)).collect();
    remove_items(db, PAGES, &removed).await?;
    let items: Vec<_> = pages.iter().map(|page| (page.key(), page.version_to_embed())).collect();
    put_items(db, PAGES, &items).await?;
    let replaced = items.into_iter().map(|(key, _)| key).chain(removed).collect::<Vec<_>>();
    db.run("DELETE FROM gatehouse.page WHERE key = ANY($1)", &[&replaced]).await?;
    let puts = pages.iter().map(|page| put(db, page));
    stream::iter(puts.collect::<Vec<_>>()).buffered(MAX_IN_FLIGHT).try_collect::<Vec<()>>().await?;
    plan.run_blocking(|plan| plan.finish()).await?;
    Ok(true)
}

/// Links of a page, one list per column.
struct LinkColumns<'a> {
    edges: Vec<&'a str>,
    targets: Vec<&'a str>,
    keys: Vec<String>,
    stored_edges: Vec<&'a str>,
    inverse: Vec<bool>,
}

impl<'a> LinkColumns<'a> {
    fn from_record(page: &'a PageRecord) -> Self {
        let (stored_edges, inverse) =
            page.links.iter().map(|link| edges::stored_edge(page.page_type, link)).unzip();
        Self {
            edges: page.links.iter().map(|link| link.edge.as_str()).collect(),
            targets: page.links.iter().map(|link| link.target.as_str()).collect(),
            keys: page.links.iter().map(|link| ids::key(&link.target)).collect(),
            stored_edges,
            inverse,
        }
    }
}

/// Inserts a page that does not exist yet.
async fn put(db: &PostgresSession, page: &PageRecord) -> Result<()> {
    let (title, overview) = (with_variants(&page.title), with_variants(&page.overview));
    let texts = [&*title, &overview, &page.domains.join(", "), &page.content];
    let IndexTerms { texts: [title, overview, subjects, content], length } = IndexTerms::new(&page.id, texts);
    let sources = serde_json::to_string(&page.sources).map_err(StoreError::invalid)?;
    let links = LinkColumns::from_record(page);
    let origin = page.origin.as_ref();
    let stem = page.id.split_once('/').map_or(page.id.as_str(), |(_, name)| name);
    let names = name_keys([&page.title, &page.id, stem]);
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
                &title,
                &overview,
                &subjects,
                &content,
                &length,
                &domains,
                &links.edges,
                &links.targets,
                &links.keys,
                &links.stored_edges,
                &links.inverse,
                &names,
            ],
        )
        .await?;
    Ok(())
}
