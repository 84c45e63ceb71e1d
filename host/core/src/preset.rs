//! Presets as people declare them, and the exposures they compile to.

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

/// Which clients get output schemas, and replies as data beside their text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum StructuredOutputMode {
    /// None.
    #[default]
    Off,
    /// All.
    On,
    /// Clients that are known to use the data and to keep the text.
    Auto,
}

/// What one agent sees, as declared: its own lines only, `extends` not yet followed.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Preset {
    /// What it is for.
    pub description: Option<String>,
    /// Presets whose lines come first, left to right.
    pub extends: Vec<String>,
    /// Sources with the parameters they get, in the order of the file.
    pub sources: Vec<(SourceId, Map<String, Value>)>,
    /// Globs over exposed tool names that are taken away.
    pub deny: Vec<String>,
    /// Further names for tools: alias to a tool's own name, or to `gate.tool`.
    pub aliases: BTreeMap<String, String>,
    /// Whether clients get output schemas and structured replies; where it says nothing, as what it extends.
    pub structured: Option<StructuredOutputMode>,
    /// Globs over the tools whose replies a gate of the preset filters, by gate; none for those of
    /// [`crate::filters::DEFAULT_TARGETS`].
    pub filters: BTreeMap<String, Vec<String>>,
    /// Globs over the servers that gates of the preset may reach, by name or as `tag:name`; where it says nothing, as what
    /// it extends, and all where nobody says anything.
    pub proxied: Option<Vec<String>>,
    /// Globs over the tools that clients are shown, where that is not all of them; the others can be called all the same. As
    /// what it extends where it says nothing.
    pub listed: Option<Vec<String>>,
    /// What is changed about tools, by the name that clients would see.
    pub tools: BTreeMap<String, ToolOverride>,
    /// Which calls a person has to approve; those of what it extends hold as well.
    pub approve: Vec<ApprovalRule>,
    /// Which calls come after which; those of what it extends hold as well.
    pub workflow: Vec<WorkflowStep>,
    /// The directory of the project whose marks count; as what it extends where it says nothing.
    pub project: Option<PathBuf>,
}

/// A preset as compiled: everything it extends laid under it, globs built.
#[derive(Debug, Clone)]
pub struct CompiledPreset {
    /// Name of the preset.
    pub preset: String,
    /// Whether a preset declares it; else it is made of gates that were named one by one.
    pub declared: bool,
    /// What it is for.
    pub description: Option<String>,
    /// Sources in order, with their merged parameters.
    pub sources: Vec<(SourceId, Map<String, Value>)>,
    /// Further names for tools.
    pub aliases: BTreeMap<String, String>,
    /// What is changed about tools, by exposed name.
    pub tools: BTreeMap<String, ToolOverride>,
    /// Whether clients get output schemas and structured replies.
    pub structured: StructuredOutputMode,
    /// Whether replies are filtered at all.
    pub filters_on: bool,
    filters: BTreeMap<String, PatternList>,
    /// Which servers its gates may reach; none for all.
    pub(crate) proxied: Option<PatternList>,
    /// Which tools clients are shown; none for all.
    pub(crate) listed: Option<PatternList>,
    pub(crate) approvals: Vec<CompiledApprovalRule>,
    /// Which calls come after which.
    pub workflow: Vec<WorkflowStep>,
    /// The directory of the project whose marks count, unless the request names one.
    pub project: Option<PathBuf>,
    pub(crate) deny: PatternList,
}

impl CompiledPreset {
    /// Compiles `name` out of all presets.
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

    /// An exposure of some sources and nothing else, as MCP_ENABLED_GATES asks for.
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

    /// The gates among the sources.
    pub fn gates(&self) -> impl Iterator<Item = &Arc<str>> {
        self.sources.iter().filter_map(|(source, _)| match source {
            SourceId::Gate(gate) => Some(gate),
            SourceId::Server(_) => None,
        })
    }

    /// The gates that the preset says filter replies.
    pub fn filtering_gates(&self) -> impl Iterator<Item = &str> {
        self.filters.keys().map(String::as_str)
    }

    /// Whether the preset attaches the filter of this gate to nothing at all.
    pub(crate) fn disables_filter(&self, gate: &str) -> bool {
        self.filters.get(gate).is_some_and(PatternList::is_empty)
    }

    /// Whether this gate, which is a filter, filters the replies of a tool that goes by these names.
    pub(crate) fn filters_tool(&self, gate: &str, names: &[String]) -> bool {
        static DEFAULT: LazyLock<PatternList> = LazyLock::new(|| {
            PatternList::new("", "filters", crate::filters::DEFAULT_TARGETS.map(str::to_owned).into())
                .unwrap_or_default()
        });
        self.filters.get(gate).unwrap_or(&DEFAULT).matches_any(names)
    }

    /// Whether its gates may reach this server, which has these tags.
    pub fn allows_server(&self, server: &str, tags: &[String]) -> bool {
        self.proxied.as_ref().is_none_or(|proxied| proxied.matches_any(&server_names(server, tags)))
    }

    /// Whether clients are shown a tool that goes by these names.
    pub(crate) fn shows(&self, names: &[String]) -> bool {
        self.listed.as_ref().is_none_or(|listed| listed.matches_any(names))
    }

    /// The glob that takes this exposed name away, if one does.
    pub fn denied_by(&self, exposed: &str) -> Option<&str> {
        self.deny.first_match(exposed)
    }
}

/// Names that a pattern of `proxied` can match for a server: its own, and `tag:` with each tag.
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
            "Unknown preset 'mien'. Did you mean 'mine'? There are: a, b, base, lost, mine."
        );
        assert_eq!(error("a"), "presets extend each other in a circle: a -> b -> a");
        assert!(
            error("lost")
                .starts_with("preset 'lost' extends 'bas', which does not exist. Did you mean 'base'?")
        );
    }
}
