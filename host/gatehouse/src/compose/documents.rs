//! Creates the document library for the configured engine.

use std::sync::Arc;

use gatehouse_core::ports::Embedder;
use gatehouse_stores::DocumentLibrary;

use super::{SystemClock, lazy_port::LazyLibrary};
use crate::config::{Config, ConfigError, DocumentsEngineConfig};

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

/// Creates the document port, which opens the library on first use.
pub(super) fn from_config(config: &Arc<Config>, embedder: &Arc<dyn Embedder>) -> LazyLibrary {
    let (config, embedder) = (Arc::clone(config), Arc::clone(embedder));
    LazyLibrary::new("the document repositories are", move || documents(&config, &embedder))
}
