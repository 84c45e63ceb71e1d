//! Chunk vectors of a repository in memory, quantized to bytes for scanning: about 290 bytes per chunk at 256
//! dimensions (58 MB for 200,000 chunks). The database rescores the best results with its floats. If files change,
//! unchanged chunks reuse the loaded vectors.

use std::{
    collections::HashMap,
    ops::Range,
    sync::{Arc, Mutex},
};

use gatehouse_core::{lock, search::VectorBlock};
use rusqlite::{Connection, params, types::ValueRef};

use super::read::RepositoryKey;
use crate::{
    engine::QueryVector,
    sql::sqlite::{CachedStatements as _, vectors},
    sql::{Result, StoreError},
};

/// The least recently searched repositories are evicted first, but never the one just searched.
const MAX_CACHED_BYTES: usize = 256 * 1024 * 1024;

/// CROSS fixes the join order, because the other one would scan all repositories.
pub(super) const CHUNKS_OF: &str =
    "SELECT chunk.file, chunk.position, chunk.item FROM file CROSS JOIN chunk ON chunk.file = file.number
     WHERE file.repository = ?1";

/// Cached vectors by repository, most recently used last.
#[derive(Default)]
pub(super) struct ChunkVectorCache(Mutex<Vec<(i64, Arc<CacheSlot>)>>);

/// Locked during loading, so that concurrent searches of a repository load once.
type CacheSlot = Mutex<Option<Arc<ChunkVectors>>>;

/// Chunks of a repository at one revision, and their vectors at one generation.
#[derive(Clone)]
pub(super) struct ChunkVectors {
    model: CachedModel,
    revision: i64,
    generation: i64,
    /// One row per item, zeros if it has no vector.
    block: VectorBlock,
    items: Vec<ChunkItem>,
    rows: HashMap<i64, usize>,
    /// Row and position of each chunk, grouped by file.
    chunks: Vec<(u32, u32)>,
    /// File numbers, sorted, with the range of their chunks.
    files: Vec<(i64, Range<usize>)>,
}

#[derive(Clone, PartialEq, Eq)]
struct CachedModel {
    name: String,
    number: i64,
    dimension: usize,
}

