//! Traps in a row, counted by a gate's name and the digest of its content: a file that is touched, or written
//! again as it was, is read anew and counts on.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, Weak,
        atomic::{AtomicU32, Ordering},
    },
};

use tokio_util::sync::CancellationToken;

/// Traps in a row after which a version is not fit to stay.
const MAX_TRAPS: u32 = 3;

/// How the calls of one version end.
#[derive(Default)]
pub(crate) struct TrapCounter {
    in_a_row: AtomicU32,
    /// Cancelled when there were too many of them.
    unfit: CancellationToken,
}

impl TrapCounter {
    /// Takes note of how a call ended.
    pub(crate) fn observe(&self, trapped: bool) {
        if !trapped {
            self.in_a_row.store(0, Ordering::Relaxed);
        } else if self.in_a_row.fetch_add(1, Ordering::Relaxed) + 1 >= MAX_TRAPS {
            self.unfit.cancel();
        }
    }

    /// Ends when calls have trapped three times in a row.
    pub(crate) async fn wait_until_unfit(&self) {
        self.unfit.cancelled().await;
    }
}

/// The counts of all versions that are in use or on trial.
#[derive(Default)]
pub(crate) struct TrapCounters(Mutex<HashMap<(String, String), Weak<TrapCounter>>>);

impl TrapCounters {
    /// The count of a version, shared with whoever holds it already.
    pub(crate) fn for_version(&self, gate: &str, digest: &str) -> Arc<TrapCounter> {
        let mut counts = gatehouse_core::lock(&self.0);
        counts.retain(|_, traps| traps.strong_count() > 0);
        let known = counts.entry((gate.to_owned(), digest.to_owned())).or_default();
        known.upgrade().unwrap_or_else(|| {
            let traps = Arc::new(TrapCounter::default());
            *known = Arc::downgrade(&traps);
            traps
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_counts_on_as_long_as_somebody_holds_it() {
        let counts = TrapCounters::default();
        let first = counts.for_version("a", "1");
        assert!(Arc::ptr_eq(&first, &counts.for_version("a", "1")));
        assert!(
            !Arc::ptr_eq(&first, &counts.for_version("b", "1"))
                && !Arc::ptr_eq(&first, &counts.for_version("a", "2"))
        );
        (0..2).for_each(|_| counts.for_version("a", "1").observe(true));
        assert!(!first.unfit.is_cancelled());
        counts.for_version("a", "1").observe(true);
        assert!(first.unfit.is_cancelled());
        drop(first);
        assert!(!counts.for_version("a", "1").unfit.is_cancelled());
    }
}
