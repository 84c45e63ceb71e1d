//! One version of a gate's file, independent of the gate's settings in presets.toml.

use std::{path::PathBuf, sync::Arc};

use gatehouse_core::capability::RequestedCapabilities;
use tokio::sync::OnceCell;

use crate::{
    index::FileStamp,
    instance::LoadedComponent,
    loader::{LoadError, SandboxState},
    traps::TrapCounter,
};

pub(crate) struct GateVersion {
    pub(crate) file: PathBuf,
    /// Stamp from when this version was read.
    pub(crate) stamp: FileStamp,
    pub(crate) digest: String,
    pub(crate) ask: RequestedCapabilities,
    pub(crate) traps: Arc<TrapCounter>,
    ready: OnceCell<LoadedComponent>,
}

impl GateVersion {
    /// Creates a version. `ready` is the component if it is already loaded.
    pub(crate) fn new(
        (file, stamp): (PathBuf, FileStamp),
        digest: String,
        ask: RequestedCapabilities,
        traps: Arc<TrapCounter>,
        ready: Option<LoadedComponent>,
    ) -> Arc<Self> {
        Arc::new(Self { file, stamp, digest, ask, traps, ready: OnceCell::new_with(ready) })
    }

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
        self.ready.get_or_try_init(load).await
    }
}
