//! Warnings for patterns of access rules that match no preset or tool. A typo in `deny` gives access.
//!
//! Callers are not checked: keys and groups may be made later.

use gatehouse_core::{
    Catalog, CompiledPreset, SourceId,
    access::{AccessRule, access_names, may_match_tools_of, pattern_matches},
    names,
    tool::ToolId,
};

use super::{Composition, PlainError};

impl Composition {
    /// Returns the warnings for the presets that can be served.
    pub(crate) async fn access_warnings(
        &self,
        catalogs: &[(&str, Result<Catalog, PlainError>)],
    ) -> Vec<String> {
        let built = catalogs.iter().filter_map(|(name, catalog)| {
            Some((CompiledPreset::compile(&self.config.presets, name).ok()?, catalog.as_ref().ok()?))
        });
        self.unmatched_access(&built.collect::<Vec<_>>()).await
    }

    /// Returns the warnings, given every served preset with its catalog.
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
        let mut known: Vec<String> = Vec::new();
        for (compiled, catalog) in built {
            known.extend(catalog.entries().iter().flat_map(|entry| entry.access_names()));
            known.extend(compiled.sources.iter().flat_map(|(source, _)| list_names(source)));
            known.extend(compiled.tools.values().filter_map(|change| change.name.clone()));
        }
        let mut unlisted: Vec<&str> = Vec::new();
        for (name, server) in &servers {
            let source = SourceId::Server(name.as_str().into());
            known.extend(list_names(&source));
            let Some(listed) = &server.listing else {
                unlisted.push(name);
                continue;
            };
            for tool in &listed.listing.tools {
                let id = ToolId { source: source.clone(), name: tool.name.clone() };
                let shown = source.exposed_name(&tool.name).map(|name| name.to_string());
                known.extend(access_names(&id, &shown.unwrap_or_default()));
            }
        }
        let presets: Vec<&str> = built.iter().map(|(compiled, _)| compiled.preset.as_str()).collect();
        let mut warnings = Vec::new();
        for rule in rules {
            for pattern in rule.presets.iter().flatten() {
                if !presets.iter().any(|preset| pattern_matches(pattern, preset)) {
                    let near = names::did_you_mean(pattern, presets.iter().copied());
                    warnings.push(warning(rule, "presets", pattern, "preset", &near));
                }
            }
            for (list, pattern) in tool_patterns(rule) {
                let may_appear = unlisted.iter().any(|server| may_match_tools_of(pattern, server));
                if !may_appear && !known.iter().any(|name| pattern_matches(pattern, name)) {
                    let near = names::did_you_mean(pattern, known.iter().map(String::as_str));
                    warnings.push(warning(rule, list, pattern, "tool", &near));
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

fn warning(rule: &AccessRule, list: &str, pattern: &str, what: &str, near: &str) -> String {
    let shown = names::quoted(pattern, 64);
    format!(
        "{}: {list} pattern '{shown}' of this access rule matches no {what} that is served.{near}",
        rule.place
    )
}
