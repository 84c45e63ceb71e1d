//! One content of a gate's file: what stays the same whatever presets.toml says about the gate.

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

use gatehouse_core::capability::Ask;
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;

use crate::{
    index::Stamp,
    instance::Ready,
    loader::{LoadError, Shared},
};

/// Traps in a row after which a version is not fit to stay.
const MAX_TRAPS: u32 = 3;

/// A component. Loading is lazy: until a call needs it, only what stands here is known.
pub(crate) struct Version {
    /// The component's file.
    pub(crate) file: PathBuf,
    /// The file as it was when this version was read.
    pub(crate) stamp: Stamp,
    /// Bytes of the file.
    pub(crate) size: u64,
    /// SHA-256 of the file, hexadecimal.
    pub(crate) digest: String,
    /// What it imports.
    pub(crate) ask: Ask,
    ready: OnceCell<Ready>,
    /// Calls in a row that ended in a trap.
    traps: AtomicU32,
    /// Cancelled when there were too many of them.
    unfit: CancellationToken,
}

impl Version {
    /// `ready` is the component where it has been loaded on the way.
    pub(crate) fn new(
        (file, stamp, size): (PathBuf, Stamp, u64),
        digest: String,
        ask: Ask,
        ready: Option<Ready>,
    ) -> Arc<Self> {
        let (traps, unfit) = (AtomicU32::new(0), CancellationToken::new());
        let ready = OnceCell::new_with(ready);
        Arc::new(Self { file, stamp, size, digest, ask, ready, traps, unfit })
    }

    /// The component, loaded on first use.
    pub(crate) async fn ready(self: &Arc<Self>, shared: &Arc<Shared>) -> Result<&Ready, LoadError> {
        let load = || async {
            let (shared, version) = (Arc::clone(shared), Arc::clone(self));
            let loaded =
                tokio::task::spawn_blocking(move || shared.load(&version.file, &version.digest)).await;
            loaded.unwrap_or_else(|_| Err(LoadError::new(&self.file, "the compiler failed on it")))
        };
        self.ready.get_or_try_init(load).await
    }

    /// Ends when calls have trapped three times in a row.
    pub(crate) async fn unfit(&self) {
        self.unfit.cancelled().await;
    }

    /// Takes note of how a call ended.
    pub(crate) fn observe(&self, trapped: bool) {
        if !trapped {
            self.traps.store(0, Ordering::Relaxed);
        } else if self.traps.fetch_add(1, Ordering::Relaxed) + 1 >= MAX_TRAPS {
            self.unfit.cancel();
        }
    }
}
