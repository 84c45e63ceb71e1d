//! Ports that are set up on first use. A failed setup is retried on the next use, and its error affects only callers of
//! the port.

use std::sync::{Arc, OnceLock};

use gatehouse_core::{
    Fault,
    ports::{ArtifactService, DocumentReader, Embedder, KnowledgeGraph, PortSetup},
};
use gatehouse_stores::{ArtifactStore, DocumentLibrary, StoreHealth, WikiKnowledge};

use crate::config::{Config, ConfigError};

pub(crate) struct LazyPort<T> {
    /// Subject and verb for faults, such as "the artifacts are".
    subject: &'static str,
    config: Arc<Config>,
    embedder: Arc<dyn Embedder>,
    make: fn(&Config, &Arc<dyn Embedder>) -> Result<T, ConfigError>,
    made: OnceLock<Arc<T>>,
}

pub(crate) type LazyGraph = LazyPort<WikiKnowledge>;

pub(crate) type LazyLibrary = LazyPort<DocumentLibrary>;

pub(crate) type LazyWorkspace = LazyPort<ArtifactStore>;

impl<T> LazyPort<T> {
    pub(super) fn new(
        subject: &'static str,
        config: &Arc<Config>,
        embedder: &Arc<dyn Embedder>,
        make: fn(&Config, &Arc<dyn Embedder>) -> Result<T, ConfigError>,
    ) -> Self {
        let (config, embedder) = (Arc::clone(config), Arc::clone(embedder));
        Self { subject, config, embedder, make, made: OnceLock::new() }
    }

    /// Returns the port, set up if necessary. Fails if its configuration is invalid.
    pub(crate) fn get(&self) -> Result<&Arc<T>, Fault> {
        if let Some(made) = self.made.get() {
            return Ok(made);
        }
        // Two callers can race. Building opens nothing, so drop the loser.
        let made = (self.make)(&self.config, &self.embedder).map_err(|error| {
            Fault::unavailable(format!("{} not set up: {error}", self.subject))
                .hint("Ask the host's operator to run `gatehouse doctor`.")
        })?;
        Ok(self.made.get_or_init(|| Arc::new(made)))
    }
}

/// Offers the port of a store, its health and its end.
macro_rules! port_of_store {
    ($store:ty: $port:ident) => {
        impl LazyPort<$store> {
            pub(crate) async fn health(&self) -> Result<StoreHealth, Fault> {
                self.get()?.health().await
            }

            /// Returns the health of the store. `None` if nothing has used it yet.
            pub(crate) async fn health_if_used(&self) -> Option<Result<StoreHealth, Fault>> {
                Some(self.made.get()?.health().await)
            }

            pub(crate) async fn close(&self) {
                if let Some(made) = self.made.get() {
                    made.close().await;
                }
            }
        }

        impl PortSetup<dyn $port> for LazyPort<$store> {
            fn port(&self) -> Result<&(dyn $port + 'static), Fault> {
                Ok(&**self.get()?)
            }
        }
    };
}

port_of_store!(WikiKnowledge: KnowledgeGraph);
port_of_store!(DocumentLibrary: DocumentReader);
port_of_store!(ArtifactStore: ArtifactService);
