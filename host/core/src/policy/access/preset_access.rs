//! The rules that concern a caller within one preset, and their decisions.

use std::sync::Arc;

use serde_json::Value;

use super::rule::CompiledAccessRule;
use crate::{Effect, SourceId, ToolEntry, ToolId, forwarding::forwards, patterns::may_match_tools_of};

/// The last part of the names of a source's prompts and resources, which rules match like tools.
const PROMPTS: &str = "prompts";
const RESOURCES: &str = "resources";

/// The part of one preset that a caller may use.
pub struct PresetAccess {
    /// Rules that match the caller and the preset. `None` if the host has no rules.
    pub(super) rules: Option<Vec<Arc<CompiledAccessRule>>>,
    pub(super) effect: Option<Effect>,
}

/// A decision about a tool, with the rule that made it. Its place is for operators only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AccessDecision<'a> {
    /// The host has no rules.
    Unlimited,
    Allowed {
        place: &'a str,
        /// True if it limits the arguments of this tool.
        limits_arguments: bool,
    },
    Denied {
        place: &'a str,
        pattern: &'a str,
    },
    /// The tool has a stronger effect. The place is `None` for the limit of the caller's scopes.
    TooStrong {
        place: Option<&'a str>,
        limit: Effect,
    },
    /// A rule allows the tool, but not this value of an argument.
    OtherArguments {
        place: &'a str,
        pointer: &'a str,
    },
    /// No rule allows the tool.
    NoRule,
}

impl AccessDecision<'_> {
    pub fn is_allowed(&self) -> bool {
        matches!(self, Self::Unlimited | Self::Allowed { .. })
    }

    /// Returns the decision with its rule, in words for operators. Callers must not see it.
    pub fn for_operators(&self) -> String {
        match self {
            Self::Unlimited => "no access rule limits it".to_owned(),
            Self::Allowed { place, limits_arguments: false } => format!("the rule at {place} allows it"),
            Self::Allowed { place, limits_arguments: true } => {
                format!("the rule at {place} allows it, with limits of its arguments")
            }
            Self::Denied { place, pattern } => format!("the rule at {place} denies it by \"{pattern}\""),
            Self::TooStrong { place: Some(place), limit } => {
                format!("the rule at {place} allows only tools up to the effect {limit}")
            }
            Self::TooStrong { place: None, limit } => {
                format!("the scopes of the credential allow only tools up to the effect {limit}")
            }
            Self::OtherArguments { place, pointer } => {
                format!("the rule at {place} allows it only with other values of {pointer}")
            }
            Self::NoRule => "no rule allows it".to_owned(),
        }
    }
}

