//! One content of a gate's file: what stays the same whatever presets.toml says about the gate.

use std::{path::PathBuf, sync::Arc};

use gatehouse_core::capability::RequestedCapabilities;
use tokio::sync::OnceCell;

use crate::{
    index::FileStamp,
    instance::LoadedComponent,
    loader::{LoadError, SandboxState},
    traps::TrapCounter,
};

/// A component. Loading is lazy: until a call needs it, only what stands here is known.
pub(crate) struct GateVersion {
    /// The component's file.
    pub(crate) file: PathBuf,
    /// The file as it was when this version was read.
    pub(crate) stamp: FileStamp,
    /// SHA-256 of the file, hexadecimal.
    pub(crate) digest: String,
    /// What it imports.
    pub(crate) ask: RequestedCapabilities,
    /// How its calls end.
    pub(crate) traps: Arc<TrapCounter>,
    ready: OnceCell<LoadedComponent>,
}

impl GateVersion {
    /// `ready` is the component where it has been loaded on the way.
    pub(crate) fn new(
        (file, stamp): (PathBuf, FileStamp),
        digest: String,
        ask: RequestedCapabilities,
        traps: Arc<TrapCounter>,
        ready: Option<LoadedComponent>,
    ) -> Arc<Self> {
        Arc::new(Self { file, stamp, digest, ask, traps, ready: OnceCell::new_with(ready) })
    }

    /// The component, loaded on first use.
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
