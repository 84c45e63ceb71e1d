//! Listings of a preset's sources, gates and servers, fetched concurrently, and the check of the preset's tool overrides
//! against them.

use std::{fmt, sync::Arc};

use gatehouse_core::{
    CompiledPreset, Source,
    catalog::SourceListing,
    gather::gather,
    names,
    ports::ServerRegistry as _,
    tool::{SourceId, ToolId},
};
use gatehouse_wire::skill_folders::{SKILLS_SOURCE, SkillFolders};
use serde_json::{Map, Value};

use super::{Composition, PlainError};

impl Composition {
    /// Returns what the sources list, before renaming and denying.
    pub(crate) async fn offers(&self, compiled: &CompiledPreset) -> Result<Vec<SourceListing>, PlainError> {
        let preset = compiled.preset.as_str();
        let refused = |reason: &dyn fmt::Display| format!("preset '{preset}': {reason}");
        let mut sources = Vec::new();
        for (id, params) in &compiled.sources {
            let source: Arc<dyn Source> = match id {
                SourceId::Gate(_) if self.gates.is_withdrawn(id) => continue,
                SourceId::Gate(name) => {
                    let gate = self.gates.get(name).await;
                    gate.map_err(|reason| self.config.with_line(preset, &["gates", name], refused(&reason)))?
                }
                SourceId::Server(name)
                    if !self.config.servers.enabled().any(|server| server.name == *name) =>
                {
                    continue;
                }
                SourceId::Server(name) => {
                    let unknown = || refused(&format!("there is no server '{name}'"));
                    self.stores.servers.live.source(name).ok_or_else(unknown)?
                }
            };
            if matches!(id, SourceId::Gate(name) if **name == *SKILLS_SOURCE && !compiled.skills.is_empty()) {
                let reason = "a gate named 'skills' and `skills` cannot be in one preset; rename the gate";
                return Err(self.config.with_line(preset, &["skills"], refused(&reason)).into());
            }
            let mut params = params.clone();
            self.add_environment(&*source, &mut params).await;
            sources.push((source, params));
        }
        if !compiled.skills.is_empty() {
            let folders = compiled.skills.clone();
            let loaded = tokio::task::spawn_blocking(move || SkillFolders::load(&folders)).await;
            let loaded = loaded.map_err(|_| refused(&"cannot read its skills"))?;
            let skills = loaded.map_err(|reason| {
                self.config.with_line(preset, &["skills"], refused(&format!("skills: {reason}")))
            })?;
            sources.push((Arc::new(skills), Map::new()));
        }
        gather(sources, &self.last_listings).await.map_err(|error| {
            let path = ["gates", error.source_id.name(), error.parameter.as_deref().unwrap_or_default()];
            let path = &path[..2 + usize::from(error.parameter.is_some())];
            self.config.with_line(preset, path, refused(&error)).into()
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

    /// Returns warnings for overrides of tools that no server lists. The error names a tool that no gate has.
    pub(super) fn check_changes(
        &self,
        compiled: &CompiledPreset,
        offers: &[SourceListing],
    ) -> Result<Vec<String>, PlainError> {
        if compiled.tools.is_empty() {
            return Ok(Vec::new());
        }
        let exposed = offers.iter().flat_map(|offer| {
            let tools = offer.listing.tools.iter();
            tools.flat_map(|tool| {
                let id = ToolId { source: offer.source.id().clone(), name: Arc::clone(&tool.name) };
                let exposed = id.source.exposed_name(&id.name).ok().map(|name| name.to_string());
                exposed.into_iter().chain(id.whole_name())
            })
        });
        let exposed: Vec<String> = exposed.collect();
        let unknown = compiled.tools.keys().filter(|name| !exposed.contains(*name));
        let mut warnings = Vec::new();
        for name in unknown {
            let preset = &compiled.preset;
            // A missing gate must not disable the rest of the preset.
            let withdrawn = compiled.sources.iter().find(|(source, _)| self.gates.is_withdrawn(source));
            if let Some((gate, _)) = withdrawn {
                warnings.push(format!("'{name}' under tools is not available while {gate} is missing"));
                continue;
            }
            let begins = |server: &&String| {
                name.strip_prefix(server.as_str()).is_some_and(|rest| rest.starts_with("__"))
            };
            let Some(server) = self.config.servers.declared.keys().find(begins) else {
                let suggestion = names::did_you_mean(name, exposed.iter().map(String::as_str));
                let reason = format!(
                    "preset '{preset}': tools names '{}', which no gate of the preset has.{suggestion}",
                    names::quoted(name, 64)
                );
                return Err(self.config.with_line(preset, &["tools", name], reason).into());
            };
            let listed = offers.iter().find(|offer| {
                matches!(offer.source.id(), SourceId::Server(name) if **name == *server)
                    && offer.problem.is_none()
            });
            if listed.is_some() {
                warnings.push(format!(
                    "'{name}' under tools has no effect: server '{server}' lists no such tool"
                ));
            }
        }
        Ok(warnings)
    }
}
