//! Presets as declared in presets.toml, and as compiled.

mod error;
mod merge;

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{Arc, LazyLock},
};

use serde_json::{Map, Value};

pub use self::error::PresetError;
use self::merge::merge;
use crate::{
    approval::{self, ApprovalRule, CompiledApprovalRule},
    names,
    overrides::ToolOverride,
    patterns::PatternList,
    tool::SourceId,
    workflow::WorkflowStep,
};

/// Selection of the clients that get output schemas and structured replies.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum StructuredOutputMode {
    #[default]
    Off,
    On,
    /// Clients known to use the data and not to drop the text.
    Auto,
}

/// A preset as declared, before `extends` is resolved.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Preset {
    pub description: Option<String>,
    /// Presets to inherit from, left to right.
    pub extends: Vec<String>,
    /// Sources with their parameters, in file order.
    pub sources: Vec<(SourceId, Map<String, Value>)>,
    /// Globs over exposed names of tools to remove.
    pub deny: Vec<String>,
    /// Aliases: each maps to a tool's own name, or to `gate.tool`.
    pub aliases: BTreeMap<String, String>,
    /// `None` inherits.
    pub structured: Option<StructuredOutputMode>,
    /// Globs over the tools that a gate filters; [`crate::filters::DEFAULT_TARGETS`] for gates without an entry.
    pub filters: BTreeMap<String, Vec<String>>,
    /// Globs over accessible servers, by name or as `tag:name`. `None` inherits; the default is all.
    pub proxied: Option<Vec<String>>,
    /// Globs over the tools that clients see. `None` inherits; the default is all.
    pub listed: Option<Vec<String>>,
    /// Changes to tools, by exposed name.
    pub tools: BTreeMap<String, ToolOverride>,
    /// Adds to inherited rules.
    pub approve: Vec<ApprovalRule>,
    /// Adds to inherited steps.
    pub workflow: Vec<WorkflowStep>,
    /// Directory of the project for workflow marks. `None` inherits.
    pub project: Option<PathBuf>,
}

/// A preset with everything that it extends merged, and globs compiled.
#[derive(Debug, Clone)]
pub struct CompiledPreset {
    pub preset: String,
    /// False if it was made from gates that the user named one by one.
    pub declared: bool,
    pub description: Option<String>,
    /// Sources in order, with merged parameters.
    pub sources: Vec<(SourceId, Map<String, Value>)>,
    pub aliases: BTreeMap<String, String>,
    pub tools: BTreeMap<String, ToolOverride>,
    pub structured: StructuredOutputMode,
    pub filters_on: bool,
    filters: BTreeMap<String, PatternList>,
    /// Accessible servers; `None` for all.
    pub(crate) proxied: Option<PatternList>,
    /// Tools that clients see; `None` for all.
    pub(crate) listed: Option<PatternList>,
    pub(crate) approvals: Vec<CompiledApprovalRule>,
    pub workflow: Vec<WorkflowStep>,
    pub project: Option<PathBuf>,
    pub(crate) deny: PatternList,
}

impl CompiledPreset {
    /// Compiles the preset `name`.
    pub fn compile(presets: &BTreeMap<String, Preset>, name: &str) -> Result<Self, PresetError> {
        let Some(preset) = presets.get(name) else {
            let name_shown = names::quoted(name, 64);
            return Err(PresetError::Unknown { name: name_shown, known: suggest_presets(presets, name) });
        };
        let mut merged = Preset::default();
        merge(presets, name, &mut Vec::new(), &mut merged)?;
        let mut exposure = Self::from_sources(name, merged.sources);
        exposure.declared = true;
        exposure.description.clone_from(&preset.description);
        exposure.aliases = merged.aliases;
        exposure.structured = merged.structured.unwrap_or_default();
        exposure.tools = merged.tools;
        exposure.proxied =
            merged.proxied.map(|entries| PatternList::new(name, "proxied", entries)).transpose()?;
        exposure.listed =
            merged.listed.map(|entries| PatternList::new(name, "listed", entries)).transpose()?;
        exposure.approvals =
            merged.approve.into_iter().map(|rule| compile_rule(name, rule)).collect::<Result<_, _>>()?;
        exposure.workflow = merged.workflow;
        exposure.project = merged.project;
        exposure.deny = PatternList::new(name, "deny", merged.deny)?;
        for (gate, entries) in merged.filters {
            if !exposure.gates().any(|known| **known == *gate) {
                return Err(PresetError::UnknownFilter { preset: name.into(), gate });
            }
            let entries = PatternList::new(name, &format!("filters.{gate}"), entries)?;
            exposure.filters.insert(gate, entries);
        }
        Ok(exposure)
    }

    /// Creates a preset with only these sources, as for MCP_ENABLED_GATES.
    pub fn from_sources(preset: &str, sources: Vec<(SourceId, Map<String, Value>)>) -> Self {
        Self {
            preset: preset.into(),
            declared: false,
            description: None,
            sources,
            aliases: BTreeMap::new(),
            tools: BTreeMap::new(),
            structured: StructuredOutputMode::Off,
            filters_on: true,
            filters: BTreeMap::new(),
            proxied: None,
            listed: None,
            approvals: Vec::new(),
            workflow: Vec::new(),
            project: None,
            deny: PatternList::default(),
        }
    }

