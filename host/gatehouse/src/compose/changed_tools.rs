//! Checks the `tools` overrides of a preset against the listings of its sources. An unknown tool of a gate is an error;
//! a server may still list it later.

use gatehouse_core::{CompiledPreset, catalog::SourceListing, names, tool::SourceId};

use super::Composition;

impl Composition {
    /// Returns warnings for overrides of tools that no server lists. The error names a tool that no gate has.
    pub(super) fn check_changes(
        &self,
        compiled: &CompiledPreset,
        offers: &[SourceListing],
    ) -> Result<Vec<String>, String> {
        if compiled.tools.is_empty() {
            return Ok(Vec::new());
        }
        let exposed: Vec<String> = offers.iter().flat_map(exposed_tools).collect();
        let unknown = compiled.tools.keys().filter(|name| !exposed.contains(*name));
        let mut warnings = Vec::new();
        for name in unknown {
            let preset = &compiled.preset;
            // A missing gate must not disable the rest of the preset.
            if let Some((gate, _)) = compiled.sources.iter().find(|(source, _)| self.is_withdrawn(source)) {
                warnings.push(format!("'{name}' under tools is not available while {gate} is missing"));
                continue;
            }
            let Some(server) = self.server_of(name) else {
                let near = names::did_you_mean(name, exposed.iter().map(String::as_str));
                let why = format!(
                    "preset '{preset}': tools names '{}', which no gate of the preset has.{near}",
                    names::quoted(name, 64)
                );
                return Err(self.config.with_line(preset, &["tools", name], why));
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

    fn is_withdrawn(&self, source: &SourceId) -> bool {
        matches!(source, SourceId::Gate(name) if self.gates.is_withdrawn(name))
    }

    /// Returns the declared server whose prefix the tool name has.
    fn server_of(&self, tool: &str) -> Option<&str> {
        let begins =
            |server: &&String| tool.strip_prefix(server.as_str()).is_some_and(|rest| rest.starts_with("__"));
        self.config.servers.declared.keys().find(begins).map(String::as_str)
    }
}

fn exposed_tools(offer: &SourceListing) -> impl Iterator<Item = String> {
    let names = offer.listing.tools.iter().filter_map(|tool| offer.source.id().exposed_name(&tool.name).ok());
    names.map(|name| name.as_str().to_owned())
}
