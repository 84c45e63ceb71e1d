//! One version of a gate's file, independent of the gate's settings in presets.toml, and the count of its traps.

use std::{
    collections::HashMap,
    path::PathBuf,
    sync::{
        Arc, Mutex, Weak,
        atomic::{AtomicU32, Ordering},
    },
};

use gatehouse_core::capability::RequestedCapabilities;
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;

use crate::{
    index::FileStamp,
    instance::LoadedComponent,
    loader::{LoadError, SandboxState},
};

pub(crate) struct GateVersion {
    pub(crate) file: PathBuf,
    /// Stamp from when this version was read.
    pub(crate) stamp: FileStamp,
    pub(crate) digest: String,
    pub(crate) requested: RequestedCapabilities,
    pub(crate) traps: Arc<TrapCounter>,
    /// The component, once it is loaded.
    pub(crate) component: OnceCell<LoadedComponent>,
}

impl GateVersion {
    pub(crate) async fn component(
        self: &Arc<Self>,
        shared: &Arc<SandboxState>,
    ) -> Result<&LoadedComponent, LoadError> {
        let load = || async {
            let (shared, version) = (Arc::clone(shared), Arc::clone(self));
            let loaded =
                tokio::task::spawn_blocking(move || shared.load(&version.file, &version.digest)).await;
            loaded.unwrap_or_else(|_| Err(LoadError::new(&self.file, "the compiler failed on it")))
        };
        self.component.get_or_try_init(load).await
    }
}

/// Consecutive traps after which a version is unfit.
const MAX_TRAPS: u32 = 3;

#[derive(Default)]
pub(crate) struct TrapCounter {
    in_a_row: AtomicU32,
    /// Cancelled after [`MAX_TRAPS`] traps in a row.
    pub(crate) unfit: CancellationToken,
}

impl TrapCounter {
    pub(crate) fn observe(&self, trapped: bool) {
        if !trapped {
            self.in_a_row.store(0, Ordering::Relaxed);
        } else if self.in_a_row.fetch_add(1, Ordering::Relaxed) + 1 >= MAX_TRAPS {
            self.unfit.cancel();
        }
    }
}

/// Counts by gate name and content digest. A file that is rewritten with the same content continues its count.
#[derive(Default)]
pub(crate) struct TrapCounters(Mutex<HashMap<(String, String), Weak<TrapCounter>>>);

impl TrapCounters {
    /// Returns the counter of a version; callers share one per version.
    pub(crate) fn for_version(&self, gate: &str, digest: &str) -> Arc<TrapCounter> {
        let mut counts = gatehouse_core::lock(&self.0);
        counts.retain(|_, traps| traps.strong_count() > 0);
        let counter = counts.entry((gate.to_owned(), digest.to_owned())).or_default();
        counter.upgrade().unwrap_or_else(|| {
            let traps = Arc::new(TrapCounter::default());
            *counter = Arc::downgrade(&traps);
            traps
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_lasts_while_a_version_uses_it() {
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
