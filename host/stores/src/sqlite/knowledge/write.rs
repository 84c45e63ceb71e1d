//! Writes pages. Everything here runs inside a transaction that the caller opened and will keep or drop
//! as a whole.

use std::collections::HashSet;

use gatehouse_core::{
    outcome::Fault,
    ports::knowledge::{IndexReport, Unresolved},
    search::{embedded_text, name::name_key, script},
};
use rusqlite::{Connection, params};

use super::{read, vectors};
use crate::{
    engine::{Batch, Clear, Replacement, Takeover, WholeFolder, would_lose},
    sqlite::{
        error::StoreError,
        functions::{separated, with_variants},
    },
    wiki::{
        edges, ids,
        record::{Origin, Record},
    },
};

/// Stores a batch of pages, as their files are now, and removes the pages of its folder that are no longer there.
pub(super) fn sync(db: &Connection, mut batch: Batch) -> Result<IndexReport, StoreError> {
    batch.refresh()?;
    let (mut report, mut takeover) = (IndexReport::default(), Takeover::default());
    if batch.clear == Clear::Filed {
        nothing_is_lost(db, batch.folder.as_ref())?;
    }
    if batch.clear != Clear::No {
        report.removed += clear(db)?;
    }
    let mut numbers = Vec::with_capacity(batch.records.len());
    for record in &batch.records {
        report.links += u32::try_from(record.links.len()).unwrap_or(u32::MAX);
        let number = match read::stored(db, &record.key())? {
            None => {
                report.added += 1;
                put(db, None, record)?
            }
            Some((number, old)) if old.hash == record.hash && old.origin == record.origin => {
                report.unchanged += 1;
                number
            }
            Some(old) => {
                report.updated += 1;
                takeover.note(old.1.origin.as_ref(), record);
                put(db, Some(&old), record)?
            }
        };
        numbers.push(number);
    }
    if let Some(folder) = &batch.folder {
        report.removed += remove_vanished(db, &folder.root, &batch.records, &folder.unreadable)?;
    }
    for number in numbers {
        report.unresolved_links.extend(read::unresolved(db, number)?);
    }
    report.unresolved_links.sort();
    report.unresolved_links.dedup();
    report.taken_over = takeover.told();
    Ok(report)
}

/// Puts a page in the place of another, if that one is still what the caller has seen; then makes the
/// change of the file, last, so that it is not made where the rest fails.
pub(super) fn replace(db: &Connection, change: &Replacement) -> Result<Vec<Unresolved>, StoreError> {
    let meanwhile = || {
        Fault::invalid(format!("page '{}' has changed meanwhile", change.after.id))
            .hint("Read it again with get_wiki_page, then repeat the edit; nothing was changed.")
    };
    let now = read::stored(db, &change.after.key())?.ok_or_else(meanwhile)?;
    if now.1 != change.before {
        return Err(meanwhile().into());
    }
    let number = if change.after == now.1 { now.0 } else { put(db, Some(&now), &change.after)? };
    let unresolved = read::unresolved(db, number)?;
    if let Some(file) = &change.file {
        file.apply()?;
    }
    Ok(unresolved)
}

/// Refuses where a stored page says what no file says.
fn nothing_is_lost(db: &Connection, indexed: Option<&WholeFolder>) -> Result<(), StoreError> {
    let heads = read::heads(db)?;
    let lost: Vec<String> =
        heads.into_iter().filter(|page| page.is_in_store_alone(indexed)).map(|page| page.id).collect();
    if lost.is_empty() { Ok(()) } else { Err(would_lose(&lost).into()) }
}

fn clear(db: &Connection) -> Result<u32, StoreError> {
    let removed = db.execute("DELETE FROM page", [])?;
    db.execute("DELETE FROM page_text", [])?;
    db.execute("DELETE FROM page_grams", [])?;
    Ok(u32::try_from(removed).unwrap_or(u32::MAX))
}

fn remove_vanished(
    db: &Connection,
    root: &str,
    records: &[Record],
    unreadable: &[String],
) -> Result<u32, StoreError> {
    let present: HashSet<&str> = records
        .iter()
        .filter_map(|record| record.origin.as_ref())
        .map(|Origin { file, .. }| file.as_str())
        .chain(unreadable.iter().map(String::as_str))
        .collect();
    let mut statement = db.prepare_cached("SELECT number, file FROM page WHERE root = ?1")?;
    let stored = statement.query_map([root], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let mut removed = 0;
    for row in stored.collect::<Result<Vec<(i64, String)>, _>>()? {
        if !present.contains(row.1.as_str()) {
            remove(db, row.0)?;
            removed += 1;
        }
    }
    Ok(removed)
}

fn remove(db: &Connection, number: i64) -> Result<(), StoreError> {
    db.prepare_cached("DELETE FROM page WHERE number = ?1")?.execute([number])?;
    db.prepare_cached("DELETE FROM page_text WHERE rowid = ?1")?.execute([number])?;
    db.prepare_cached("DELETE FROM page_grams WHERE rowid = ?1")?.execute([number])?;
    Ok(())
}

/// What of a page is embedded.
fn embedded(record: &Record) -> String {
    embedded_text(&record.title, &record.overview, &record.domains, &record.content)
}

/// Writes one page, anew or over a stored one. Its vectors stay where what is embedded of it did not change.
fn put(db: &Connection, old: Option<&(i64, Record)>, record: &Record) -> Result<i64, StoreError> {
    let json = |value: Result<String, serde_json::Error>| {
        value.map_err(|error| StoreError::Damaged(error.to_string()))
    };
    let mut kept = Vec::new();
    if let Some((number, old)) = old {
        if embedded(old) == embedded(record) {
            kept = vectors::taken(db, *number)?;
        }
        remove(db, *number)?;
    }
    let number = old.map(|(number, _)| *number);
    let origin = record.origin.as_ref();
    db.prepare_cached(
        "INSERT INTO page (number, id, key, title_key, type, title, hash, root, file, last_updated, domains, sources)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
    )?
    .execute(params![
        number,
        record.id,
        record.key(),
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
    let number = db.last_insert_rowid();
    db.prepare_cached("INSERT INTO page_body (page, overview, content) VALUES (?1, ?2, ?3)")?
        .execute(params![number, record.overview, record.content])?;
    for domain in &record.domains {
        db.prepare_cached("INSERT OR IGNORE INTO domain (page, key) VALUES (?1, ?2)")?
            .execute(params![number, ids::domain_key(domain)])?;
    }
    put_links(db, number, record)?;
    put_text(db, number, record)?;
    vectors::put_back(db, number, &kept)?;
    Ok(number)
}

fn put_links(db: &Connection, number: i64, record: &Record) -> Result<(), StoreError> {
    let mut statement = db.prepare_cached(
        "INSERT INTO link (page, position, edge, target, target_key, kept, inverse) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )?;
    for (position, link) in (0_i64..).zip(&record.links) {
        let (kept, inverse) = edges::kept(record.page_type, link);
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

/// Writes what the page is found by: its names, its words, and pieces of its words in other scripts.
fn put_text(db: &Connection, number: i64, record: &Record) -> Result<(), StoreError> {
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
