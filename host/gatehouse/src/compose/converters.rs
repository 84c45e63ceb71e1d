//! The gates that convert documents, which `[documents]` names.

use std::{fs, sync::Arc};

use gatehouse_core::{Source as _, names::did_you_mean};
use gatehouse_documents::Converter;
use gatehouse_sandbox::ComponentInfo;
use serde_json::Map;

use super::{Composition, PlainError};
use crate::built_in;

/// Name of the shipped converter, the default.
const SHIPPED: &str = "converter";

impl Composition {
    fn converter_names(&self) -> Vec<String> {
        self.config.documents.converters.clone().unwrap_or_else(|| vec![SHIPPED.to_owned()])
    }

    /// Returns notes about gates that could convert documents and do not.
    pub(crate) async fn converter_notes(&self) -> Vec<String> {
        let names = self.converter_names();
        let shipped = names.iter().filter(|name| self.gates.has_shipped(name));
        let mut notes: Vec<String> = shipped
            .filter_map(|name| {
                let file = self.gates.file_of(name).ok().filter(|file| !built_in::is_built_in(file))?;
                Some(format!(
                    "{} has the name of the shipped gate '{name}', which converts instead; rename it to use it",
                    file.display()
                ))
            })
            .collect();
        let others = self.other_converters(&names).await;
        notes.extend(others.iter().map(|(name, formats)| not_named(name, formats)));
        notes
    }

    /// Returns true if no gate converts except the shipped one, whose formats are known before it is compiled.
    pub(crate) fn has_only_shipped_converter(&self) -> bool {
        self.converter_names().iter().all(|name| name == SHIPPED && self.gates.has_shipped(name))
    }

    /// Loads the converters in order. A file of a gate directory becomes one only if presets.toml names it, because
    /// converters read private files.
    pub(crate) async fn document_converters(&self) -> Result<Vec<Converter>, PlainError> {
        let mut converters = Vec::new();
        for name in &self.converter_names() {
            let gate = if self.gates.has_shipped(name) {
                Arc::new(self.gates.shipped(name).await?)
            } else if self.config.documents.converters.is_none() {
                // Without the shipped gates, there is no default.
                continue;
            } else {
                self.gates.get(name).await.map_err(|error| format!("documents.converters: {error}"))?
            };
            let listing = gate.list(&Map::new()).await.map_err(|fault| fault.in_one_line())?;
            if listing.formats.is_empty() {
                let candidates = self.other_converters(&[]).await;
                let suggestion = did_you_mean(name, candidates.iter().map(|(name, _)| name.as_str()));
                bail!(
                    "documents.converters: gate '{name}' converts no documents: it does not export `convert`.{suggestion}"
                );
            }
            let (digest, formats) = (gate.info().digest.clone(), listing.formats.clone());
            converters.push(Converter { gate, digest, formats });
        }
        Ok(converters)
    }

    /// Returns the gates of the user that convert documents and are not `used`, with their formats.
    async fn other_converters(&self, used: &[String]) -> Vec<(String, String)> {
        let mut others = Vec::new();
        for name in
            self.gates.names().iter().filter(|name| !used.contains(name) && !built_in::is_shipped(name))
        {
            // Other gates are not compiled for this.
            let Ok(file) = self.gates.file_of(name) else { continue };
            let info = fs::read(file).ok().and_then(|wasm| ComponentInfo::read(&wasm).ok());
            if !info.is_some_and(|info| info.is_converter()) {
                continue;
            }
            let Ok(gate) = self.gates.get(name).await else { continue };
            let Ok(listing) = gate.list(&Map::new()).await else { continue };
            if !listing.formats.is_empty() {
                let formats: Vec<&str> = listing.formats.iter().map(|format| &*format.name).collect();
                others.push((name.clone(), formats.join(", ")));
            }
        }
        others
    }
}

fn not_named(name: &str, of: &str) -> String {
    format!(
        "gate '{name}' ({of}) can convert documents, but does not: to let it read yours, add \"{name}\" to converters \
         under [documents] in presets.toml"
    )
}
