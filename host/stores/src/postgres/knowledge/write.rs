//! Writes pages. A batch is one transaction, and so is an edit together with the change of its file.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use gatehouse_core::{
    outcome::Fault,
    ports::knowledge::{IndexReport, Unresolved},
};

use super::{
    super::{
        error::StoreError,
        server::Server,
        session::{Kept, Session},
    },
    put::{amend, put},
    read::{self, column},
};
use crate::{
    engine::{Batch, Clear, Replacement, Takeover, WholeFolder, would_lose},
    wiki::record::{Origin, Record},
};

/// Pages that are on their way to the server at the same time.
const ON_THE_WAY: usize = 16;

/// What is stored of a page, as far as it decides whether it is written again.
struct Known {
    number: Option<i64>,
    hash: String,
    origin: Option<Origin>,
}

/// Stores a batch of pages, as their files are now, and removes the pages of its folder that are no longer there.
pub(super) async fn sync(db: &Session, batch: Batch) -> Result<IndexReport, StoreError> {
    let Batch { records, folder, clear } = refreshed(batch).await?;
    let (mut report, mut takeover) = (IndexReport::default(), Takeover::default());
    if clear == Clear::Filed {
        nothing_is_lost(db, folder.as_ref()).await?;
    }
    if clear != Clear::No {
        report.removed += number_of(db.run("DELETE FROM gatehouse.page", &[]).await?);
    }
    let mut known = known(db, &records).await?;
    // Where the record is that is written for a key: of two with one key the later counts.
    let (mut written, mut replaced): (HashMap<String, usize>, Vec<i64>) = (HashMap::new(), Vec::new());
    for (place, record) in records.iter().enumerate() {
        report.links += u32::try_from(record.links.len()).unwrap_or(u32::MAX);
        let key = record.key();
        let now = Known { number: None, hash: record.hash.clone(), origin: record.origin.clone() };
        match known.get_mut(&key) {
            None => {
                report.added += 1;
                known.insert(key.clone(), now);
            }
            Some(old) if old.hash == record.hash && old.origin == record.origin => {
                report.unchanged += 1;
                continue;
            }
            Some(old) => {
                report.updated += 1;
                takeover.note(old.origin.as_ref(), record);
                replaced.extend(old.number);
                *old = now;
            }
        }
        written.insert(key, place);
    }
    remove(db, &replaced).await?;
    let mut places: Vec<usize> = written.into_values().collect();
    places.sort_unstable();
    let mut puts = Vec::with_capacity(places.len());
    for place in places {
        puts.push(put(db, &records[place]));
    }
    let fresh: Vec<i64> = stream::iter(puts).buffered(ON_THE_WAY).try_collect().await?;
    if let Some(folder) = &folder {
        report.removed += remove_vanished(db, folder, &records).await?;
    }
    let kept = known.into_values().filter_map(|page| page.number);
    let numbers: Vec<i64> = fresh.into_iter().chain(kept).collect();
    report.unresolved_links = read::unresolved(db, &numbers).await?;
    report.taken_over = takeover.told();
    Ok(report)
}

/// Refuses where a stored page says what no file says.
async fn nothing_is_lost(db: &Session, indexed: Option<&WholeFolder>) -> Result<(), StoreError> {
    let heads = read::heads(db).await?;
    let lost: Vec<String> =
        heads.into_iter().filter(|page| page.is_in_store_alone(indexed)).map(|page| page.id).collect();
    if lost.is_empty() { Ok(()) } else { Err(would_lose(&lost).into()) }
}

/// The batch as its files are now.
async fn refreshed(mut batch: Batch) -> Result<Batch, StoreError> {
    let looked = tokio::task::spawn_blocking(move || batch.refresh().map(|()| batch));
    let batch =
        looked.await.unwrap_or_else(|_| Err(Fault::internal("reading the wiki ended without an answer")))?;
    Ok(batch)
}

