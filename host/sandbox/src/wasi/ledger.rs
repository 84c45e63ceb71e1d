//! Accounts for host memory of a guest's objects, by index in the resource table.

use std::collections::HashMap;

use gatehouse_core::budget::{ByteBudget, ByteReservation};

#[derive(Debug, thiserror::Error)]
#[error("the host memory budget of this gate is exhausted")]
pub(crate) struct BudgetExceeded;

/// Reserved bytes by table index. Objects that are not listed use next to nothing.
pub(crate) struct ResourceLedger {
    budget: ByteBudget,
    held: HashMap<u32, ByteReservation>,
}

impl ResourceLedger {
    pub(crate) fn new(budget: ByteBudget) -> Self {
        Self { budget, held: HashMap::new() }
    }

    /// Starts a reservation for an object that stores it itself or does not exist yet.
    pub(super) fn reserve(&self) -> ByteReservation {
        self.budget.reserve()
    }

    pub(super) fn charge(&mut self, object: u32, bytes: usize) -> Result<(), BudgetExceeded> {
        let held = self.held.entry(object).or_insert_with(|| self.budget.reserve());
        if held.resize(bytes) { Ok(()) } else { Err(BudgetExceeded) }
    }

    pub(super) fn add(&mut self, object: u32, bytes: usize) -> Result<(), BudgetExceeded> {
        let held = self.held.entry(object).or_insert_with(|| self.budget.reserve());
        if held.take(bytes) { Ok(()) } else { Err(BudgetExceeded) }
    }

    /// Removes an object. Its bytes are freed when the returned reservation is dropped.
    pub(super) fn release(&mut self, object: u32) -> Option<ByteReservation> {
        self.held.remove(&object)
    }

    pub(super) fn hand_over(&mut self, from: Option<ByteReservation>, to: u32) {
        if let Some(held) = from {
            self.held.insert(to, held);
        }
    }
}
