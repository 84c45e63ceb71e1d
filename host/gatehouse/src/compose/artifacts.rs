//! The artifacts on their engine. One arm for each, here and nowhere else.

use std::{future::pending, sync::Arc, time::Duration};

use gatehouse_core::ports::Embedder;
use gatehouse_stores::ArtifactStore;

use super::{HostStores, SystemClock, lazy_port::LazyWorkspace};
use crate::config::{ArtifactsEngineConfig, Config, ConfigError};

/// After the start of a host: until then it has better things to do than to look what is past its time.
const FIRST_SWEEP: Duration = Duration::from_secs(60);

/// Between two looks at what is past its time.
const SWEEP_INTERVAL: Duration = Duration::from_secs(300);

/// The artifacts of a host, which are opened when a call first needs them.
pub(super) fn from_config(config: &Arc<Config>, embedder: &Arc<dyn Embedder>) -> LazyWorkspace {
    let (config, embedder) = (Arc::clone(config), Arc::clone(embedder));
    LazyWorkspace::new("The artifacts are", move || artifacts(&config, &embedder).map(Arc::new))
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
    /// Takes what is past its time from the disk every few minutes, for as long as it is polled.
    pub(crate) async fn sweep(self) {
        tokio::time::sleep(FIRST_SWEEP).await;
        // What is wrong with the configuration is told to those who need artifacts.
        let Ok(store) = self.artifacts.get() else { return };
        let _sweeper = store.start_sweeping(SWEEP_INTERVAL);
        pending::<()>().await;
    }
}
