//! The vectors of one model, held in memory for the scan: bytes only, some 280 a page at 256 dimensions (2.8 MB for
//! 10,000 pages). The floats stay in the database, where the best of a scan are read again.
//!
//! Read when the first search needs them. Every change of the stored vectors, by this process or another,
//! raises a number beside them; a search that sees another number than the one held reads what is new, or
//! everything where something was removed.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, PoisonError},
};

use gatehouse_core::search::{Block, Rows};
use rusqlite::{Connection, OptionalExtension as _};

use super::vectors;
use crate::sqlite::error::StoreError;

/// The vectors that are held, if any.
#[derive(Default)]
pub(super) struct Meaning {
    held: Mutex<Option<Arc<Held>>>,
}

/// Vectors as they were at one generation.
#[derive(Clone)]
pub(super) struct Held {
    /// The model's number.
    model: i64,
    generation: i64,
    block: Block,
    /// The page of each row.
    pages: Vec<i64>,
    rows: HashMap<i64, usize>,
    /// Pages of which the model has nothing to say.
    silent: HashSet<i64>,
}

impl Meaning {
    /// The vectors of a model that have this dimension, as new as the state of the database that `db` sees;
    /// none where the model has not been stored yet.
    pub(super) fn held(
        &self,
        db: &Connection,
        model: &str,
        dimension: usize,
    ) -> Result<Option<Arc<Held>>, StoreError> {
        let Some(model) = vectors::model(db, model)? else { return Ok(None) };
        let state = db
            .prepare_cached("SELECT generation, removed FROM vector_state")?
            .query_row([], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?)));
        let Some((generation, removed)) = state.optional()? else { return Ok(None) };
        // Held while it is read: searches that begin together read it once.
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = held.take_if(|held| held.model == model && held.block.dimension() == dimension);
        let current = match fits {
            Some(current) if current.generation >= generation => current,
            Some(mut current) if current.generation >= removed => {
                Arc::make_mut(&mut current).read(db, generation)?;
                current
            }
            _ => {
                let mut fresh = Held::empty(model, dimension);
                fresh.read(db, generation)?;
                Arc::new(fresh)
            }
        };
        *held = Some(Arc::clone(&current));
        Ok(Some(current))
    }
}

impl Held {
    fn empty(model: i64, dimension: usize) -> Self {
        Self {
            model,
            generation: -1,
            block: Block::new(dimension),
            pages: Vec::new(),
            rows: HashMap::new(),
            silent: HashSet::new(),
        }
    }

    /// Adds what was stored since its generation; vectors of another dimension wait to be made anew.
    fn read(&mut self, db: &Connection, generation: i64) -> Result<(), StoreError> {
        let mut statement = db.prepare_cached(
            "SELECT page, value FROM vector WHERE model = ?1 AND changed > ?2 ORDER BY changed, page",
        )?;
        let mut rows = statement.query([self.model, self.generation])?;
        while let Some(row) = rows.next()? {
            let page: i64 = row.get(0)?;
            match row.get_ref(1)?.as_blob_or_null().map_err(|error| StoreError::Damaged(error.to_string()))? {
                None => {
                    self.silent.insert(page);
                }
                Some(bytes) => self.put(page, &vectors::floats(bytes)),
            }
        }
        self.generation = generation;
        Ok(())
    }

    fn put(&mut self, page: i64, vector: &[f32]) {
        match self.rows.get(&page) {
            Some(row) => {
                self.block.set(*row, vector);
            }
            None => {
                if let Some(row) = self.block.push(vector) {
                    self.pages.push(page);
                    self.rows.insert(page, row);
                }
            }
        }
    }

    /// The model's number.
    pub(super) fn model(&self) -> i64 {
        self.model
    }

    /// Pages that the model has been asked about.
    pub(super) fn pages(&self) -> usize {
        self.pages.len() + self.silent.len()
    }

    /// The pages nearest to a vector and how near they are; of `allowed` ones where those are given.
    pub(super) fn nearest(&self, query: &[f32], allowed: Option<&[i64]>, limit: usize) -> Vec<(i64, f32)> {
        let allowed: Option<Rows> =
            allowed.map(|pages| pages.iter().filter_map(|page| self.rows.get(page).copied()).collect());
        let near = self.block.nearest(query, allowed.as_ref(), limit);
        near.into_iter().map(|near| (self.pages[near.row], near.cosine)).collect()
    }
}
