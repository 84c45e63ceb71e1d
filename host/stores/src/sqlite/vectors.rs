//! Stored vectors, by corpus and key: which items wait for theirs, and writing them. An item waits where it has no
//! vector of the model, or one of another dimension.
//!
//! An item has a number within its file, and what is kept of it elsewhere in the file, a page for example, has the
//! same: so several corpora in one file never meet.

use async_trait::async_trait;
use gatehouse_core::outcome::Fault;
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use super::{db::Database, error::StoreError};
use crate::embedding::{NewVector, VectorItem, VectorModel, VectorStore, WaitingItem};

/// Models that were not used for so many seconds lose their vectors: 30 days. Until then a change of model can be
/// taken back at no cost, and hosts with different models share one database.
const UNUSED_MODEL_SECONDS: i64 = 30 * 24 * 60 * 60;

/// How an item that waits is told: `?1` is the model's number, `?2` the bytes of its vectors, or null where they are
/// not known yet.
const NEEDS_VECTOR: &str = "NOT EXISTS (SELECT 1 FROM vector v WHERE v.item = item.number AND v.model = ?1
    AND (v.value IS NULL OR ?2 IS NULL OR length(v.value) = ?2))";

#[async_trait]
impl VectorStore for Database {
    async fn waiting(
        &self,
        model: &VectorModel,
        after: Option<&VectorItem>,
        limit: usize,
    ) -> Result<Vec<WaitingItem>, Fault> {
        let (model, after) = (model.clone(), after.cloned());
        self.read(move |db| waiting(db, &model, after.as_ref(), limit)).await
    }

    async fn store(&self, model: &VectorModel, vectors: Vec<NewVector>) -> Result<(), Fault> {
        let name = model.name.clone();
        self.write(move |db| store(db, &name, &vectors)).await
    }
}

/// The number of a model.
pub(super) fn model(db: &Connection, name: &str) -> Result<Option<i64>, StoreError> {
    let mut statement = db.prepare_cached("SELECT number FROM model WHERE name = ?1")?;
    Ok(statement.query_row([name], |row| row.get(0)).optional()?)
}

/// The vector of an item, where it has one.
pub(super) fn load(db: &Connection, model: i64, item: i64) -> Result<Option<Vec<f32>>, StoreError> {
    let mut statement = db.prepare_cached("SELECT value FROM vector WHERE item = ?1 AND model = ?2")?;
    let value: Option<Option<Vec<u8>>> = statement.query_row([item, model], |row| row.get(0)).optional()?;
    Ok(value.flatten().map(|bytes| floats(&bytes)))
}

/// How many items of a corpus wait for a vector of this model.
pub(super) fn count_waiting(db: &Connection, corpus: &str, of: &VectorModel) -> Result<u32, StoreError> {
    let sql = format!("SELECT count(*) FROM item WHERE corpus = ?3 AND {NEEDS_VECTOR}");
    Ok(db.query_row(&sql, params![model(db, &of.name)?, bytes(of), corpus], |row| row.get(0))?)
}

pub(super) fn waiting(
    db: &Connection,
    of: &VectorModel,
    after: Option<&VectorItem>,
    limit: usize,
) -> Result<Vec<WaitingItem>, StoreError> {
    let sql = format!(
        "SELECT corpus, key, version FROM item WHERE (corpus, key) > (?3, ?4) AND {NEEDS_VECTOR} ORDER BY corpus, key LIMIT ?5"
    );
    let (corpus, key) = after.map_or(("", ""), |after| (&after.corpus, &after.key));
    let mut statement = db.prepare_cached(&sql)?;
    let values = params![model(db, &of.name)?, bytes(of), corpus, key, limit as i64];
    let item = |row: &Row<'_>| {
        Ok(WaitingItem { item: VectorItem { corpus: row.get(0)?, key: row.get(1)? }, version: row.get(2)? })
    };
    Ok(statement.query_map(values, item)?.collect::<Result<_, _>>()?)
}

/// Stores vectors of items that are still as they were. Whoever comes second writes the same again.
pub(super) fn store(db: &Connection, name: &str, vectors: &[NewVector]) -> Result<(), StoreError> {
    let model = touch_model(db, name)?;
    let generation: i64 = db.query_row(
        "UPDATE vector_state SET generation = generation + 1 RETURNING generation",
        [],
        |row| row.get(0),
    )?;
    let mut statement = db.prepare_cached(
        "INSERT INTO vector (item, model, changed, value)
         SELECT number, ?3, ?4, ?5 FROM item WHERE corpus = ?1 AND key = ?2 AND version = ?6
         ON CONFLICT (item, model) DO UPDATE SET changed = excluded.changed, value = excluded.value",
    )?;
    for NewVector { item, version, vector } in vectors {
        let value: Option<Vec<u8>> =
            vector.as_ref().map(|vector| vector.iter().flat_map(|value| value.to_le_bytes()).collect());
        statement.execute(params![item.corpus, item.key, model, generation, value, version])?;
    }
    Ok(())
}

/// Notes that a model is used, and forgets those that have not been for long.
fn touch_model(db: &Connection, name: &str) -> Result<i64, StoreError> {
    db.prepare_cached("DELETE FROM model WHERE used < unixepoch() - ?1 AND name <> ?2")?
        .execute(params![UNUSED_MODEL_SECONDS, name])?;
    let mut statement = db.prepare_cached(
        "INSERT INTO model (name, used) VALUES (?1, unixepoch())
         ON CONFLICT (name) DO UPDATE SET used = excluded.used RETURNING number",
    )?;
    Ok(statement.query_row([name], |row| row.get(0))?)
}

/// Notes an item, and that its vectors are of no use where it has another text by now; gives its number.
pub(super) fn put_item(db: &Connection, corpus: &str, key: &str, version: &str) -> Result<i64, StoreError> {
    db.prepare_cached(
        "DELETE FROM vector WHERE item IN (SELECT number FROM item WHERE corpus = ?1 AND key = ?2 AND version <> ?3)",
    )?
    .execute([corpus, key, version])?;
    let mut statement = db.prepare_cached(
        "INSERT INTO item (corpus, key, version) VALUES (?1, ?2, ?3)
         ON CONFLICT (corpus, key) DO UPDATE SET version = excluded.version RETURNING number",
    )?;
    Ok(statement.query_row([corpus, key, version], |row| row.get(0))?)
}

/// Gives a new item the vectors of an older one with the same text, where there is one: a text that is moved is not
/// embedded again. Versions have to be of the text alone, and found by an index.
pub(super) fn copy_from_twin(db: &Connection, item: i64, version: &str) -> Result<(), StoreError> {
    db.prepare_cached(
        "INSERT INTO vector (item, model, changed, value) SELECT ?1, model, changed, value FROM vector
         WHERE item = (SELECT min(number) FROM item WHERE version = ?2 AND number <> ?1)",
    )?
    .execute(params![item, version])?;
    Ok(())
}

/// Forgets an item with its vectors.
pub(super) fn remove_item(db: &Connection, number: i64) -> Result<(), StoreError> {
    db.prepare_cached("DELETE FROM item WHERE number = ?1")?.execute([number])?;
    Ok(())
}

fn bytes(model: &VectorModel) -> Option<i64> {
    model.dimension.and_then(|dimension| i64::try_from(dimension * 4).ok())
}

/// A stored vector.
pub(super) fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks::<4>().0.iter().map(|value| f32::from_le_bytes(*value)).collect()
}
