//! Writes pages. Every function here runs inside a transaction of the caller.

use gatehouse_core::search::{name::name_key, script};
use rusqlite::{Connection, params};

use super::read;
use crate::{
    engine::{PAGES, PageWrites, WriteOutcome, WritePlan},
    sqlite::{
        error::StoreError,
        functions::{separated, with_variants},
        vectors,
    },
    wiki::{edges, ids, record::PageRecord},
};

pub(super) fn apply(db: &Connection, plan: &dyn WritePlan) -> Result<WriteOutcome, StoreError> {
    let found = read::heads(db, &plan.scope()?)?;
    let Some(PageWrites { remove: gone, put: pages }) = plan.writes(&found)? else {
        return Ok(WriteOutcome::Conflict);
    };
    for id in &gone {
        if let Some(number) = read::number(db, &ids::key(id))? {
            remove(db, number)?;
            vectors::remove_item(db, number)?;
        }
    }
    for record in &pages {
        put(db, record)?;
    }
    plan.finish()?;
    Ok(WriteOutcome::Done)
}

fn remove(db: &Connection, number: i64) -> Result<(), StoreError> {
    db.prepare_cached("DELETE FROM page WHERE number = ?1")?.execute([number])?;
    db.prepare_cached("DELETE FROM page_text WHERE rowid = ?1")?.execute([number])?;
    db.prepare_cached("DELETE FROM page_grams WHERE rowid = ?1")?.execute([number])?;
    Ok(())
}

fn put(db: &Connection, record: &PageRecord) -> Result<(), StoreError> {
    let json = |value: Result<String, serde_json::Error>| {
        value.map_err(|error| StoreError::InvalidValue(error.to_string()))
    };
    let key = record.key();
    let number = vectors::put_item(db, PAGES, &key, &record.version_to_embed())?;
    remove(db, number)?;
    let origin = record.origin.as_ref();
    db.prepare_cached(
        "INSERT INTO page (number, id, key, title_key, type, title, hash, root, file, last_updated, domains, sources)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
    )?
    .execute(params![
        number,
        record.id,
        key,
        ids::key(&record.title),
        record.page_type.as_str(),
        record.title,
        record.hash,
        origin.map(|origin| &origin.root),
        origin.map(|origin| &origin.file),
        record.last_updated,
        json(serde_json::to_string(&record.domains))?,
        json(serde_json::to_string(&record.sources))?,
    ])?;
    db.prepare_cached("INSERT INTO page_body (page, overview, content) VALUES (?1, ?2, ?3)")?
        .execute(params![number, record.overview, record.content])?;
    for domain in &record.domains {
        db.prepare_cached("INSERT OR IGNORE INTO domain (page, key) VALUES (?1, ?2)")?
            .execute(params![number, ids::domain_key(domain)])?;
    }
    put_links(db, number, record)?;
    put_text(db, number, record)
}

fn put_links(db: &Connection, number: i64, record: &PageRecord) -> Result<(), StoreError> {
    let mut statement = db.prepare_cached(
        "INSERT INTO link (page, position, edge, target, target_key, kept, inverse) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )?;
    for (position, link) in (0_i64..).zip(&record.links) {
        let (kept, inverse) = edges::stored_edge(record.page_type, link);
        statement.execute(params![
            number,
            position,
            link.edge,
            link.target,
            ids::key(&link.target),
            kept,
            inverse
        ])?;
    }
    Ok(())
}

/// Indexes a page by its names, its words and the n-grams of words in other scripts.
fn put_text(db: &Connection, number: i64, record: &PageRecord) -> Result<(), StoreError> {
    let stem = record.id.split_once('/').map_or("", |(_, stem)| stem);
    for name in [&record.title, &record.id, stem] {
        db.prepare_cached("INSERT OR IGNORE INTO page_name (key, page) VALUES (?1, ?2)")?
            .execute(params![name_key(name), number])?;
    }
    let domains = record.domains.join(", ");
    db.prepare_cached(
        "INSERT INTO page_text (rowid, title, overview, domains, content) VALUES (?1, ?2, ?3, ?4, ?5)",
    )?
    .execute(params![
        number,
        with_variants(&record.title),
        with_variants(&record.overview),
        separated(&domains),
        separated(&record.content)
    ])?;
    let grams = [&record.title, &record.overview, &domains, &record.content].map(|text| script::grams(text));
    if grams.iter().any(|text| !text.is_empty()) {
        let [title, overview, domains, content] = grams;
        db.prepare_cached(
            "INSERT INTO page_grams (rowid, title, overview, domains, content) VALUES (?1, ?2, ?3, ?4, ?5)",
        )?
        .execute(params![number, title, overview, domains, content])?;
    }
    Ok(())
}
