//! Stored vectors by corpus and key. An item waits if it has no vector of the model, or one of another dimension.
//!
//! An item's number is unique within its file, and its row in other tables has the same number, so corpora in one file
//! never collide.

use async_trait::async_trait;
use gatehouse_core::{
    outcome::Fault,
    search::{dense, near_enough},
};
use rusqlite::{Connection, params};

use super::{db::Database, error::Result, statements::CachedStatements as _};
use crate::engine::{NewVector, VectorItem, VectorModel, VectorStore};

/// Age at which vectors of an unused model are deleted: 30 days. Until then, switching back costs nothing, and hosts
/// with different models can share a database.
const UNUSED_MODEL_SECONDS: i64 = 30 * 24 * 60 * 60;

/// Maximum error of a similarity to a vector that is quantized to bytes.
const QUANTIZATION_ERROR: f32 = 0.01;

/// Condition for a waiting item. `?1` is the model's number; `?2` is the bytes of its vectors, or null if unknown.
const NEEDS_VECTOR: &str = "NOT EXISTS (SELECT 1 FROM vector v WHERE v.item = item.number AND v.model = ?1
    AND (v.value IS NULL OR ?2 IS NULL OR length(v.value) = ?2))";

#[async_trait]
impl VectorStore for Database {
    async fn waiting(&self, model: &VectorModel, after: &str, max: usize) -> Result<Vec<VectorItem>, Fault> {
        let (corpus, model, after) = (self.corpus(), model.clone(), after.to_owned());
        self.read(move |db| waiting(db, corpus, &model, &after, max)).await
    }

    async fn put(&self, model: &VectorModel, vectors: Vec<NewVector>) -> Result<(), Fault> {
        let (corpus, model) = (self.corpus(), model.clone());
        self.write(move |db| store(db, corpus, &model, &vectors)).await
    }
}

pub(crate) fn model(db: &Connection, name: &str) -> Result<Option<i64>> {
    db.find("SELECT number FROM model WHERE name = ?1", [name])
}

/// Returns the similarity of a stored vector to a question. `None` if the item has no vector.
pub(crate) fn cosine(db: &Connection, model: i64, item: i64, question: &[f32]) -> Result<Option<f32>> {
    let sql = "SELECT value FROM vector WHERE item = ?1 AND model = ?2";
    let value: Option<Option<Vec<u8>>> = db.find(sql, [item, model])?;
    Ok(value.flatten().and_then(|bytes| dense::cosine(&floats(&bytes), question)))
}

/// Returns false if an item is too far away, even with the error of its quantized vector. `has_words` is true if
/// some item matches by words.
pub(crate) fn may_be_near(quantized: f32, has_words: bool) -> bool {
    near_enough(quantized + QUANTIZATION_ERROR, has_words)
}

pub(crate) fn count_waiting(db: &Connection, corpus: &str, of: &VectorModel) -> Result<u32> {
    let sql = format!("SELECT count(*) FROM item WHERE corpus = ?3 AND {NEEDS_VECTOR}");
    db.value(&sql, params![model(db, &of.name)?, bytes(of), corpus])
}

pub(crate) fn waiting(
    db: &Connection,
    corpus: &str,
    of: &VectorModel,
    after: &str,
    max: usize,
) -> Result<Vec<VectorItem>> {
    let sql = format!(
        "SELECT key, version FROM item WHERE corpus = ?3 AND key > ?4 AND {NEEDS_VECTOR} ORDER BY key LIMIT ?5"
    );
    let values = params![model(db, &of.name)?, bytes(of), corpus, after, max as i64];
    db.all(&sql, values, |row| Ok(VectorItem { key: row.get(0)?, version: row.get(1)? }))
}

/// Stores vectors of items whose version is unchanged. Storing them twice is harmless.
pub(crate) fn store(db: &Connection, corpus: &str, model: &VectorModel, vectors: &[NewVector]) -> Result<()> {
    let model = touch_model(db, model)?;
    let sql = "UPDATE vector_state SET generation = generation + 1 RETURNING generation";
    let generation: i64 = db.value(sql, [])?;
    let mut statement = db.prepare_cached(
        "INSERT INTO vector (item, model, changed, value)
         SELECT number, ?3, ?4, ?5 FROM item WHERE corpus = ?1 AND key = ?2 AND version = ?6
         ON CONFLICT (item, model) DO UPDATE SET changed = excluded.changed, value = excluded.value",
    )?;
    for NewVector { item: VectorItem { key, version }, vector } in vectors {
        let value: Option<Vec<u8>> =
            vector.as_ref().map(|vector| vector.iter().flat_map(|value| value.to_le_bytes()).collect());
        statement.execute(params![corpus, key, model, generation, value, version])?;
    }
    Ok(())
}

/// Marks a model as used, deletes models unused for too long, and returns the model's number.
fn touch_model(db: &Connection, VectorModel { name, searched, .. }: &VectorModel) -> Result<i64> {
    let unused = "DELETE FROM model WHERE used < unixepoch() - ?1 AND name <> ?2 AND name IS NOT ?3";
    db.run(unused, params![UNUSED_MODEL_SECONDS, name, searched])?;
    db.value(
        "INSERT INTO model (name, used) VALUES (?1, unixepoch())
         ON CONFLICT (name) DO UPDATE SET used = excluded.used RETURNING number",
        [name],
    )
}

fn bytes(model: &VectorModel) -> Option<i64> {
    model.dimension.and_then(|dimension| i64::try_from(dimension * 4).ok())
}

pub(crate) fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks::<4>().0.iter().map(|value| f32::from_le_bytes(*value)).collect()
}
