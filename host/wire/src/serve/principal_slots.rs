//! Places that principals share: each one can take some of them.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use gatehouse_core::{Principal, lock};

/// The number of places that each principal has taken.
#[derive(Default)]
pub(super) struct PrincipalSlots(pub(super) Mutex<HashMap<Principal, usize>>);

/// A place, free again when this is dropped.
pub(super) struct PrincipalSlot {
    all: Arc<PrincipalSlots>,
    principal: Principal,
}

impl PrincipalSlots {
    /// Takes a place. `None` if the principal has `max_per_principal` of them, or all principals have `max_total`.
    pub(super) fn take(
        self: &Arc<Self>,
        principal: &Principal,
        max_per_principal: usize,
        max_total: usize,
    ) -> Option<PrincipalSlot> {
        let mut counts = lock(&self.0);
        let principal_count = counts.get(principal).copied().unwrap_or_default();
        if principal_count >= max_per_principal || counts.values().sum::<usize>() >= max_total {
            return None;
        }
        counts.insert(principal.clone(), principal_count + 1);
        Some(PrincipalSlot { all: Arc::clone(self), principal: principal.clone() })
    }
}

impl Drop for PrincipalSlot {
    fn drop(&mut self) {
        let mut counts = lock(&self.all.0);
        if let Some(principal_count) = counts.get_mut(&self.principal) {
            *principal_count -= 1;
            if *principal_count == 0 {
                counts.remove(&self.principal);
            }
        }
    }
}
