//! What servers list, held for calls: each call of a server's tool needs the definition of it, and to read that from the store
//! takes longer than many a server takes to answer.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard},
    time::Duration,
};

use gatehouse_core::{Fault, lock, ports::tool_index::KnownListing};
use tokio::time::Instant;

use crate::sqlite::tools::SqliteTools;

/// How long what is held is believed before the store is asked whether another process changed it. Somebody who approves a
/// tool at a shell does not notice so little.
const CACHE_TTL: Duration = Duration::from_millis(500);

#[derive(Default)]
pub(super) struct ListingCache {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Of the store, when it was looked at last.
    generation: i64,
    looked: Option<Instant>,
    /// Counts what this process changed.
    changes: u64,
    listings: HashMap<String, Option<KnownListing>>,
}

impl ListingCache {
    pub(super) async fn get(&self, store: &SqliteTools, server: &str) -> Result<Option<KnownListing>, Fault> {
        let changes = {
            let state = lock(&self.state);
            let is_fresh = state.looked.is_some_and(|looked| looked.elapsed() < CACHE_TTL);
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
        // What was read beside a change may be from before it.
        if (state.changes, state.generation) == (changes, generation) {
            state.listings.insert(server.to_owned(), known.clone());
        }
        Ok(known)
    }

    /// The state of the store. What is held of another one is let go, so that whoever sees a new state reads nothing older.
    pub(super) async fn generation(&self, store: &SqliteTools) -> Result<i64, Fault> {
        let changes = lock(&self.state).changes;
        let generation = store.generation().await?;
        self.lock_current(generation, changes);
        Ok(generation)
    }

    /// What is held of a server, if it is of this state of the store; what is of another one is let go.
    fn get_current(&self, generation: i64, changes: u64, server: &str) -> Option<Option<KnownListing>> {
        self.lock_current(generation, changes)?.listings.get(server).cloned()
    }

    /// What is held, of this state of the store; none where this process has changed the store since it was asked.
    fn lock_current(&self, generation: i64, changes: u64) -> Option<MutexGuard<'_, State>> {
        let mut state = lock(&self.state);
        if state.changes != changes {
            return None;
        }
        if state.generation != generation {
            state.listings.clear();
            state.generation = generation;
        }
        state.looked = Some(Instant::now());
        Some(state)
    }

    /// To be called after each change that this process makes.
    pub(super) fn changed(&self) {
        let mut state = lock(&self.state);
        state.changes += 1;
        state.listings.clear();
        state.looked = None;
    }
}