/// Returns the names of a tool that patterns of presets and rules match: the name that clients see, the name without
/// the preset's changes, `source.tool`, `kind:source.tool`, and `server__tool`, which clients may see changed. A server's
/// own name alone is none of them, so that it cannot pass for a tool of another server.
pub fn pattern_names(tool: &ToolId, shown: &str) -> Vec<String> {
    let (kind, source) = (tool.source.kind(), tool.source.name());
    let qualified = format!("{source}.{}", tool.name);
    let mut names = vec![shown.to_owned(), format!("{kind}:{qualified}"), qualified];
    let exposed = tool.source.exposed_name(&tool.name).ok().map(|name| name.to_string());
    for name in exposed.into_iter().chain(tool.whole_name()) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

impl ToolEntry {
    pub fn pattern_names(&self) -> Vec<String> {
        pattern_names(&self.id, self.name.as_str())
    }

    /// Returns the effect that access rules limit. A tool that only calls others has none of its own: each tool that it
    /// calls is checked by itself.
    pub fn limited_effect(&self) -> Effect {
        if forwards(self) { Effect::ReadOnly } else { self.declared.effect.max(self.spec.effect) }
    }
}

impl PresetAccess {
    /// Decides about a tool with these [names](pattern_names), with any arguments if `arguments` is `None`.
    pub fn decide(&self, names: &[String], effect: Effect, arguments: Option<&Value>) -> AccessDecision<'_> {
        if let Some(rules) = &self.rules {
            for rule in rules {
                if let Some(pattern) = rule.denied_by(names) {
                    return AccessDecision::Denied { place: &rule.place, pattern };
                }
            }
        }
        if let Some(limit) = self.effect.filter(|limit| effect > *limit) {
            return AccessDecision::TooStrong { place: None, limit };
        }
        let Some(rules) = &self.rules else { return AccessDecision::Unlimited };
        let mut decision = AccessDecision::NoRule;
        for rule in rules.iter().filter(|rule| rule.names_tool(names)) {
            let place = rule.place.as_str();
            if let Some(limit) = rule.effect.filter(|limit| effect > *limit) {
                if decision == AccessDecision::NoRule {
                    decision = AccessDecision::TooStrong { place: Some(place), limit };
                }
                continue;
            }
            let refusing =
                arguments.and_then(|arguments| rule.limits(names).find(|limit| !limit.allows(arguments)));
            let Some(refusing) = refusing else {
                return AccessDecision::Allowed {
                    place,
                    limits_arguments: rule.limits(names).next().is_some(),
                };
            };
            if !matches!(decision, AccessDecision::OtherArguments { .. }) {
                decision = AccessDecision::OtherArguments { place, pointer: &refusing.pointer };
            }
        }
        decision
    }

    /// Returns true if the caller may know a tool with these names, and call it with some arguments.
    pub(crate) fn allows(&self, names: &[String], effect: Effect) -> bool {
        self.decide(names, effect, None).is_allowed()
    }

    pub(crate) fn allows_entry(&self, entry: &ToolEntry) -> bool {
        self.allows(&entry.pattern_names(), entry.limited_effect())
    }

    pub(crate) fn allows_prompts(&self, source: &SourceId) -> bool {
        self.allows_list(source, PROMPTS)
    }

    pub(crate) fn allows_resources(&self, source: &SourceId) -> bool {
        self.allows_list(source, RESOURCES)
    }

    /// A rule with limits of arguments opens no list, because they cannot be checked for prompts and resources.
    fn allows_list(&self, source: &SourceId, list: &str) -> bool {
        let Some(rules) = &self.rules else { return true };
        let qualified = format!("{}.{list}", source.name());
        let names = [format!("{}:{qualified}", source.kind()), qualified];
        rules.iter().all(|rule| rule.denied_by(&names).is_none())
            && rules.iter().any(|rule| rule.names_tool(&names) && rule.limits(&names).next().is_none())
    }

    /// Returns true if a rule could allow a tool of a server, listed or not. `shown` are the names that the preset gives
    /// to its tools.
    pub(crate) fn may_allow_tools_of(&self, server: &str, shown: &[&str]) -> bool {
        let Some(rules) = &self.rules else { return true };
        // Patterns that match a tool without a name match every tool of the server.
        let every = [format!("server:{server}."), format!("{server}."), format!("{server}__")];
        if rules.iter().any(|rule| rule.denied_by(&every).is_some()) {
            return false;
        }
        rules.iter().flat_map(|rule| rule.tool_patterns()).any(|pattern| may_match_tools_of(pattern, server))
            || shown.iter().any(|name| rules.iter().any(|rule| rule.names_tool(&[(*name).to_owned()])))
    }

    /// Decides about a call. If a rule limits arguments that are missing, also returns the arguments to send instead: with
    /// the defaults of the tool's schema, so that the tool gets what was checked.
    pub fn decide_call(&self, entry: &ToolEntry, arguments: &Value) -> (AccessDecision<'_>, Option<Value>) {
        let (names, effect) = (entry.pattern_names(), entry.limited_effect());
        let decide = |arguments| self.decide(&names, effect, Some(&entry.with_fixed_arguments(arguments)));
        let decision = decide(arguments);
        if let AccessDecision::OtherArguments { .. } = decision
            && let Some(filled) = with_defaults(entry, arguments, &self.limited_arguments(&names))
        {
            let decision = decide(&filled);
            let filled = decision.is_allowed().then_some(filled);
            return (decision, filled);
        }
        (decision, None)
    }

    /// Returns the pointers of arguments that rules limit for a tool.
    fn limited_arguments(&self, names: &[String]) -> Vec<&str> {
        let limits = self.rules.iter().flatten().flat_map(|rule| rule.limits(names));
        limits.map(|limit| limit.pointer.as_str()).collect()
    }
}

/// Returns the arguments with the defaults of missing ones at these pointers. `None` if there are none.
fn with_defaults(entry: &ToolEntry, arguments: &Value, pointers: &[&str]) -> Option<Value> {
    let members = arguments.as_object()?;
    let properties = entry.spec.input_schema.get("properties")?;
    let first = |pointer: &&str| {
        let name = pointer.strip_prefix('/')?.split('/').next()?;
        Some(name.replace("~1", "/").replace("~0", "~"))
    };
    let missing = pointers.iter().filter_map(first).filter(|name| !members.contains_key(name));
    let defaults = missing.filter_map(|name| Some((properties.get(&name)?.get("default")?.clone(), name)));
    let mut filled = members.clone();
    filled.extend(defaults.map(|(default, name)| (name, default)));
    (filled.len() > members.len()).then_some(Value::Object(filled))
}
