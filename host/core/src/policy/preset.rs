//! Presets as declared in presets.toml, and as compiled.

mod extends;

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{Arc, LazyLock},
};

use serde_json::{Map, Value};

use self::extends::{ExtendsWalk, MAX_BASES, MAX_DEPTH};
use crate::{
    SourceId, ToolId,
    approval::{self, ApprovalRule, CompiledApprovalRule},
    filters, names,
    overrides::ToolOverride,
    patterns::{PatternError, PatternList},
    surface::SurfaceMode,
    workflow::WorkflowStep,
};

/// An error in a preset. The texts are for users.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PresetError {
    #[error("unknown preset '{name}'.{known}")]
    Unknown {
        name: String,
        /// Begins with a space: ` Did you mean …? There are: …`.
        known: String,
    },
    #[error("preset '{preset}' extends '{name}', which does not exist.{known}")]
    UnknownBase { preset: String, name: String, known: String },
    #[error("presets extend each other in a cycle: {}", .0.join(" -> "))]
    Cycle(Vec<String>),
    #[error(
        "preset '{preset}' extends too many presets: at most {} above each other, and {} in all, counted as often as they \
         are reached. Extend fewer, or repeat what they have",
        MAX_DEPTH,
        MAX_BASES
    )]
    TooManyBases { preset: String },
    #[error("preset '{preset}': filters name gate '{gate}', which is not a gate of the preset")]
    UnknownFilter { preset: String, gate: String },
    #[error("preset '{preset}': {list} entry '{glob}' is not a valid glob: {reason}")]
    BadGlob { preset: String, list: String, glob: String, reason: String },
}

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
    /// Globs over tools that every client is shown. Adds to inherited ones.
    pub pinned: Vec<String>,
    /// `None` inherits.
    pub surface: Option<SurfaceMode>,
    /// Changes to tools, by exposed name.
    pub tools: BTreeMap<String, ToolOverride>,
    /// Adds to inherited rules.
    pub approve: Vec<ApprovalRule>,
    /// Adds to inherited steps.
    pub workflow: Vec<WorkflowStep>,
    /// Directory of the project for workflow marks. `None` inherits.
    pub project: Option<PathBuf>,
    /// Folders of skills, absolute. Adds to inherited ones.
    pub skills: Vec<PathBuf>,
}

/// A preset with everything that it extends merged, and globs compiled.
#[derive(Debug, Clone, Default)]
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
    pub(crate) filters: BTreeMap<String, PatternList>,
    /// Accessible servers; `None` for all.
    pub(crate) proxied: Option<PatternList>,
    /// Tools that clients see; `None` for all.
    pub(crate) listed: Option<PatternList>,
    pub(crate) pinned: PatternList,
    pub surface: SurfaceMode,
    /// True if gates of the preset may call tools of servers that it does not show.
    pub(crate) has_other_servers: bool,
    pub(crate) approvals: Vec<CompiledApprovalRule>,
    pub workflow: Vec<WorkflowStep>,
    pub project: Option<PathBuf>,
    /// Folders of skills, absolute, each once.
    pub skills: Vec<PathBuf>,
    pub(crate) deny: PatternList,
}

impl CompiledPreset {
    pub fn compile(presets: &BTreeMap<String, Preset>, name: &str) -> Result<Self, PresetError> {
        let Some(preset) = presets.get(name) else {
            let name_shown = names::quoted(name, 64);
            return Err(PresetError::Unknown { name: name_shown, known: suggest_presets(presets, name) });
        };
        let mut merged = Preset::default();
        ExtendsWalk::default().merge(presets, name, &mut merged)?;
        let mut compiled = Self::from_sources(name, merged.sources);
        compiled.declared = true;
        compiled.description.clone_from(&preset.description);
        compiled.aliases = merged.aliases;
        compiled.structured = merged.structured.unwrap_or_default();
        compiled.tools = merged.tools;
        compiled.surface = merged.surface.unwrap_or_default();
        let servers = compiled.sources.iter().filter(|(id, _)| matches!(id, SourceId::Server(_)));
        let servers: Vec<String> = servers.map(|(id, _)| globset::escape(id.name())).collect();
        if compiled.surface == SurfaceMode::Auto && merged.proxied.is_none() && !servers.is_empty() {
            merged.proxied = Some(servers);
        } else {
            compiled.has_other_servers = true;
        }
        compiled.proxied =
            merged.proxied.map(|entries| compile_list(name, "proxied", entries)).transpose()?;
        compiled.listed = merged.listed.map(|entries| compile_list(name, "listed", entries)).transpose()?;
        compiled.pinned = compile_list(name, "pinned", merged.pinned)?;
        compiled.approvals =
            merged.approve.into_iter().map(|rule| compile_rule(name, rule)).collect::<Result<_, _>>()?;
        compiled.workflow = merged.workflow;
        compiled.project = merged.project;
        compiled.skills = merged.skills;
        compiled.deny = compile_list(name, "deny", merged.deny)?;
        for (gate, entries) in merged.filters {
            if !compiled.gates().any(|candidate| **candidate == *gate) {
                return Err(PresetError::UnknownFilter { preset: name.into(), gate });
            }
            let entries = compile_list(name, &format!("filters.{gate}"), entries)?;
            compiled.filters.insert(gate, entries);
        }
        Ok(compiled)
    }

    /// Creates a preset with only these sources, as for MCP_ENABLED_GATES.
    pub fn from_sources(preset: &str, sources: Vec<(SourceId, Map<String, Value>)>) -> Self {
        Self { preset: preset.into(), sources, filters_on: true, ..Self::default() }
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
            PatternList::new(filters::DEFAULT_TARGETS.map(str::to_owned).into()).unwrap_or_default()
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

    /// Returns the glob that removes a tool, if any. Globs match the name that clients see and `server__tool`, so that a
    /// tool cannot escape them by the way in which its name is shown.
    pub fn denies(&self, tool: &ToolId, shown: &str) -> Option<&str> {
        self.denied_by(shown).or_else(|| self.deny.first_match(&tool.whole_name()?))
    }

    /// Returns the preset's changes of a tool, under the name that clients would see or `server__tool`.
    pub fn tool_override(&self, tool: &ToolId) -> Option<&ToolOverride> {
        let exposed = tool.source.exposed_name(&tool.name).ok();
        let change = exposed.and_then(|exposed| self.tools.get(exposed.as_str()));
        change.or_else(|| self.tools.get(&tool.whole_name()?))
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
        tools: compile_list(preset, "approve.tools", rule.tools)?,
        effect: rule.effect,
        except: compile_list(preset, "approve.except", except)?,
        except_is_default,
        remember: rule.remember,
    })
}

fn compile_list(preset: &str, list: &str, entries: Vec<String>) -> Result<PatternList, PresetError> {
    PatternList::new(entries).map_err(|PatternError { pattern, reason }| PresetError::BadGlob {
        preset: preset.to_owned(),
        list: list.to_owned(),
        glob: pattern,
        reason,
    })
}

fn suggest_presets(presets: &BTreeMap<String, Preset>, name: &str) -> String {
    let suggestion = names::did_you_mean(name, presets.keys().map(String::as_str));
    let preset_names = presets.keys().cloned().collect::<Vec<_>>().join(", ");
    format!("{suggestion} There are: {}.", if preset_names.is_empty() { "none" } else { &preset_names })
}

#[cfg(test)]
mod tests;
