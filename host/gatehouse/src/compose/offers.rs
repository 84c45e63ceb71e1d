//! What the sources of a preset list: gates and servers, asked all at the same time.

use std::sync::Arc;

use gatehouse_core::{Exposure, Source, catalog::SourceListing, gather::gather, tool::SourceId};
use serde_json::{Map, Value};

use super::Composition;

impl Composition {
    /// What the sources of a preset list, before anything is named or denied.
    pub(crate) async fn offers(&self, exposure: &Exposure) -> Result<Vec<SourceListing>, String> {
        let refused = |why: String| format!("preset '{}': {why}", exposure.preset);
        let mut sources = Vec::new();
        for (id, params) in &exposure.sources {
            let source: Arc<dyn Source> = match id {
                SourceId::Gate(name) if self.gates.is_withdrawn(name) => continue,
                SourceId::Gate(name) => self.gates.get(name).await.map_err(refused)?,
                SourceId::Server(name) if !self.config.servers.is_enabled(name) => continue,
                SourceId::Server(name) => self.stores.servers.source(name).map_err(refused)?,
            };
            let mut params = params.clone();
            self.add_environment(&*source, &mut params).await;
            sources.push((source, params));
        }
        gather(sources, &self.last_listings).await.map_err(refused)
    }

    /// Adds what the environment says to the parameters of a gate that filters replies. A gate that does not list its tools
    /// says why where it is asked in earnest.
    async fn add_environment(&self, source: &dyn Source, params: &mut Map<String, Value>) {
        if !self.config.intelligence.adds_nothing()
            && let Ok(listing) = source.list(params).await
            && listing.filter
        {
            self.config.intelligence.add(&listing.params_schema, params);
        }
    }
}
