//! Creates the artifact store for the configured engine.

use std::{future::pending, sync::Arc, time::Duration};

use gatehouse_core::ports::Embedder;
use gatehouse_stores::ArtifactStore;

use super::{HostStores, SystemClock, lazy_port::LazyWorkspace};
use crate::config::{ArtifactsEngineConfig, Config, ConfigError};

/// Delay of the first sweep, to keep it out of the host's startup.
const FIRST_SWEEP: Duration = Duration::from_secs(60);

const SWEEP_INTERVAL: Duration = Duration::from_secs(300);

/// Creates the artifact port, which opens the store on first use.
pub(super) fn from_config(config: &Arc<Config>, embedder: &Arc<dyn Embedder>) -> LazyWorkspace {
    let (config, embedder) = (Arc::clone(config), Arc::clone(embedder));
    LazyWorkspace::new("the artifacts are", move || artifacts(&config, &embedder).map(Arc::new))
}

fn artifacts(config: &Config, embedder: &Arc<dyn Embedder>) -> Result<ArtifactStore, ConfigError> {
    let (clock, embedder) = (Arc::new(SystemClock), Some(Arc::clone(embedder)));
    let limits = config.artifacts.limits();
    let store = match config.artifacts.chosen()? {
        ArtifactsEngineConfig::Sqlite { database } => {
            ArtifactStore::sqlite(database, limits, clock, embedder)
        }
        #[cfg(feature = "postgres")]
        ArtifactsEngineConfig::Postgres(server) => ArtifactStore::postgres(*server, limits, clock, embedder),
    };
    #[cfg(feature = "chroma")]
    if let Some(chroma) = config.artifacts.chroma()? {
        return Ok(store.with_chroma(chroma));
    }
    Ok(store)
}

impl HostStores {
    /// Deletes expired artifacts every few minutes while the future is polled.
    pub(crate) async fn sweep(self) {
        tokio::time::sleep(FIRST_SWEEP).await;
        // Callers that need artifacts report configuration errors.
        let Ok(store) = self.artifacts.get() else { return };
        let _sweeper = store.start_sweeping(SWEEP_INTERVAL);
        pending::<()>().await;
    }
}
