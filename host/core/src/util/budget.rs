//! Budgets for memory that guests make the host allocate. One budget counts all kinds of data, because a guest at the
//! limit of one kind could use another.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

/// Bytes that may be in use at the same time, shared by all clones.
#[derive(Debug, Clone)]
pub struct ByteBudget(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    remaining: AtomicUsize,
    parent: Option<ByteBudget>,
}

/// Bytes taken from a budget, released on drop.
#[derive(Debug)]
pub struct ByteReservation {
    budget: ByteBudget,
    bytes: usize,
}

impl ByteBudget {
    pub fn new(bytes: usize) -> Self {
        Self(Arc::new(Inner { remaining: AtomicUsize::new(bytes), parent: None }))
    }

    /// Creates a sub-budget with its own limit, which also takes from this budget.
    pub fn part(&self, bytes: usize) -> Self {
        Self(Arc::new(Inner { remaining: AtomicUsize::new(bytes), parent: Some(self.clone()) }))
    }

    pub fn reserve(&self) -> ByteReservation {
        ByteReservation { budget: self.clone(), bytes: 0 }
    }

    fn take(&self, bytes: usize) -> bool {
        let less = |remaining: usize| remaining.checked_sub(bytes);
        if self.0.remaining.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_err() {
            return false;
        }
        let is_taken = self.0.parent.as_ref().is_none_or(|parent| parent.take(bytes));
        if !is_taken {
            self.0.remaining.fetch_add(bytes, Ordering::Relaxed);
        }
        is_taken
    }

    fn release(&self, bytes: usize) {
        self.0.remaining.fetch_add(bytes, Ordering::Relaxed);
        if let Some(parent) = &self.0.parent {
            parent.release(bytes);
        }
    }
}

impl ByteReservation {
    /// Adds `bytes`. Returns `false` and adds nothing if the budget has too few left.
    #[must_use]
    pub fn take(&mut self, bytes: usize) -> bool {
        let is_taken = self.budget.take(bytes);
        if is_taken {
            self.bytes += bytes;
        }
        is_taken
    }

    /// Changes the size to `bytes`. Returns `false` and keeps the old size if the budget has too few left.
    #[must_use]
    pub fn resize(&mut self, bytes: usize) -> bool {
        if bytes > self.bytes {
            return self.take(bytes - self.bytes);
        }
        self.budget.release(self.bytes - bytes);
        self.bytes = bytes;
        true
    }

    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for ByteReservation {
    fn drop(&mut self) {
        self.budget.release(self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dropped_reservation_releases_its_bytes() {
        let budget = ByteBudget::new(10);
        let (mut one, mut other) = (budget.reserve(), budget.reserve());
        assert!(one.take(6) && !other.take(6) && other.take(4));
        drop(one);
        assert!(other.take(6) && !other.take(1));
        assert!(other.resize(3) && !other.resize(11) && other.bytes() == 3);
    }

    #[test]
    fn sub_budget_takes_from_its_parent() {
        let parent = ByteBudget::new(10);
        let part = parent.part(6);
        let (mut of_part, mut of_whole) = (part.reserve(), parent.reserve());
        assert!(!of_part.take(7) && of_part.take(5) && of_whole.take(4));
        assert!(!of_part.take(1) || !of_part.take(1), "the parent has one left, the part too");
        drop((of_part, of_whole));
        assert!(part.reserve().take(6) && parent.reserve().take(10));
    }
}
