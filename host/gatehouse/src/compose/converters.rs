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

/// Converters in order, and notes about gates that could convert documents and do not.
#[derive(Default)]
pub(crate) struct DocumentConverters {
    pub(crate) converters: Vec<Converter>,
    pub(crate) notes: Vec<String>,
}

impl Composition {
    /// Loads the converters. A file of a gate directory becomes one only if presets.toml names it, because converters
    /// read private files.
    pub(crate) async fn document_converters(&self) -> Result<DocumentConverters, PlainError> {
        let mut all = DocumentConverters::default();
        let named = self.config.documents.converters.as_ref();
        let default = [SHIPPED.to_owned()];
        let used = named.map_or(&default[..], Vec::as_slice);
        for name in used {
            let gate = match self.gates.shipped(name).await {
                Some(gate) => {
                    if let Some(file) =
                        self.gates.file_of(name).ok().filter(|file| !built_in::is_built_in(file))
                    {
                        all.notes.push(format!(
                            "{} has the name of the shipped gate '{name}', which converts instead; rename it to use it",
                            file.display()
                        ));
                    }
                    Arc::new(gate?)
                }
                // Without the shipped gates, there is no default.
                None if named.is_none() => continue,
                None => {
                    self.gates.get(name).await.map_err(|error| format!("documents.converters: {error}"))?
                }
            };
            let listing = gate.list(&Map::new()).await.map_err(|fault| fault.in_one_line())?;
            if listing.formats.is_empty() {
                let known = self.other_converters(&[]).await;
                let near = did_you_mean(name, known.iter().map(|(name, _)| name.as_str()));
                bail!(
                    "documents.converters: gate '{name}' converts no documents: it does not export `convert`.{near}"
                );
            }
            let (digest, formats) = (gate.info().digest.clone(), listing.formats.clone());
            all.converters.push(Converter { gate, digest, formats });
        }
        let others = self.other_converters(used).await;
        all.notes.extend(others.iter().map(|(name, formats)| not_named(name, formats)));
        Ok(all)
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
