//! Batches that are written once, although the end of a write can be unknown.

use super::{Result, Session, values};
use crate::random::random_id;

/// Days for which ids are stored. A batch is repeated within seconds of the return of its server.
const STORED_DAYS: i64 = 7;

/// A batch whose writes are one transaction, and its id.
pub(crate) struct Batch<T> {
    id: String,
    pub(crate) content: T,
}

impl<T> Batch<T> {
    pub(crate) fn new(content: T) -> Self {
        Self { id: random_id(), content }
    }

    pub(crate) fn id(&self) -> String {
        self.id.clone()
    }
}

/// Claims a batch in the transaction that writes it. Returns false if it was written before. Only a server needs this: it
/// can commit and lose the connection before it says so.
pub(crate) async fn claim(db: Session<'_>, table: &str, id: &str, day: i64) -> Result<bool> {
    if matches!(db, Session::Sqlite(_)) {
        return Ok(true);
    }
    db.run(&format!("DELETE FROM {table} WHERE day < ?1"), values![day - STORED_DAYS]).await?;
    let claim = format!("INSERT INTO {table} (id, day) VALUES (?1, ?2) ON CONFLICT DO NOTHING");
    Ok(db.run(&claim, values![id, day]).await? > 0)
}
