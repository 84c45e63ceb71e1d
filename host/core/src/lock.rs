//! Locks that outlive a panic. What they guard is changed in single steps, so it is whole even where a thread broke
//! down with the lock in its hands; one call's failure must not become everybody's.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Waits for the lock, whatever became of its last holder.
pub fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
