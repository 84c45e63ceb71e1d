//! Warnings for what the configuration names in vain, so that problems appear before a call fails: patterns of access
//! rules that match no preset or tool, granted capabilities that are not available on this host, and gates without
//! grants.
//!
//! Callers of access rules are not checked: keys and groups may be made later.

use gatehouse_core::{
    Catalog, CompiledPreset, Source, SourceId,
    access::{AccessRule, may_match_tools_of, pattern_matches, pattern_names},
    capability::{AccessLevel, Capability},
    names,
    tool::ToolId,
};
use gatehouse_models::config::LlmChoice;
use serde_json::Map;

use super::{Composition, PlainError};
use crate::config::keys;

impl Composition {
    /// Returns the warnings for the presets that can be served.
    pub(crate) async fn access_warnings(
        &self,
        catalogs: &[(&str, Result<Catalog, PlainError>)],
    ) -> Vec<String> {
        self.unmatched_access(&self.built(catalogs)).await
    }

    /// Returns the presets that can be served, with their catalogs.
    pub(super) fn built<'c>(
        &self,
        catalogs: &'c [(&str, Result<Catalog, PlainError>)],
    ) -> Vec<(CompiledPreset, &'c Catalog)> {
        let built = catalogs
            .iter()
            .filter_map(|(name, catalog)| Some((self.config.compiled(name).ok()?, catalog.as_ref().ok()?)));
        built.collect()
    }

    /// Returns a message for each pattern of a rule that matches none of the presets `served` over HTTP: its callers are
    /// locked out.
    pub(crate) fn unserved_in_rules(&self, served: &[&str]) -> Vec<String> {
        let mut messages = Vec::new();
        for rule in &self.config.access.declared {
            for pattern in rule.presets.iter().flatten() {
                if served.iter().any(|preset| pattern_matches(pattern, preset)) {
                    continue;
                }
                let mut matches =
                    self.config.presets.keys().filter(|preset| pattern_matches(pattern, preset));
                let next = match matches.find_map(|preset| self.config.not_served(preset)) {
                    Some(reason) => format!(" {reason}"),
                    None => names::did_you_mean(pattern, served.iter().copied()),
                };
                messages.push(warning(rule, "presets", pattern, "preset", &next));
            }
        }
        messages
    }

    /// Returns a warning for each pattern of a rule over tools that matches none, given every served preset with its
    /// catalog.
    pub(super) async fn unmatched_access(&self, built: &[(CompiledPreset, &Catalog)]) -> Vec<String> {
        let rules = &self.config.access.declared;
        if rules.is_empty() {
            return Vec::new();
        }
        let servers = match self.known_servers().await {
            Ok(servers) => servers,
            Err(fault) => {
                tracing::debug!("patterns of access rules are not checked: {}", fault.in_one_line());
                return Vec::new();
            }
        };
        let mut tool_names: Vec<String> = Vec::new();
        for (compiled, catalog) in built {
            tool_names.extend(catalog.entries().iter().flat_map(|entry| entry.pattern_names()));
            tool_names.extend(compiled.sources.iter().flat_map(|(source, _)| list_names(source)));
            tool_names.extend(compiled.tools.values().filter_map(|change| change.name.clone()));
        }
        let mut unlisted: Vec<&str> = Vec::new();
        for (name, server) in &servers {
            let source = SourceId::Server(name.as_str().into());
            tool_names.extend(list_names(&source));
            let Some(listed) = &server.listing else {
                unlisted.push(name);
                continue;
            };
            for tool in &listed.listing.tools {
                let id = ToolId { source: source.clone(), name: tool.name.clone() };
                let exposed_name = source.exposed_name(&tool.name).map(|name| name.to_string());
                tool_names.extend(pattern_names(&id, &exposed_name.unwrap_or_default()));
            }
        }
        let mut warnings = Vec::new();
        for rule in rules {
            for (list, pattern) in tool_patterns(rule) {
                let may_appear = unlisted.iter().any(|server| may_match_tools_of(pattern, server));
                if !may_appear && !tool_names.iter().any(|name| pattern_matches(pattern, name)) {
                    let suggestion = names::did_you_mean(pattern, tool_names.iter().map(String::as_str));
                    warnings.push(warning(rule, list, pattern, "tool", &suggestion));
                }
            }
        }
        warnings
    }
}

/// Returns the names of the prompts and resources of a source.
fn list_names(source: &SourceId) -> Vec<String> {
    let (kind, name) = (source.kind(), source.name());
    let names =
        ["prompts", "resources"].map(|list| [format!("{name}.{list}"), format!("{kind}:{name}.{list}")]);
    names.into_iter().flatten().collect()
}

