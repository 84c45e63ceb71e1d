//! Finds documents by the vectors of their chunks. Scans every vector of a repository.

use std::collections::HashMap;

use gatehouse_core::ports::documents::LineRange;
use tokio_postgres::Row;

use super::{
    super::super::{
        error::{StoreError, column, count},
        session::PostgresSession,
        vectors::PgvectorQuery,
    },
    after_prefix, item_key,
    read::{self, RepositoryKey},
    repository_prefix,
};

/// Result of a vector search in a repository.
#[derive(Default)]
pub(super) struct NearestFiles {
    pub(super) files: Vec<i64>,
    /// Number of items that the model has processed.
    pub(super) known: i64,
}

/// Returns the files with the nearest chunks, ties by number.
pub(super) async fn by_vector(
    db: &PostgresSession,
    repository: &RepositoryKey,
    near: Option<&PgvectorQuery<'_>>,
    pool: i64,
) -> Result<NearestFiles, StoreError> {
    let Some(near) = near else { return Ok(NearestFiles::default()) };
    let prefix = repository_prefix(repository.number);
    // Groups by key prefix, which contains the file number. OFFSET 0 forces the distances to be computed before the
    // sort, because vectors are long.
    let sql = format!(
        "SELECT file, sum(known) OVER ()::bigint, distance IS NULL FROM (
            SELECT left(key, $7) AS file, count(*) AS known, min(distance) AS distance FROM (
                {} AND v.key >= $5 AND v.key < $6 OFFSET 0
            ) near GROUP BY 1
         ) files ORDER BY distance NULLS LAST, file LIMIT $8",
        near.distances_or_none()
    );
    let [vector, corpus, model, dimension] = near.values();
    let file_prefix = item_key(repository.number, 0, "");
    let length = i32::try_from(file_prefix.len()).unwrap_or(i32::MAX);
    let to = after_prefix(&prefix);
    let rows = db.rows(&sql, &[vector, corpus, model, dimension, &prefix, &to, &length, &pool]).await?;
    let mut found = NearestFiles::default();
    for row in &rows {
        found.known = column(row, 1)?;
        let key: String = column(row, 0)?;
        if !column::<bool>(row, 2)? {
            found.files.extend(read::file_of(&key));
        }
    }
    Ok(found)
}

pub(super) async fn waiting(
    db: &PostgresSession,
    repository: &RepositoryKey,
    near: Option<&PgvectorQuery<'_>>,
) -> Result<u32, StoreError> {
    let all =
        "SELECT count(DISTINCT c.file) FROM gatehouse.file f JOIN gatehouse.chunk c ON c.file = f.number
         WHERE f.repository = $1";
    let row = match near {
        None => db.one(all, &[&repository.number]).await?,
        Some(near) => {
            let [_, corpus, model, dimension] = near.values();
            let sql = format!(
                "{all} AND NOT EXISTS (SELECT 1 FROM gatehouse.item_vector v
                    WHERE v.corpus = $2 AND v.key = c.item AND v.model = $3 AND v.dimension IN (0, $4))"
            );
            db.one(&sql, &[&repository.number, corpus, model, dimension]).await?
        }
    };
    count(&row, 0)
}

/// Returns the similarity of each file and the lines of its nearest chunk.
pub(super) async fn nearest(
    db: &PostgresSession,
    repository: &RepositoryKey,
    near: Option<&PgvectorQuery<'_>>,
    files: &[i64],
) -> Result<HashMap<i64, (f32, LineRange)>, StoreError> {
    let Some(near) = near else { return Ok(HashMap::new()) };
    let (from, to): (Vec<String>, Vec<String>) = files
        .iter()
        .map(|file| item_key(repository.number, *file, ""))
        .map(|prefix| (prefix.clone(), after_prefix(&prefix)))
        .unzip();
    let sql = format!(
        "SELECT asked.file, 1 - best.distance, best.first_line, best.last_line
         FROM unnest($5::bigint[], $6::text[], $7::text[]) AS asked (file, low, high),
            LATERAL (SELECT near.distance, c.first_line, c.last_line
                FROM ({} AND v.key >= asked.low AND v.key < asked.high ORDER BY distance, v.key LIMIT 1) near
                JOIN gatehouse.chunk c ON c.file = asked.file AND c.item = near.key
                ORDER BY c.position LIMIT 1) best",
        near.distances()
    );
    let [vector, corpus, model, dimension] = near.values();
    let rows = db.rows(&sql, &[vector, corpus, model, dimension, &files, &from, &to]).await?;
    let one = |row: &Row| {
        let lines = LineRange { first: count(row, 2)?, last: count(row, 3)? };
        Ok((column(row, 0)?, (column::<f64>(row, 1)? as f32, lines)))
    };
    rows.iter().map(one).collect()
}