/// Puts a page in the place of another, if that one is still what the caller has seen; then makes the change
/// of the file, last, so that it is not made where the rest fails.
pub(super) async fn replace(server: &Server, change: Replacement) -> Result<Vec<Unresolved>, Fault> {
    let change = Arc::new(change);
    let db = server.write().await?;
    let unresolved = match change_page(&db, &change).await {
        Ok(unresolved) => unresolved,
        Err(error) => return Err(db.fail(error).await),
    };
    let Some(_) = &change.file else { return db.end(Ok(unresolved)).await };
    let (error, sure) = match db.commit().await {
        Kept::Yes => return Ok(unresolved),
        Kept::No(error) => (error, true),
        // Lost with the answer on its way: the page itself says what became of it.
        Kept::Unknown(error) => match stored_now(server, &change.after).await {
            Some(now) if now == change.after => return Ok(unresolved),
            Some(_) => (error, true),
            None => (error, false),
        },
    };
    revert(&change).await;
    let mut fault = server.fault(error);
    if !sure {
        let id = &change.after.id;
        fault.message = format!(
            "{}; whether the stored page '{id}' changed is not known, its file did not",
            fault.message
        );
        fault.hint =
            Some("Index the wiki folder again when the server is back: the page follows its file.".into());
    }
    Err(fault)
}

async fn change_page(db: &Session, change: &Arc<Replacement>) -> Result<Vec<Unresolved>, StoreError> {
    let meanwhile = || {
        Fault::invalid(format!("page '{}' has changed meanwhile", change.after.id))
            .hint("Read it again with get_wiki_page, then repeat the edit; nothing was changed.")
    };
    let (number, now) = read::stored(db, &change.after.key()).await?.ok_or_else(meanwhile)?;
    if now != change.before {
        return Err(meanwhile().into());
    }
    let after = &change.after;
    let number = if *after == now {
        number
    } else if same_text(after, &now) {
        amend(db, number, after).await?;
        number
    } else {
        remove(db, &[number]).await?;
        put(db, after).await?
    };
    let unresolved = read::unresolved(db, &[number]).await?;
    if change.file.is_some() {
        let change = Arc::clone(change);
        let applied =
            tokio::task::spawn_blocking(move || change.file.as_ref().map_or(Ok(()), |file| file.apply()));
        applied.await.unwrap_or_else(|_| Err(Fault::internal("changing a file ended without an answer")))?;
    }
    Ok(unresolved)
}

/// Whether two pages are found by the same words and mean the same.
fn same_text(a: &Record, b: &Record) -> bool {
    (&a.id, a.page_type, &a.title, &a.overview, &a.content, &a.domains)
        == (&b.id, b.page_type, &b.title, &b.overview, &b.content, &b.domains)
}

async fn stored_now(server: &Server, page: &Record) -> Option<Record> {
    let db = server.read().await.ok()?;
    let found = read::stored(&db, &page.key()).await;
    db.end(found).await.ok()?.map(|(_, record)| record)
}

async fn revert(change: &Arc<Replacement>) {
    let change = Arc::clone(change);
    let reverted = tokio::task::spawn_blocking(move || {
        if let Some(file) = &change.file {
            file.revert();
        }
    });
    if reverted.await.is_err() {
        tracing::error!("a wiki file could not be brought back to what it was");
    }
}

async fn known(db: &Session, records: &[Record]) -> Result<HashMap<String, Known>, StoreError> {
    let keys: Vec<String> = records.iter().map(Record::key).collect();
    let sql = "SELECT key, number, hash, root, file FROM gatehouse.page WHERE key = ANY($1)";
    let mut known = HashMap::new();
    for row in db.rows(sql, &[&keys]).await? {
        let origin = column::<Option<String>>(&row, 3)?.zip(column(&row, 4)?);
        let origin = origin.map(|(root, file)| Origin { root, file });
        known.insert(
            column(&row, 0)?,
            Known { number: Some(column(&row, 1)?), hash: column(&row, 2)?, origin },
        );
    }
    Ok(known)
}

async fn remove(db: &Session, numbers: &[i64]) -> Result<u32, StoreError> {
    if numbers.is_empty() {
        return Ok(0);
    }
    Ok(number_of(db.run("DELETE FROM gatehouse.page WHERE number = ANY($1)", &[&numbers]).await?))
}

async fn remove_vanished(db: &Session, folder: &WholeFolder, records: &[Record]) -> Result<u32, StoreError> {
    let present: HashSet<&str> = records
        .iter()
        .filter_map(|record| record.origin.as_ref())
        .map(|origin| origin.file.as_str())
        .chain(folder.unreadable.iter().map(String::as_str))
        .collect();
    let mut gone = Vec::new();
    let sql = "SELECT number, file FROM gatehouse.page WHERE root = $1 AND file IS NOT NULL";
    for row in db.rows(sql, &[&folder.root]).await? {
        if !present.contains(column::<String>(&row, 1)?.as_str()) {
            gone.push(column(&row, 0)?);
        }
    }
    remove(db, &gone).await
}

fn number_of(rows: u64) -> u32 {
    u32::try_from(rows).unwrap_or(u32::MAX)
}
