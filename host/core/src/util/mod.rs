//! Building blocks without domain knowledge: budgets, shared work, hashes, JSON and names.

pub mod budget;
pub mod check_threads;
pub(crate) mod enum_words;
pub mod fair_semaphore;
pub mod hash;
pub mod invalid;
pub mod json;
pub mod log_limit;
pub mod names;
pub(crate) mod recent_map;
pub mod single_flight;
pub mod utc_time;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a mutex, ignoring poisoning: guarded data changes in single steps, so it stays consistent after a panic.
pub fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