fn tool_patterns(rule: &AccessRule) -> impl Iterator<Item = (&'static str, &String)> {
    let allowed = rule.tools.iter().map(|pattern| ("tools", pattern));
    let denied = rule.deny.iter().map(|pattern| ("deny", pattern));
    let mut when: Vec<_> = rule.when.iter().map(|limit| ("when", &limit.tools)).collect();
    when.dedup();
    allowed.chain(denied).chain(when)
}

fn warning(rule: &AccessRule, list: &str, pattern: &str, kind: &str, suggestion: &str) -> String {
    let display_pattern = names::quoted(pattern, 64);
    format!(
        "{}: {list} pattern '{display_pattern}' of this access rule matches no {kind} that is served.{suggestion}",
        rule.place
    )
}

impl Composition {
    pub(crate) async fn unmet_grants(&self) -> Vec<String> {
        let mut lacks = Vec::new();
        let mut models = self.granted(Capability::Models).await;
        let reason = match (&self.missing.answers, &self.missing.web_search) {
            (Some(reason), _) => Some(reason),
            (None, Some(reason)) => {
                models = self.with_open_world_tools(models).await;
                Some(reason)
            }
            (None, None) => None,
        };
        // Shipped grants are for hosts that have a model; without one, their gates work too.
        if self.config.models.llm == LlmChoice::Auto {
            let is_own = |gate: &String| self.config.gates.get(gate).is_some_and(|gate| !gate.shipped);
            models.retain(|gate| self.config.file.is_some() && is_own(gate));
        }
        if let (Some(reason), false) = (reason, models.is_empty()) {
            lacks.push(format!("{} language models: {reason}", gates_ask(&models)));
        }
        for (capability, name, fault) in [
            (Capability::Knowledge, "the knowledge graph", self.stores.knowledge.get().err()),
            (Capability::Documents, "the document repositories", self.stores.documents.get().err()),
        ] {
            let gates = self.granted(capability).await;
            if let Some(fault) = fault.filter(|_| !gates.is_empty()) {
                lacks.push(format!("{} {name}: {}", gates_ask(&gates), fault.message));
            }
        }
        lacks
    }

    /// Returns a warning for each gate of a preset that is granted nothing of what it asks for, with the line to add. A
    /// gate with some of it was configured on purpose.
    pub(crate) async fn ungranted(&self, compiled: &CompiledPreset) -> Vec<String> {
        let loaded = self.gates.loaded().await;
        let mut warnings = Vec::new();
        for info in compiled.gates().filter_map(|name| loaded.get(&**name)).map(|gate| gate.info()) {
            let capabilities =
                info.ask.capabilities.iter().copied().filter(|capability| !capability.always_granted());
            let (blocks, entries): (Vec<Capability>, Vec<Capability>) =
                capabilities.clone().partition(|capability| capability.granted_by_block());
            if capabilities.clone().next().is_none()
                || capabilities.clone().any(|capability| info.grants.access(capability).is_some())
            {
                continue;
            }
            let (gate, name) = (keys::toml_key(&info.name), &info.name);
            let entries: Vec<String> = entries.iter().map(|entry| format!("\"{entry}\"")).collect();
            let grants = format!("grants = [{}] under [gates.{gate}]", entries.join(", "));
            let lines = (!entries.is_empty()).then_some(grants).into_iter();
            let blocks = blocks.iter().map(|block| format!("a block [gates.{gate}.{block}]"));
            let message = format!(
                "preset '{}': gate '{name}' is granted nothing that it asks for, so its calls will be denied; write {} in \
                presets.toml",
                compiled.preset,
                lines.chain(blocks).collect::<Vec<_>>().join(" and ")
            );
            warnings.push(self.config.with_line(&compiled.preset, &["gates", name], message));
        }
        warnings
    }

    /// Retains the gates with a tool that declares open-world access.
    async fn with_open_world_tools(&self, gates: Vec<String>) -> Vec<String> {
        let loaded = self.gates.loaded().await;
        let mut reaching = Vec::new();
        for name in gates {
            let Some(gate) = loaded.get(&name) else { continue };
            let listing = gate.list(&Map::new()).await;
            if listing.is_ok_and(|listing| listing.tools.iter().any(|tool| tool.open_world)) {
                reaching.push(name);
            }
        }
        reaching
    }

    /// Returns the loaded gates that request a capability and may use it, sorted.
    pub(super) async fn granted(&self, capability: Capability) -> Vec<String> {
        let uses = |info: &gatehouse_sandbox::GateInfo| {
            info.ask.capabilities.contains(&capability)
                && info.grants.require(&info.name, capability, AccessLevel::Read).is_ok()
        };
        let loaded = self.gates.loaded().await;
        loaded.into_iter().filter(|(_, gate)| uses(gate.info())).map(|(name, _)| name).collect()
    }
}

fn gates_ask(gates: &[String]) -> String {
    match gates {
        [gate] => format!("gate {gate} requests"),
        _ => format!("gates {} request", gates.join(", ")),
    }
}
