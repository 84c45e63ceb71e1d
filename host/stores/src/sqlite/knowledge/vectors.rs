//! Stored vectors: which pages wait for theirs, and writing them. A page waits where it has no row of the model, or
//! one of another dimension.

use rusqlite::{Connection, OptionalExtension as _, params};

use crate::{
    embedding::{Made, Waiting},
    sqlite::error::StoreError,
};

/// Models that were not used for so many seconds lose their vectors: 30 days. Until then a change of model can be
/// taken back at no cost, and hosts with different models share one database.
const KEPT: i64 = 30 * 24 * 60 * 60;

/// The number of a model.
pub(super) fn model(db: &Connection, name: &str) -> Result<Option<i64>, StoreError> {
    let mut statement = db.prepare_cached("SELECT number FROM model WHERE name = ?1")?;
    Ok(statement.query_row([name], |row| row.get(0)).optional()?)
}

/// The vector of a page, where it has one.
pub(super) fn of(db: &Connection, model: i64, page: i64) -> Result<Option<Vec<f32>>, StoreError> {
    let mut statement = db.prepare_cached("SELECT value FROM vector WHERE page = ?1 AND model = ?2")?;
    let value: Option<Option<Vec<u8>>> = statement.query_row([page, model], |row| row.get(0)).optional()?;
    Ok(value.flatten().map(|bytes| floats(&bytes)))
}

/// How a page that waits is told: `?1` is the model's number, `?2` the bytes of its vectors, or null where they are
/// not known yet.
const WAITS: &str = "NOT EXISTS (SELECT 1 FROM vector v WHERE v.page = page.number AND v.model = ?1
    AND (v.value IS NULL OR ?2 IS NULL OR length(v.value) = ?2))";

/// How many pages wait for a vector of this model.
pub(super) fn count_waiting(
    db: &Connection,
    name: &str,
    dimension: Option<usize>,
) -> Result<u32, StoreError> {
    let sql = format!("SELECT count(*) FROM page WHERE {WAITS}");
    Ok(db.query_row(&sql, params![model(db, name)?, bytes(dimension)], |row| row.get(0))?)
}

/// The next pages that wait, by number, after this one.
pub(super) fn waiting(
    db: &Connection,
    name: &str,
    dimension: Option<usize>,
    after: i64,
    limit: usize,
) -> Result<Vec<Waiting>, StoreError> {
    let sql = format!(
        "SELECT number, hash, title, overview, domains, content FROM page JOIN page_body ON page_body.page = page.number
         WHERE number > ?3 AND {WAITS} ORDER BY number LIMIT ?4"
    );
    let mut statement = db.prepare_cached(&sql)?;
    let values = params![model(db, name)?, bytes(dimension), after, limit as i64];
    let rows = statement.query_map(values, |row| {
        let domains: String = row.get(4)?;
        Ok(Waiting {
            page: row.get(0)?,
            hash: row.get(1)?,
            title: row.get(2)?,
            overview: row.get(3)?,
            // Damaged subjects are read::record's to complain about; the rest is embedded.
            domains: serde_json::from_str(&domains).unwrap_or_default(),
            content: row.get(5)?,
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Stores vectors of pages that are still as they were. Whoever comes second writes the same again.
pub(super) fn store(db: &Connection, name: &str, made: &[Made]) -> Result<(), StoreError> {
    let model = used(db, name)?;
    let generation: i64 = db.query_row(
        "UPDATE vector_state SET generation = generation + 1 RETURNING generation",
        [],
        |row| row.get(0),
    )?;
    let mut statement = db.prepare_cached(
        "INSERT INTO vector (page, model, changed, value)
         SELECT number, ?2, ?3, ?4 FROM page WHERE number = ?1 AND hash = ?5
         ON CONFLICT (page, model) DO UPDATE SET changed = excluded.changed, value = excluded.value",
    )?;
    for Made { page, hash, vector } in made {
        statement.execute(params![page, model, generation, vector.as_deref().map(stored), hash])?;
    }
    Ok(())
}

/// Notes that a model is used, and forgets those that have not been for long.
fn used(db: &Connection, name: &str) -> Result<i64, StoreError> {
    db.prepare_cached("DELETE FROM model WHERE used < unixepoch() - ?1 AND name <> ?2")?
        .execute(params![KEPT, name])?;
    let mut statement = db.prepare_cached(
        "INSERT INTO model (name, used) VALUES (?1, unixepoch())
         ON CONFLICT (name) DO UPDATE SET used = excluded.used RETURNING number",
    )?;
    Ok(statement.query_row([name], |row| row.get(0))?)
}

/// A stored vector with the number of its model.
pub(super) type Kept = (i64, Option<Vec<u8>>);

/// The vectors of a page, to be put back where only other parts of the page changed.
pub(super) fn taken(db: &Connection, page: i64) -> Result<Vec<Kept>, StoreError> {
    let mut statement = db.prepare_cached("SELECT model, value FROM vector WHERE page = ?1")?;
    let rows = statement.query_map([page], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Puts them back.
pub(super) fn put_back(db: &Connection, page: i64, taken: &[Kept]) -> Result<(), StoreError> {
    let mut statement = db.prepare_cached(
        "INSERT INTO vector (page, model, changed, value)
         SELECT ?1, ?2, generation, ?3 FROM vector_state",
    )?;
    for (model, value) in taken {
        statement.execute(params![page, model, value])?;
    }
    Ok(())
}

fn bytes(dimension: Option<usize>) -> Option<i64> {
    dimension.and_then(|dimension| i64::try_from(dimension * 4).ok())
}

/// A vector as it is stored.
fn stored(vector: &[f32]) -> Vec<u8> {
    vector.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// A stored vector.
pub(super) fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks::<4>().0.iter().map(|value| f32::from_le_bytes(*value)).collect()
}
