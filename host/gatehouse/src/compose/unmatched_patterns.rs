//! Warnings for preset patterns that match no tool or server. Usually they are typos, and a typo in `deny` exposes
//! tools.
//!
//! A preset may exist only to be extended, so a pattern counts as unmatched if it matches in none of the presets that
//! inherit it. Patterns that could match a server with unknown tools are not reported.

use std::collections::BTreeMap;

use gatehouse_core::{
    Catalog, CompiledPreset, Preset, SourceId, names,
    patterns::{ToolList, UnmatchedPattern},
    surface,
};

use gatehouse_wire::serve::PresetViews;

use super::{Composition, KnownServer, PlainError};
use crate::config::keys;

impl Composition {
    /// Returns the warnings for views that are about to be served. `chosen` is the preset of the default view.
    pub(crate) async fn unmatched_in_views(
        &self,
        views: &PresetViews,
        chosen: &CompiledPreset,
    ) -> Vec<String> {
        let mut built = vec![(chosen.clone(), &views.default.catalog)];
        for (name, view) in &views.presets {
            if let (Ok(view), Ok(compiled)) = (view, self.config.compiled(name)) {
                built.push((compiled, &view.catalog));
            }
        }
        let mut warnings: Vec<String> =
            self.unmatched_patterns(&built).await.into_values().flatten().collect();
        // Over stdio, only one preset is built, and rules limit no caller.
        if !views.presets.is_empty() {
            let served: Vec<&str> = views.presets.keys().map(String::as_str).collect();
            warnings.extend(self.unserved_in_rules(&served));
            warnings.extend(self.unmatched_access(&built).await);
        }
        warnings
    }

    /// Returns all warnings by preset, given every preset with its catalog.
    pub(crate) async fn preset_warnings(
        &self,
        catalogs: &[(&str, Result<Catalog, PlainError>)],
    ) -> BTreeMap<String, Vec<String>> {
        let built = self.built(catalogs);
        let mut warnings = self.unmatched_patterns(&built).await;
        for (compiled, catalog) in &built {
            let crowded = catalog.crowded.iter().map(ToString::to_string);
            let surface = surface::missing_part(compiled, catalog);
            let other_warnings = crowded.chain(surface).chain(self.ungranted(compiled).await);
            warnings.entry(compiled.preset.clone()).or_default().extend(other_warnings);
        }
        warnings
    }

    async fn unmatched_patterns(
        &self,
        built: &[(CompiledPreset, &Catalog)],
    ) -> BTreeMap<String, Vec<String>> {
        let mut warnings: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let names_servers = |compiled: &CompiledPreset| {
            self.config.presets.get(&compiled.preset).is_some_and(|preset| preset.proxied.is_some())
        };
        if built.iter().all(|(compiled, catalog)| catalog.unmatched.is_empty() && !names_servers(compiled)) {
            return warnings;
        }
        let servers = match self.known_servers().await {
            Ok(servers) => servers,
            Err(fault) => {
                tracing::debug!("patterns of presets are not checked: {}", fault.in_one_line());
                return warnings;
            }
        };
        let mut unmatched: Vec<Vec<&UnmatchedPattern>> = Vec::new();
        for (compiled, catalog) in built {
            unmatched.push(self.unmatched_in(compiled, catalog, &servers).await);
        }
        for (name, preset) in &self.config.presets {
            for (list, pattern) in own_patterns(preset) {
                let is =
                    |candidate: &UnmatchedPattern| candidate.list == list && candidate.pattern == pattern;
                let mut heirs = built.iter().zip(&unmatched).filter(|((compiled, _), _)| {
                    compiled.has_pattern(list, pattern)
                        && keys::with_bases(&self.config.presets, &compiled.preset).contains(&name.as_str())
                });
                let Some(((heir, catalog), first)) = heirs.next() else { continue };
                let matches_nothing =
                    |candidates: &[&UnmatchedPattern]| candidates.iter().any(|candidate| is(candidate));
                if matches_nothing(first) && heirs.all(|(_, candidates)| matches_nothing(candidates)) {
                    let reason = self.warning(name, &heir.preset, catalog, &servers, (list, pattern));
                    // The preset that declares the pattern, if it was built.
                    let is_built = built.iter().any(|(compiled, _)| compiled.preset == *name);
                    let preset = if is_built { name } else { &heir.preset };
                    warnings.entry(preset.clone()).or_default().push(reason);
                }
            }
        }
        self.add_unmatched_servers(built, &servers, &mut warnings);
        warnings
    }

