//! The catalog: everything that can be called under one preset, sorted, and never changed once built.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use serde_json::{Map, Value};

use crate::{
    alias, names,
    outcome::{Fault, FaultKind},
    preset::Exposure,
    schema::{Schema, with_defaults},
    source::{Listing, Source},
    tool::{ExposedName, ToolId, ToolSpec},
};

/// Numbers the catalogs of a host; a later one has a higher number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Generation(pub u64);

impl Generation {
    /// The next one.
    pub fn next() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// A source, what it lists, and the parameters it listed it under.
pub struct SourceListing {
    /// Who runs the tools.
    pub source: Arc<dyn Source>,
    /// What it offers.
    pub listing: Arc<Listing>,
    /// As the preset sets them.
    pub params: Map<String, Value>,
}

/// One tool under one name.
pub struct Entry {
    /// The name the client sees.
    pub name: ExposedName,
    /// Whose tool it is.
    pub id: ToolId,
    /// As declared.
    pub spec: Arc<ToolSpec>,
    /// Who runs it.
    pub source: Arc<dyn Source>,
    /// The preset's parameters with defaults, as JSON text.
    pub params: Arc<str>,
    /// Checks arguments.
    pub schema: Arc<Schema>,
    /// Checks the data of replies, where the tool declares a schema of it.
    pub output: Option<Arc<Schema>>,
    /// Where it stands when tools are told in the order of the preset's gates.
    pub rank: usize,
}

/// Why a catalog cannot be built. The texts are for people.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CatalogError {
    /// Two tools would have one name.
    #[error("Tool name collision: '{name}' in both '{first}' and '{second}' gates.{mend}")]
    Collision {
        /// The name.
        name: String,
        /// Who has it first.
        first: String,
        /// Who has it too.
        second: String,
        /// ` To keep both, …`: what to write into presets.toml.
        mend: String,
    },
    /// A tool's name is not one that clients accept.
    #[error("{source_id}: tool name {why}")]
    BadName {
        /// Whose tool.
        source_id: String,
        /// What is wrong.
        why: String,
    },
    /// An alias points nowhere, or is no name.
    #[error("preset '{preset}': alias '{alias}' {why}")]
    BadAlias {
        /// The preset.
        preset: String,
        /// The alias.
        alias: String,
        /// What is wrong.
        why: String,
    },
}

/// Everything callable under one preset.
pub struct Catalog {
    /// Name of the preset.
    pub preset: Arc<str>,
    /// Which one this is.
    pub generation: Generation,
    /// Whether clients get output schemas and structured replies. Tools that call tools always do.
    pub structured: bool,
    entries: Vec<Entry>,
    by_name: HashMap<ExposedName, usize>,
}

impl Catalog {
    /// Names every tool, takes away what the preset denies, adds its aliases and sorts by name.
    pub fn build(exposure: &Exposure, offers: Vec<SourceListing>) -> Result<Self, CatalogError> {
        let mut entries = Vec::new();
        for offer in offers {
            let params = with_defaults(&offer.listing.params_schema, &offer.params);
            let params: Arc<str> = Value::Object(params).to_string().into();
            for spec in &offer.listing.tools {
                let id = offer.source.id();
                let name = ExposedName::new(&spec.name)
                    .map_err(|why| CatalogError::BadName { source_id: id.to_string(), why })?;
                entries.push(Entry {
                    name,
                    id: ToolId { source: id.clone(), name: Arc::clone(&spec.name) },
                    schema: Arc::new(Schema::new(Arc::clone(&spec.input_schema))),
                    output: spec
                        .output_schema
                        .as_ref()
                        .map(|schema| Arc::new(Schema::new(Arc::clone(schema)))),
                    spec: Arc::clone(spec),
                    source: Arc::clone(&offer.source),
                    params: Arc::clone(&params),
                    rank: entries.len(),
                });
            }
        }
        alias::add(exposure, &mut entries)?;
        entries.retain(|entry| exposure.denied_by(entry.name.as_str()).is_none());
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        if let Some(pair) = entries.windows(2).find(|pair| pair[0].name == pair[1].name) {
            return Err(CatalogError::Collision {
                name: pair[0].name.to_string(),
                first: pair[0].id.source.name().into(),
                second: pair[1].id.source.name().into(),
                mend: alias::mend(exposure, &entries, &pair[0].name),
            });
        }
        let by_name = entries.iter().enumerate().map(|(index, entry)| (entry.name.clone(), index)).collect();
        Ok(Self {
            preset: exposure.preset.as_str().into(),
            generation: Generation::next(),
            structured: exposure.structured,
            entries,
            by_name,
        })
    }

    /// The tool of this name, if the preset exposes one.
    pub fn get(&self, name: &str) -> Option<&Entry> {
        self.by_name.get(name).and_then(|index| self.entries.get(*index))
    }

    /// The tool of this name. A tool that the preset hides is as unknown as one that does not exist.
    pub fn find(&self, name: &str) -> Result<&Entry, Fault> {
        self.get(name).ok_or_else(|| {
            let near = names::did_you_mean(name, self.names());
            Fault::new(FaultKind::UnknownTool, format!("Unknown tool: '{}'.{near}", names::quoted(name, 64)))
        })
    }

    /// Every tool, sorted by name.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Every tool in the order of the preset's gates, aliases last.
    pub fn in_gate_order(&self) -> Vec<&Entry> {
        let mut entries: Vec<&Entry> = self.entries.iter().collect();
        entries.sort_by_key(|entry| entry.rank);
        entries
    }

    /// Every name, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|entry| entry.name.as_str())
    }

    /// The name under which a tool is exposed that some source declares as `declared`.
    pub fn exposed_name(&self, declared: &str) -> Option<&str> {
        let own = self.get(declared).filter(|entry| &*entry.spec.name == declared);
        own.or_else(|| self.entries.iter().find(|entry| &*entry.spec.name == declared))
            .map(|e| e.name.as_str())
    }
}
