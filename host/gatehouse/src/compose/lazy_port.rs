//! Ports that are set up on first use. A failed setup is retried on the next use, and its error affects only callers of
//! the port.

use std::sync::{Arc, OnceLock};

use gatehouse_core::{
    Fault,
    ports::{ArtifactService, DocumentReader, KnowledgeGraph, PortSetup},
};
use gatehouse_stores::{
    ArtifactHealth, ArtifactStore, DocumentLibrary, KnowledgeHealth, LibraryHealth, WikiKnowledge,
};

use crate::config::ConfigError;

type PortFactory<T> = Box<dyn Fn() -> Result<T, ConfigError> + Send + Sync>;

pub(crate) struct LazyPort<T> {
    /// Subject and verb for faults, such as "the artifacts are".
    subject: &'static str,
    make: PortFactory<T>,
    made: OnceLock<Arc<T>>,
}

pub(crate) type LazyGraph = LazyPort<WikiKnowledge>;

pub(crate) type LazyLibrary = LazyPort<DocumentLibrary>;

pub(crate) type LazyWorkspace = LazyPort<ArtifactStore>;

impl<T> LazyPort<T> {
    pub(super) fn new(
        subject: &'static str,
        make: impl Fn() -> Result<T, ConfigError> + Send + Sync + 'static,
    ) -> Self {
        Self { subject, make: Box::new(make), made: OnceLock::new() }
    }

    /// Returns the port, set up if necessary. Fails if its configuration is invalid.
    pub(crate) fn get(&self) -> Result<&Arc<T>, Fault> {
        if let Some(made) = self.made.get() {
            return Ok(made);
        }
        // Two callers can race. Building opens nothing, so drop the loser.
        let made = (self.make)().map_err(|error| {
            Fault::unavailable(format!("{} not set up: {error}", self.subject))
                .hint("Ask the host's operator to run `gatehouse doctor`.")
        })?;
        Ok(self.made.get_or_init(|| Arc::new(made)))
    }
}

/// Offers the port of a store, its health and its end.
macro_rules! port_of_store {
    ($store:ty: $port:ident, $health:ty) => {
        impl LazyPort<$store> {
            pub(crate) async fn health(&self) -> Result<$health, Fault> {
                self.get()?.health().await
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

port_of_store!(WikiKnowledge: KnowledgeGraph, KnowledgeHealth);
port_of_store!(DocumentLibrary: DocumentReader, LibraryHealth);
port_of_store!(ArtifactStore: ArtifactService, ArtifactHealth);
