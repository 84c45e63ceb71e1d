//! The vectors of one corpus and model, held in memory for the scan: bytes only, some 280 an item at 256 dimensions
//! (2.8 MB for 10,000). The floats stay in the database, where the best of a scan are read again.
//!
//! Read when the first search needs them. Every change of the stored vectors, by this process or another,
//! raises a number beside them; a search that sees another number than the one held reads what is new, or
//! everything where something was removed.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex},
};

use gatehouse_core::{
    lock,
    search::{RowSet, VectorBlock},
};
use rusqlite::{Connection, OptionalExtension as _, params};

use super::{error::StoreError, vectors};

/// The vectors of a corpus that are held, if any.
pub(super) struct VectorCache {
    corpus: &'static str,
    held: Mutex<Option<Arc<CachedVectors>>>,
}

/// Vectors as they were at one generation.
#[derive(Clone)]
pub(super) struct CachedVectors {
    corpus: &'static str,
    /// The model's number.
    model: i64,
    generation: i64,
    block: VectorBlock,
    /// The item of each row.
    items: Vec<i64>,
    rows: HashMap<i64, usize>,
    /// Items of which the model has nothing to say.
    silent: HashSet<i64>,
}

impl VectorCache {
    /// Holds nothing yet.
    pub(super) fn new(corpus: &'static str) -> Self {
        Self { corpus, held: Mutex::default() }
    }

    /// The vectors of a model that have this dimension, as new as the state of the database that `db` sees;
    /// none where the model has not been stored yet.
    pub(super) fn held(
        &self,
        db: &Connection,
        model: &str,
        dimension: usize,
    ) -> Result<Option<Arc<CachedVectors>>, StoreError> {
        let Some(model) = vectors::model(db, model)? else { return Ok(None) };
        let state = db
            .prepare_cached("SELECT generation, removed FROM vector_state")?
            .query_row([], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?)));
        let Some((generation, removed)) = state.optional()? else { return Ok(None) };
        // Held while it is read: searches that begin together read it once.
        let mut held = lock(&self.held);
        let fits = held.take_if(|held| held.model == model && held.block.dimension() == dimension);
        let current = match fits {
            Some(current) if current.generation >= generation => current,
            Some(mut current) if current.generation >= removed => {
                Arc::make_mut(&mut current).read(db, generation)?;
                current
            }
            _ => {
                let mut fresh = CachedVectors::empty(self.corpus, model, dimension);
                fresh.read(db, generation)?;
                Arc::new(fresh)
            }
        };
        *held = Some(Arc::clone(&current));
        Ok(Some(current))
    }
}

impl CachedVectors {
    fn empty(corpus: &'static str, model: i64, dimension: usize) -> Self {
        Self {
            corpus,
            model,
            generation: -1,
            block: VectorBlock::new(dimension),
            items: Vec::new(),
            rows: HashMap::new(),
            silent: HashSet::new(),
        }
    }

    /// Adds what was stored since its generation; vectors of another dimension wait to be made anew.
    fn read(&mut self, db: &Connection, generation: i64) -> Result<(), StoreError> {
        let mut statement = db.prepare_cached(
            "SELECT v.item, v.value FROM vector v JOIN item ON item.number = v.item
             WHERE v.model = ?1 AND v.changed > ?2 AND item.corpus = ?3 ORDER BY v.changed, v.item",
        )?;
        let mut rows = statement.query(params![self.model, self.generation, self.corpus])?;
        while let Some(row) = rows.next()? {
            let item: i64 = row.get(0)?;
            match row.get_ref(1)?.as_blob_or_null().map_err(|error| StoreError::Damaged(error.to_string()))? {
                None => {
                    self.silent.insert(item);
                }
                Some(bytes) => self.put(item, &vectors::floats(bytes)),
            }
        }
        self.generation = generation;
        Ok(())
    }

    fn put(&mut self, item: i64, vector: &[f32]) {
        match self.rows.get(&item) {
            Some(row) => {
                self.block.set(*row, vector);
            }
            None => {
                if let Some(row) = self.block.push(vector) {
                    self.items.push(item);
                    self.rows.insert(item, row);
                }
            }
        }
    }

    /// The model's number.
    pub(super) fn model(&self) -> i64 {
        self.model
    }

    /// How many items the model has been asked about.
    pub(super) fn items(&self) -> usize {
        self.items.len() + self.silent.len()
    }

    /// How near each item is to a vector.
    pub(super) fn cosines(&self, query: &[f32]) -> Vec<(i64, f32)> {
        self.items.iter().copied().zip(self.block.cosines(query)).collect()
    }

    /// The items nearest to a vector and how near they are; of `allowed` ones where those are given.
    pub(super) fn nearest(&self, query: &[f32], allowed: Option<&[i64]>, limit: usize) -> Vec<(i64, f32)> {
        let allowed: Option<RowSet> =
            allowed.map(|items| items.iter().filter_map(|item| self.rows.get(item).copied()).collect());
        let near = self.block.nearest(query, allowed.as_ref(), limit);
        near.into_iter().map(|near| (self.items[near.row], near.cosine)).collect()
    }
}
