//! Caches server listings for calls, because reading a definition from the store takes longer than many servers take to
//! answer.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard},
    time::Duration,
};

use gatehouse_core::{Fault, lock, ports::tool_index::KnownListing};
use tokio::time::Instant;

use crate::sqlite::tools::SqliteTools;

/// Age at which the cache checks for changes by other processes, too short to notice after an approval in a shell.
const CACHE_TTL: Duration = Duration::from_millis(500);

#[derive(Default)]
pub(super) struct ListingCache {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Generation of the store when it was last checked.
    generation: i64,
    checked: Option<Instant>,
    /// Number of changes by this process.
    changes: u64,
    listings: HashMap<String, Option<KnownListing>>,
}

impl ListingCache {
    pub(super) async fn get(&self, store: &SqliteTools, server: &str) -> Result<Option<KnownListing>, Fault> {
        let changes = {
            let state = lock(&self.state);
            let is_fresh = state.checked.is_some_and(|checked| checked.elapsed() < CACHE_TTL);
            if let Some(known) = state.listings.get(server).filter(|_| is_fresh) {
                return Ok(known.clone());
            }
            state.changes
        };
        let generation = store.generation().await?;
        if let Some(known) = self.get_current(generation, changes, server) {
            return Ok(known);
        }
        let known = store.known_listing(server).await?;
        let mut state = lock(&self.state);
        // Discard a listing if the store changed while it was read.
        if (state.changes, state.generation) == (changes, generation) {
            state.listings.insert(server.to_owned(), known.clone());
        }
        Ok(known)
    }

    /// Returns the generation of the store, and clears the cache if it has changed, so that a caller who sees a new
    /// generation reads no older listing.
    pub(super) async fn generation(&self, store: &SqliteTools) -> Result<i64, Fault> {
        let changes = lock(&self.state).changes;
        let generation = store.generation().await?;
        self.lock_current(generation, changes);
        Ok(generation)
    }

    fn get_current(&self, generation: i64, changes: u64, server: &str) -> Option<Option<KnownListing>> {
        self.lock_current(generation, changes)?.listings.get(server).cloned()
    }

    /// Locks the cache at this generation, and clears older listings. `None` if this process has changed the store
    /// since.
    fn lock_current(&self, generation: i64, changes: u64) -> Option<MutexGuard<'_, State>> {
        let mut state = lock(&self.state);
        if state.changes != changes {
            return None;
        }
        if state.generation != generation {
            state.listings.clear();
            state.generation = generation;
        }
        state.checked = Some(Instant::now());
        Some(state)
    }

    /// Must be called after each change by this process.
    pub(super) fn changed(&self) {
        let mut state = lock(&self.state);
        state.changes += 1;
        state.listings.clear();
        state.checked = None;
    }
}
