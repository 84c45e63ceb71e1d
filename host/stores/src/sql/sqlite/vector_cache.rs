//! Vectors of one corpus and model in memory, quantized to bytes for scanning: about 280 bytes per item at 256
//! dimensions (2.8 MB for 10,000 items). The database rescores the best results with its floats.
//!
//! Every change of stored vectors, by any process, increments a generation number in the database. If it differs from
//! the cached one, a search loads the new vectors, or all of them if some were removed.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex},
};

use gatehouse_core::{
    lock,
    search::{RowSet, VectorBlock},
};
use rusqlite::{Connection, params};

use super::{
    error::{Result, StoreError},
    statements::CachedStatements as _,
    vectors,
};
use crate::engine::QueryVector;

pub(crate) struct VectorCache {
    corpus: &'static str,
    cached: Mutex<Option<Arc<CachedVectors>>>,
}

#[derive(Clone)]
pub(crate) struct CachedVectors {
    corpus: &'static str,
    /// Row number of the model.
    model: i64,
    generation: i64,
    block: VectorBlock,
    items: Vec<i64>,
    rows: HashMap<i64, usize>,
    /// Items without a vector from the model.
    empty_items: HashSet<i64>,
}

impl VectorCache {
    pub(crate) fn new(corpus: &'static str) -> Self {
        Self { corpus, cached: Mutex::default() }
    }

    /// Returns the vectors that compare with a question, as current as the snapshot of `db`. `None` if its model has no
    /// vectors yet.
    pub(crate) fn load(&self, db: &Connection, question: &QueryVector) -> Result<Option<Arc<CachedVectors>>> {
        let Some(model) = vectors::model(db, &question.model)? else { return Ok(None) };
        let dimension = question.values.len();
        let state = "SELECT generation, removed FROM vector_state";
        let state: Option<(i64, i64)> = db.first(state, [], |row| row.try_into())?;
        let Some((generation, removed)) = state else { return Ok(None) };
        // Locked during loading, so that concurrent searches load once.
        let mut cached = lock(&self.cached);
        let fits = cached.take_if(|cached| cached.model == model && cached.block.dimension() == dimension);
        let current = match fits {
            Some(current) if current.generation >= generation => current,
            Some(mut current) if current.generation >= removed => {
                Arc::make_mut(&mut current).read(db, generation)?;
                current
            }
            _ => {
                let mut loaded = CachedVectors::empty(self.corpus, model, dimension);
                loaded.read(db, generation)?;
                Arc::new(loaded)
            }
        };
        *cached = Some(Arc::clone(&current));
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
            empty_items: HashSet::new(),
        }
    }

    /// Loads vectors stored since the cached generation. Skips those of another dimension, which wait to be recomputed.
    fn read(&mut self, db: &Connection, generation: i64) -> Result<()> {
        let mut statement = db.prepare_cached(
            "SELECT v.item, v.value FROM vector v JOIN item ON item.number = v.item
             WHERE v.model = ?1 AND v.changed > ?2 AND item.corpus = ?3 ORDER BY v.changed, v.item",
        )?;
        let mut rows = statement.query(params![self.model, self.generation, self.corpus])?;
        while let Some(row) = rows.next()? {
            let item: i64 = row.get(0)?;
            match row.get_ref(1)?.as_blob_or_null().map_err(StoreError::invalid)? {
                None => {
                    self.empty_items.insert(item);
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

    pub(crate) fn model(&self) -> i64 {
        self.model
    }

    pub(crate) fn items(&self) -> usize {
        self.items.len() + self.empty_items.len()
    }

    /// Returns the similarity of each item to a vector. `None` for an item without a vector.
    pub(crate) fn cosines(&self, query: &[f32]) -> HashMap<i64, Option<f32>> {
        let near = self.items.iter().copied().zip(self.block.cosines(query).into_iter().map(Some));
        near.chain(self.empty_items.iter().map(|item| (*item, None))).collect()
    }

    /// Returns the items nearest to a vector with their similarity, limited to `allowed` if given.
    pub(crate) fn nearest(&self, query: &[f32], allowed: Option<&[i64]>, limit: usize) -> Vec<(i64, f32)> {
        let allowed: Option<RowSet> =
            allowed.map(|items| items.iter().filter_map(|item| self.rows.get(item).copied()).collect());
        let nearest_rows = self.block.nearest(query, allowed.as_ref(), limit);
        nearest_rows
            .into_iter()
            .map(|nearest_row| (self.items[nearest_row.row], nearest_row.cosine))
            .collect()
    }
}