    pub fn gates(&self) -> impl Iterator<Item = &Arc<str>> {
        self.sources.iter().filter_map(|(source, _)| match source {
            SourceId::Gate(gate) => Some(gate),
            SourceId::Server(_) => None,
        })
    }

    /// Returns the gates that the preset configures as filters.
    pub fn filtering_gates(&self) -> impl Iterator<Item = &str> {
        self.filters.keys().map(String::as_str)
    }

    /// Returns true if the preset gives this filter an empty list of targets.
    pub(crate) fn disables_filter(&self, gate: &str) -> bool {
        self.filters.get(gate).is_some_and(PatternList::is_empty)
    }

    /// Returns true if this filter processes replies of a tool with these names.
    pub(crate) fn filters_tool(&self, gate: &str, names: &[String]) -> bool {
        static DEFAULT: LazyLock<PatternList> = LazyLock::new(|| {
            PatternList::new("", "filters", crate::filters::DEFAULT_TARGETS.map(str::to_owned).into())
                .unwrap_or_default()
        });
        self.filters.get(gate).unwrap_or(&DEFAULT).matches_any(names)
    }

    pub fn allows_server(&self, server: &str, tags: &[String]) -> bool {
        self.proxied.as_ref().is_none_or(|proxied| proxied.matches_any(&server_names(server, tags)))
    }

    pub(crate) fn shows(&self, names: &[String]) -> bool {
        self.listed.as_ref().is_none_or(|listed| listed.matches_any(names))
    }

    /// Returns the glob that removes this exposed name, if any.
    pub fn denied_by(&self, exposed: &str) -> Option<&str> {
        self.deny.first_match(exposed)
    }
}

/// Returns the names that `proxied` patterns can match.
pub(crate) fn server_names(server: &str, tags: &[String]) -> Vec<String> {
    [server.to_owned()].into_iter().chain(tags.iter().map(|tag| format!("tag:{tag}"))).collect()
}

fn compile_rule(preset: &str, rule: ApprovalRule) -> Result<CompiledApprovalRule, PresetError> {
    let except_is_default = rule.except.is_none();
    let except = rule.except.unwrap_or_else(|| approval::DEFAULT_EXCEPTIONS.map(str::to_owned).into());
    Ok(CompiledApprovalRule {
        tools: PatternList::new(preset, "approve.tools", rule.tools)?,
        effect: rule.effect,
        except: PatternList::new(preset, "approve.except", except)?,
        except_is_default,
        remember: rule.remember,
    })
}

fn suggest_presets(presets: &BTreeMap<String, Preset>, name: &str) -> String {
    let near = names::did_you_mean(name, presets.keys().map(String::as_str));
    let known = presets.keys().cloned().collect::<Vec<_>>().join(", ");
    format!("{near} There are: {}.", if known.is_empty() { "none" } else { &known })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn params(value: Value) -> Map<String, Value> {
        value.as_object().cloned().unwrap_or_default()
    }

    fn gate(name: &str) -> SourceId {
        SourceId::Gate(name.into())
    }

    fn presets() -> BTreeMap<String, Preset> {
        let base = Preset {
            sources: vec![(gate("idea"), params(json!({"top_k": 10, "use_llm_reranker": true})))],
            deny: vec!["research_*".into()],
            ..Preset::default()
        };
        let mine = Preset {
            extends: vec!["base".into()],
            sources: vec![(gate("code"), Map::new()), (gate("idea"), params(json!({"top_k": 3})))],
            ..Preset::default()
        };
        let (a, b) = (
            Preset { extends: vec!["b".into()], ..Preset::default() },
            Preset { extends: vec!["a".into()], ..Preset::default() },
        );
        let lost = Preset { extends: vec!["bas".into()], ..Preset::default() };
        [("base", base), ("mine", mine), ("a", a), ("b", b), ("lost", lost)]
            .map(|(name, preset)| (name.to_owned(), preset))
            .into()
    }

    #[test]
    fn later_lines_win_parameter_by_parameter() {
        let mine = CompiledPreset::compile(&presets(), "mine").expect("compiles");
        let expected = json!({"top_k": 3, "use_llm_reranker": true});
        assert_eq!(mine.sources, vec![(gate("idea"), params(expected)), (gate("code"), Map::new())]);
        assert_eq!(mine.denied_by("research_study"), Some("research_*"));
        assert_eq!(mine.denied_by("wiki_idea_search"), None);
    }

    #[test]
    fn mistakes_are_named() {
        let error = |name: &str| {
            CompiledPreset::compile(&presets(), name).map(|_| ()).expect_err("refused").to_string()
        };
        assert_eq!(
            error("mien"),
            "unknown preset 'mien'. Did you mean 'mine'? There are: a, b, base, lost, mine."
        );
        assert_eq!(error("a"), "presets extend each other in a cycle: a -> b -> a");
        assert!(
            error("lost")
                .starts_with("preset 'lost' extends 'bas', which does not exist. Did you mean 'base'?")
        );
    }
}
