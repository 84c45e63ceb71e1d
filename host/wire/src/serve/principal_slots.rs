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
    /// Takes a place. `None` if the principal has `most_own` of them, or all principals have `most`.
    pub(super) fn take(
        self: &Arc<Self>,
        principal: &Principal,
        most_own: usize,
        most: usize,
    ) -> Option<PrincipalSlot> {
        let mut taken = lock(&self.0);
        let own = taken.get(principal).copied().unwrap_or_default();
        if own >= most_own || taken.values().sum::<usize>() >= most {
            return None;
        }
        taken.insert(principal.clone(), own + 1);
        Some(PrincipalSlot { all: Arc::clone(self), principal: principal.clone() })
    }
}

impl Drop for PrincipalSlot {
    fn drop(&mut self) {
        let mut taken = lock(&self.all.0);
        if let Some(own) = taken.get_mut(&self.principal) {
            *own -= 1;
            if *own == 0 {
                taken.remove(&self.principal);
            }
        }
    }
}
