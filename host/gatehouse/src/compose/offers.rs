//! Listings of a preset's sources, gates and servers, fetched concurrently.

use std::sync::Arc;

use gatehouse_core::{
    CompiledPreset, Source,
    catalog::SourceListing,
    gather::{ServerWait, gather},
    tool::SourceId,
};
use serde_json::{Map, Value};

use super::Composition;

impl Composition {
    /// Returns what the sources list, before renaming and denying.
    pub(crate) async fn offers(
        &self,
        compiled: &CompiledPreset,
        wait: ServerWait,
    ) -> Result<Vec<SourceListing>, String> {
        let preset = compiled.preset.as_str();
        let refused = |why: String| format!("preset '{preset}': {why}");
        let mut sources = Vec::new();
        for (id, params) in &compiled.sources {
            let source: Arc<dyn Source> = match id {
                SourceId::Gate(name) if self.gates.is_withdrawn(name) => continue,
                SourceId::Gate(name) => {
                    let gate = self.gates.get(name).await;
                    gate.map_err(|why| self.config.with_line(preset, &["gates", name], refused(why)))?
                }
                SourceId::Server(name) if !self.config.servers.is_enabled(name) => continue,
                SourceId::Server(name) => self.stores.servers.source(name).map_err(refused)?,
            };
            let mut params = params.clone();
            self.add_environment(&*source, &mut params).await;
            sources.push((source, params));
        }
        gather(sources, &self.last_listings, wait).await.map_err(|error| {
            let path = ["gates", error.source_id.name()];
            let parameter = error.parameter.as_deref().map(|name| [path[0], path[1], name]);
            let why = refused(error.to_string());
            match &parameter {
                Some(path) => self.config.with_line(preset, path, why),
                None => self.config.with_line(preset, &path, why),
            }
        })
    }

    /// Adds environment settings to the parameters of a filter gate. A gate that fails to list here reports its error
    /// in [`Self::offers`].
    async fn add_environment(&self, source: &dyn Source, params: &mut Map<String, Value>) {
        if !self.config.intelligence.is_empty()
            && let Ok(listing) = source.list(params).await
            && listing.filter
        {
            self.config.intelligence.add(&listing.params_schema, params);
        }
    }
}
