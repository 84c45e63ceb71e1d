//! Writes pages. Every function here runs inside a transaction of the caller.

use gatehouse_core::search::{name::name_key, script};
use rusqlite::{Connection, params};

use super::read;
use crate::{
    engine::{PAGES, PageWrites, WriteOutcome, WritePlan},
    sqlite::{
        error::{Result, StoreError},
        migrations::{separated, with_variants},
        statements::CachedStatements as _,
        vectors,
    },
    wiki::{edges, ids, record::PageRecord},
};

pub(super) fn apply(db: &Connection, plan: &dyn WritePlan) -> Result<WriteOutcome> {
    let heads = read::heads(db, &plan.scope()?)?;
    let Some(PageWrites { remove: removed_ids, put: pages }) = plan.writes(&heads)? else {
        return Ok(WriteOutcome::Conflict);
    };
    for id in &removed_ids {
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

fn remove(db: &Connection, number: i64) -> Result<()> {
    db.run("DELETE FROM page WHERE number = ?1", [number])?;
    db.run("DELETE FROM page_text WHERE rowid = ?1", [number])?;
    db.run("DELETE FROM page_grams WHERE rowid = ?1", [number])?;
    Ok(())
}

fn put(db: &Connection, record: &PageRecord) -> Result<()> {
    let key = record.key();
    let number = vectors::put_item(db, PAGES, &key, &record.version_to_embed())?;
    remove(db, number)?;
    let origin = record.origin.as_ref();
    db.run(
        "INSERT INTO page (number, id, key, title_key, type, title, hash, root, file, last_updated, domains, sources)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
        params![
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
            serde_json::to_string(&record.domains).map_err(StoreError::invalid)?,
            serde_json::to_string(&record.sources).map_err(StoreError::invalid)?,
        ],
    )?;
    let body = "INSERT INTO page_body (page, overview, content) VALUES (?1, ?2, ?3)";
    db.run(body, params![number, record.overview, record.content])?;
    for domain in &record.domains {
        let sql = "INSERT OR IGNORE INTO domain (page, key) VALUES (?1, ?2)";
        db.run(sql, params![number, ids::domain_key(domain)])?;
    }
    for (position, link) in (0_i64..).zip(&record.links) {
        let (kept, inverse) = edges::stored_edge(record.page_type, link);
        db.run(
            "INSERT INTO link (page, position, edge, target, target_key, kept, inverse)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            params![number, position, link.edge, link.target, ids::key(&link.target), kept, inverse],
        )?;
    }
    put_text(db, number, record)
}

/// Indexes a page by its names, its words and the n-grams of words in other scripts.
fn put_text(db: &Connection, number: i64, record: &PageRecord) -> Result<()> {
    let stem = record.id.split_once('/').map_or("", |(_, stem)| stem);
    for name in [&record.title, &record.id, stem] {
        let sql = "INSERT OR IGNORE INTO page_name (key, page) VALUES (?1, ?2)";
        db.run(sql, params![name_key(name), number])?;
    }
    let domains = record.domains.join(", ");
    let (title, overview) = (with_variants(&record.title), with_variants(&record.overview));
    let columns = "(rowid, title, overview, domains, content) VALUES (?1, ?2, ?3, ?4, ?5)";
    db.run(
        &format!("INSERT INTO page_text {columns}"),
        params![number, title, overview, separated(&domains), separated(&record.content)],
    )?;
    let grams = [&record.title, &record.overview, &domains, &record.content].map(|text| script::grams(text));
    if grams.iter().any(|text| !text.is_empty()) {
        let [title, overview, domains, content] = grams;
        let sql = format!("INSERT INTO page_grams {columns}");
        db.run(&sql, params![number, title, overview, domains, content])?;
    }
    Ok(())
}