    /// Returns the patterns of one preset that match none of its tools, neither shown ones nor those that gates can
    /// call, and that no server could match.
    async fn unmatched_in<'a>(
        &self,
        compiled: &CompiledPreset,
        catalog: &'a Catalog,
        servers: &BTreeMap<String, KnownServer>,
    ) -> Vec<&'a UnmatchedPattern> {
        let is_away = |(source, _): &(SourceId, _)| self.gates.is_withdrawn(source);
        if catalog.unmatched.is_empty() || compiled.sources.iter().any(is_away) {
            return Vec::new();
        }
        let behind = self.server_tool_caller(catalog).await.is_some();
        let unknown = |source: &SourceId| {
            catalog.problems.iter().any(|(failed, _)| failed == source)
                || servers.get(&**source.name()).is_none_or(|server| !server.config.enabled)
        };
        let sources = compiled.sources.iter().map(|(source, _)| source);
        let unknown_servers =
            sources.filter(|source| matches!(source, SourceId::Server(_)) && unknown(source));
        let unknown_servers: Vec<&str> = unknown_servers.map(|source| &**source.name()).collect();
        let may_match = |pattern: &UnmatchedPattern| {
            unknown_servers.iter().any(|server| pattern.may_match_tools_of(server))
                || (behind
                    && servers.iter().any(|(name, server)| match &server.listing {
                        Some(listed) => catalog.server_tools.matches(pattern, listed),
                        None => pattern.may_match_tools_of(name),
                    }))
        };
        catalog.unmatched.iter().filter(|pattern| !may_match(pattern)).collect()
    }

    fn warning(
        &self,
        preset: &str,
        heir: &str,
        catalog: &Catalog,
        servers: &BTreeMap<String, KnownServer>,
        (list, pattern): (ToolList, &str),
    ) -> String {
        let filters = self.config.presets.get(preset).map(|preset| &preset.filters);
        let filter =
            filters.into_iter().flatten().find(|(_, patterns)| patterns.iter().any(|other| other == pattern));
        let filter = filter.map(|(gate, _)| gate.as_str()).filter(|_| list == ToolList::Filters);
        let list = list.as_str();
        let behind: Vec<String> = servers.values().flat_map(KnownServer::exposed_names).collect();
        let suggestion =
            names::did_you_mean(pattern, catalog.names().chain(behind.iter().map(String::as_str)));
        let pattern_shown = names::quoted(pattern, 64);
        let reason = format!(
            "preset '{preset}': {list} pattern '{pattern_shown}' matches no tool; \
            `gatehouse presets show {heir}` lists the tools.{suggestion}"
        );
        let path: Vec<&str> = list.split('.').chain(filter).chain([pattern]).collect();
        self.config.with_line(preset, &path, reason)
    }

    fn add_unmatched_servers(
        &self,
        built: &[(CompiledPreset, &Catalog)],
        servers: &BTreeMap<String, KnownServer>,
        warnings: &mut BTreeMap<String, Vec<String>>,
    ) {
        let server_tags =
            servers.iter().map(|(name, server)| (name.as_str(), &*server.config.definition.tags));
        let server_tags: Vec<(&str, &[String])> = server_tags.collect();
        for (compiled, catalog) in built {
            let preset = compiled.preset.as_str();
            let Some(proxied) = self.config.presets.get(preset).and_then(|preset| preset.proxied.as_ref())
            else {
                continue;
            };
            for pattern in catalog.server_tools.unmatched_servers(&server_tags) {
                let suggestion = names::did_you_mean(pattern, servers.keys().map(String::as_str));
                let display_pattern = names::quoted(pattern, 64);
                let reason = format!(
                    "preset '{preset}': proxied pattern '{display_pattern}' matches no server; \
                    `gatehouse servers list` lists them.{suggestion}"
                );
                let path = ["proxied", pattern];
                let reason = self.config.with_line(preset, &path, reason);
                let own_warnings = warnings.entry(preset.to_owned()).or_default();
                if proxied.iter().any(|entry| entry == pattern) && !own_warnings.contains(&reason) {
                    own_warnings.push(reason);
                }
            }
        }
    }
}

fn own_patterns(preset: &Preset) -> impl Iterator<Item = (ToolList, &str)> {
    let denied = preset.deny.iter().map(|pattern| (ToolList::Deny, pattern));
    let listed = preset.listed.iter().flatten().map(|pattern| (ToolList::Listed, pattern));
    let approved = preset.approve.iter().flat_map(|rule| {
        let except = rule.except.iter().flatten().map(|pattern| (ToolList::ApproveExcept, pattern));
        rule.tools.iter().map(|pattern| (ToolList::ApproveTools, pattern)).chain(except)
    });
    let pinned = preset.pinned.iter().map(|pattern| (ToolList::Pinned, pattern));
    let filters = preset.filters.values().flatten().map(|pattern| (ToolList::Filters, pattern));
    denied
        .chain(listed)
        .chain(pinned)
        .chain(approved)
        .chain(filters)
        .map(|(list, pattern)| (list, pattern.as_str()))
}