#[derive(Clone, Copy)]
struct ChunkItem {
    number: i64,
    vector: VectorState,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum VectorState {
    Present,
    /// The model returned no vector.
    Empty,
    Waiting,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct NearestChunk {
    pub(super) file: i64,
    pub(super) position: u32,
    pub(super) item: i64,
    /// Computed from the quantized vectors.
    pub(super) cosine: f32,
}

impl ChunkVectorCache {
    /// Returns the vectors of a repository that compare with a question, as current as the snapshot of `db`. `None` if
    /// its model has no vectors yet.
    pub(super) fn load(
        &self,
        db: &Connection,
        repository: &RepositoryKey,
        question: &QueryVector,
    ) -> Result<Option<Arc<ChunkVectors>>> {
        let QueryVector { model: name, values } = question;
        let Some(number) = vectors::model(db, name)? else { return Ok(None) };
        let model = CachedModel { name: name.clone(), number, dimension: values.len() };
        let generation: i64 = db.value("SELECT generation FROM vector_state", [])?;
        let slot = self.slot(repository.number);
        let mut slot = lock(&slot);
        let current = match slot.take().filter(|cached| cached.model == model) {
            Some(cached) if cached.revision == repository.revision && cached.generation >= generation => {
                cached
            }
            Some(mut cached) if cached.revision == repository.revision => {
                Arc::make_mut(&mut cached).read_new(db, generation)?;
                cached
            }
            older => Arc::new(ChunkVectors::read(db, repository, model, generation, older.as_deref())?),
        };
        *slot = Some(Arc::clone(&current));
        drop(slot);
        self.make_room(repository.number);
        Ok(Some(current))
    }

    fn slot(&self, repository: i64) -> Arc<CacheSlot> {
        let mut slots = lock(&self.0);
        let position = slots.iter().position(|(number, _)| *number == repository);
        let slot = position.map_or_else(Arc::default, |at| slots.remove(at).1);
        slots.push((repository, Arc::clone(&slot)));
        slot
    }

    fn make_room(&self, keep: i64) {
        let mut slots = lock(&self.0);
        // A slot that is still loading counts the next time.
        let size = |slot: &CacheSlot| {
            slot.try_lock().map_or(0, |cached| cached.as_ref().map_or(0, |vectors| vectors.bytes()))
        };
        let mut free = MAX_CACHED_BYTES;
        let mut retained = Vec::new();
        while let Some((number, slot)) = slots.pop() {
            let bytes = size(&slot);
            if number == keep || bytes <= free {
                free = free.saturating_sub(bytes);
                retained.push((number, slot));
            }
        }
        retained.reverse();
        *slots = retained;
    }
}

impl ChunkVectors {
    fn read(
        db: &Connection,
        repository: &RepositoryKey,
        model: CachedModel,
        generation: i64,
        older: Option<&Self>,
    ) -> Result<Self> {
        let block = VectorBlock::new(model.dimension);
        let since = older.map_or(generation, |older| older.generation.min(generation));
        let mut read = Self {
            model,
            revision: repository.revision,
            generation: since,
            block,
            items: Vec::new(),
            rows: HashMap::new(),
            chunks: Vec::new(),
            files: Vec::new(),
        };
        read.read_chunks(db, repository.number)?;
        let none = vec![0.0; read.block.dimension()];
        let mut value = db.prepare_cached("SELECT value FROM vector WHERE item = ?1 AND model = ?2")?;
        for row in 0..read.items.len() {
            let item = read.items[row].number;
            if let Some((older, at)) = older.and_then(|older| Some((older, older.row_of_item(item)?))) {
                read.block.push_row(&older.block, at);
                read.items[row].vector = older.items[at].vector;
                continue;
            }
            read.block.push(&none);
            let mut vector_rows = value.query([item, read.model.number])?;
            if let Some(vector) = vector_rows.next()? {
                read.set(row, vector.get_ref(0)?)?;
            }
        }
        if since < generation {
            read.read_new(db, generation)?;
        }
        Ok(read)
    }

    fn read_chunks(&mut self, db: &Connection, repository: i64) -> Result<()> {
        let mut statement = db.prepare_cached(CHUNKS_OF)?;
        let mut chunk_rows = statement.query([repository])?;
        while let Some(chunk) = chunk_rows.next()? {
            let (file, position, number): (i64, u32, i64) = (chunk.get(0)?, chunk.get(1)?, chunk.get(2)?);
            let items = &mut self.items;
            let row = *self.rows.entry(number).or_insert_with(|| {
                items.push(ChunkItem { number, vector: VectorState::Waiting });
                items.len() - 1
            });
            let at = self.chunks.len();
            self.chunks.push((row as u32, position));
            match self.files.last_mut().filter(|(last, _)| *last == file) {
                Some((_, chunks)) => chunks.end = at + 1,
                None => self.files.push((file, at..at + 1)),
            }
        }
        self.files.sort_unstable_by_key(|(file, _)| *file);
        Ok(())
    }

    fn read_new(&mut self, db: &Connection, generation: i64) -> Result<()> {
        let mut statement =
            db.prepare_cached("SELECT item, value FROM vector WHERE model = ?1 AND changed > ?2")?;
        let mut vector_rows = statement.query(params![self.model.number, self.generation])?;
        while let Some(vector) = vector_rows.next()? {
            if let Some(row) = self.rows.get(&vector.get(0)?).copied() {
                self.set(row, vector.get_ref(1)?)?;
            }
        }
        self.generation = generation;
        Ok(())
    }

    /// Sets the vector of a row. A vector of another dimension is waiting to be recomputed.
    fn set(&mut self, row: usize, value: ValueRef<'_>) -> Result<()> {
        let bytes = value.as_blob_or_null().map_err(StoreError::invalid)?;
        self.items[row].vector = match bytes {
            None => VectorState::Empty,
            Some(bytes) if self.block.set(row, &vectors::floats(bytes)) => VectorState::Present,
            Some(_) => VectorState::Waiting,
        };
        Ok(())
    }

    /// Returns the row of an item that does not wait for a vector.
    fn row_of_item(&self, item: i64) -> Option<usize> {
        let row = *self.rows.get(&item)?;
        (self.items[row].vector != VectorState::Waiting).then_some(row)
    }

    fn bytes(&self) -> usize {
        self.block.len() * (self.block.dimension() + 24) + self.chunks.len() * 16
    }

    pub(super) fn model(&self) -> i64 {
        self.model.number
    }

    pub(super) fn waiting(&self) -> usize {
        if self.items.iter().all(|item| item.vector != VectorState::Waiting) {
            return 0;
        }
        let waits = |(row, _): &(u32, u32)| self.items[*row as usize].vector == VectorState::Waiting;
        self.files.iter().filter(|(_, chunks)| self.chunks[chunks.clone()].iter().any(waits)).count()
    }

    /// Returns the nearest chunk of every file with a vector, sorted by file number.
    pub(super) fn nearest_chunks(&self, query: &[f32]) -> Vec<NearestChunk> {
        let cosines = self.block.cosines(query);
        let mut nearest = Vec::with_capacity(self.files.len());
        for (file, chunks) in &self.files {
            let present_chunks = self.chunks[chunks.clone()].iter().filter_map(|(row, position)| {
                let row = *row as usize;
                let item = self.items[row];
                let chunk = NearestChunk {
                    file: *file,
                    position: *position,
                    item: item.number,
                    cosine: cosines[row],
                };
                (item.vector == VectorState::Present).then_some(chunk)
            });
            // In a tie, the first chunk wins.
            nearest.extend(
                present_chunks.reduce(|best, next| if next.cosine > best.cosine { next } else { best }),
            );
        }
        nearest
    }
}

pub(super) fn with_chunks(db: &Connection, repository: i64) -> Result<usize> {
    let sql = "SELECT count(*) FROM file WHERE repository = ?1 AND EXISTS (SELECT 1 FROM chunk WHERE file = number)";
    Ok(usize::try_from(db.value::<i64>(sql, [repository])?).unwrap_or(0))
}
