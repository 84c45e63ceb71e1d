//! Writes one page: its row, and what is found by it.

use gatehouse_core::search::name::name_key;

use super::{
    super::{error::StoreError, session::Session},
    read::column,
    storable,
    terms::Terms,
};
use crate::wiki::{ids, record::Record};

/// Letters of a name; an index has no room for much longer ones.
const MAX_NAME: usize = 200;

/// The page without what the server cannot store; a change is said.
pub(super) fn cleaned(mut page: Record, said: &mut Vec<String>) -> Record {
    let mut nul = false;
    let mut clean = |text: &mut String| {
        if text.contains('\0') {
            *text = storable(text).into_owned();
            nul = true;
        }
    };
    for text in [&mut page.id, &mut page.title, &mut page.overview, &mut page.content] {
        clean(text);
    }
    page.domains.iter_mut().for_each(&mut clean);
    page.last_updated.iter_mut().for_each(&mut clean);
    for source in &mut page.sources {
        [&mut source.kind, &mut source.title, &mut source.url].into_iter().for_each(&mut clean);
    }
    for link in &mut page.links {
        [&mut link.edge, &mut link.target].into_iter().for_each(&mut clean);
    }
    if nul {
        let place = page.origin.as_ref().map_or(&page.id, |origin| &origin.file);
        said.push(format!("{place}: its NUL characters are stored as U+FFFD, PostgreSQL has none"));
    }
    page
}

/// Stores one page; gives its number.
pub(super) async fn put(db: &Session, page: &Record) -> Result<i64, StoreError> {
    let terms = Terms::of(page);
    if terms.cut {
        tracing::warn!(page = page.id, "a page is too long to be found by all of its words");
    }
    let sources =
        serde_json::to_string(&page.sources).map_err(|error| StoreError::Damaged(error.to_string()))?;
    let origin = page.origin.as_ref();
    let names = names(page);
    let domains: Vec<String> = page.domains.iter().map(|domain| ids::domain_key(domain)).collect();
    let edges: Vec<&str> = page.links.iter().map(|link| link.edge.as_str()).collect();
    let targets: Vec<&str> = page.links.iter().map(|link| link.target.as_str()).collect();
    let keys: Vec<String> = page.links.iter().map(|link| ids::key(&link.target)).collect();
    let (kept, inverse): (Vec<&str>, Vec<bool>) =
        page.links.iter().map(|link| ids::kept_edge(&link.edge)).unzip();
    let row = db
        .one(
            "WITH own AS (
                INSERT INTO gatehouse.page (id, key, title_key, type, title, hash, root, file,
                    last_updated, domains, sources)
                VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) RETURNING number
             ), body AS (
                INSERT INTO gatehouse.page_body (page, overview, content) SELECT number, $12, $13 FROM own
             ), words AS (
                INSERT INTO gatehouse.page_text (page, terms, length)
                SELECT number, setweight(to_tsvector('gatehouse.words', $14), 'A')
                    || setweight(to_tsvector('gatehouse.words', $15), 'B')
                    || setweight(to_tsvector('gatehouse.words', $16), 'C')
                    || to_tsvector('gatehouse.words', $17), $18 FROM own
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
                &edges,
                &targets,
                &keys,
                &kept,
                &inverse,
                &names,
            ],
        )
        .await?;
    column(&row, 0)
}

/// What a page is called, in the form in which names are compared.
fn names(page: &Record) -> Vec<String> {
    let stem = page.id.split_once('/').map_or(page.id.as_str(), |(_, name)| name);
    let keys = [page.title.as_str(), &page.id, stem].into_iter().map(name_key);
    keys.filter(|key| !key.is_empty() && key.chars().count() <= MAX_NAME).collect()
}
