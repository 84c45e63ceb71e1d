//! The documents on their engine. One arm for each, here and nowhere else.

use std::sync::Arc;

use gatehouse_core::ports::Embedder;
use gatehouse_stores::DocumentLibrary;

use super::{SystemClock, late::Library};
use crate::config::{Config, ConfigError, DocumentsEngineConfig};

/// The documents of a configuration.
pub(crate) fn documents(
    config: &Config,
    embedder: &Arc<dyn Embedder>,
) -> Result<DocumentLibrary, ConfigError> {
    let (clock, embedder) = (Arc::new(SystemClock), Some(Arc::clone(embedder)));
    Ok(match config.documents.chosen()? {
        DocumentsEngineConfig::Sqlite { database } => DocumentLibrary::sqlite(database, clock, embedder),
        #[cfg(feature = "postgres")]
        DocumentsEngineConfig::Postgres { server, tables } => {
            let tokens = Arc::new(gatehouse_text::BpeTokenCounter);
            let config = gatehouse_stores::PostgresDocumentsConfig { server: *server, tables, tokens };
            DocumentLibrary::postgres(config, clock, embedder)
        }
    })
}

/// The documents of a host, which are opened when a call first needs them.
pub(super) fn of_host(config: &Arc<Config>, embedder: &Arc<dyn Embedder>) -> Library {
    let (config, embedder) = (Arc::clone(config), Arc::clone(embedder));
    Library::new("The document repositories are", move || documents(&config, &embedder))
}
