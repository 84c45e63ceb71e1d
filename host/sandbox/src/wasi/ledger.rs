//! What the objects that a guest has the host keep take of its budget, by their place in the resource table.

use std::collections::HashMap;

use gatehouse_core::budget::{ByteBudget, ByteReservation};

/// The guest made the host hold more than it may.
#[derive(Debug, thiserror::Error)]
#[error("the host holds as much for this gate as it may")]
pub(crate) struct BudgetExceeded;

/// Bytes by the table's index of the object. An object that is not in it takes next to nothing.
pub(crate) struct ResourceLedger {
    budget: ByteBudget,
    held: HashMap<u32, ByteReservation>,
}

impl ResourceLedger {
    pub(crate) fn new(budget: ByteBudget) -> Self {
        Self { budget, held: HashMap::new() }
    }

    /// Begins to hold for an object that keeps what it takes by itself, or is still to be made.
    pub(super) fn reserve(&self) -> ByteReservation {
        self.budget.reserve()
    }

    /// The object takes so many bytes from now on.
    pub(super) fn charge(&mut self, object: u32, bytes: usize) -> Result<(), BudgetExceeded> {
        let held = self.held.entry(object).or_insert_with(|| self.budget.reserve());
        if held.resize(bytes) { Ok(()) } else { Err(BudgetExceeded) }
    }

    /// The object takes so many bytes more.
    pub(super) fn add(&mut self, object: u32, bytes: usize) -> Result<(), BudgetExceeded> {
        let held = self.held.entry(object).or_insert_with(|| self.budget.reserve());
        if held.take(bytes) { Ok(()) } else { Err(BudgetExceeded) }
    }

    /// The object is gone, or about to be; what it took goes back with the answer.
    pub(super) fn release(&mut self, object: u32) -> Option<ByteReservation> {
        self.held.remove(&object)
    }

    /// One object became another.
    pub(super) fn hand_over(&mut self, from: Option<ByteReservation>, to: u32) {
        if let Some(held) = from {
            self.held.insert(to, held);
        }
    }
}
