//! One compiled rule.

use std::collections::BTreeSet;

use super::{
    AccessRule, AccessRuleError,
    arguments::{ArgumentLimit, CompiledArgumentLimit},
};
use crate::{call::Caller, effect::Effect, patterns::PatternList, preset::PresetError};

/// Prefix of groups in `who`.
const GROUP: &str = "group:";

pub(super) struct CompiledAccessRule {
    pub(super) number: usize,
    pub(super) place: String,
    pub(super) effect: Option<Effect>,
    presets: Option<PatternList>,
    tools: PatternList,
    deny: PatternList,
    when: Vec<CompiledArgumentLimit>,
}

impl CompiledAccessRule {
    pub(super) fn new(number: usize, rule: AccessRule) -> Result<Self, AccessRuleError> {
        let list = |list, entries| compile_list(number, list, entries);
        let limit = |limit: ArgumentLimit| {
            let entry = limit.pointer.clone();
            let bad = |why| AccessRuleError { rule: number, list: "when", entry, why };
            let tools = list("when", vec![limit.tools.clone()])?;
            CompiledArgumentLimit::new(tools, limit).map_err(bad)
        };
        Ok(Self {
            number,
            place: rule.place,
            effect: rule.effect,
            presets: rule.presets.map(|presets| list("presets", presets)).transpose()?,
            tools: list("tools", rule.tools)?,
            deny: list("deny", rule.deny)?,
            when: rule.when.into_iter().map(limit).collect::<Result<_, _>>()?,
        })
    }

    pub(super) fn covers_preset(&self, preset: &str) -> bool {
        self.presets.as_ref().is_none_or(|presets| presets.first_match(preset).is_some())
    }

    pub(super) fn has_tools(&self) -> bool {
        !self.tools.is_empty()
    }

    /// Returns the pattern that denies a tool with one of these names, if any.
    pub(super) fn denied_by(&self, names: &[String]) -> Option<&str> {
        if self.deny.is_empty() {
            return None;
        }
        names.iter().find_map(|name| self.deny.first_match(name))
    }

    pub(super) fn names_tool(&self, names: &[String]) -> bool {
        self.tools.matches_any(names)
    }

    /// Returns the patterns over tools that it allows.
    pub(super) fn tool_patterns(&self) -> impl Iterator<Item = &str> {
        self.tools.patterns()
    }

    /// Returns the limits of the arguments of a tool.
    pub(super) fn limits<'a>(&'a self, names: &[String]) -> impl Iterator<Item = &'a CompiledArgumentLimit> {
        self.when.iter().filter(move |limit| limit.concerns(names))
    }
}

fn compile_list(
    rule: usize,
    list: &'static str,
    entries: Vec<String>,
) -> Result<PatternList, AccessRuleError> {
    PatternList::new("", list, entries).map_err(|error| {
        let (entry, why) = match error {
            PresetError::BadGlob { glob, why, .. } => (glob, why),
            other => (String::new(), other.to_string()),
        };
        AccessRuleError { rule, list, entry, why: format!("is not a valid glob: {why}").into() }
    })
}

/// The callers of all rules. One search finds the rules of a caller, however many there are.
#[derive(Default)]
pub(super) struct RuleCallers {
    patterns: PatternList,
    /// The rule of each pattern.
    rules: Vec<usize>,
    /// Whether each pattern is about groups. Others never match a group, as in quotas.
    are_groups: Vec<bool>,
}

impl RuleCallers {
    pub(super) fn new(rules: &[AccessRule]) -> Result<Self, AccessRuleError> {
        let mut all = Vec::new();
        for (number, rule) in rules.iter().enumerate() {
            compile_list(number, "who", rule.who.clone())?;
            all.extend(rule.who.iter().map(|pattern| (number, pattern.clone())));
        }
        let are_groups = all.iter().map(|(_, pattern)| pattern.starts_with(GROUP)).collect();
        let (rules, patterns): (Vec<usize>, Vec<String>) = all.into_iter().unzip();
        Ok(Self { patterns: compile_list(0, "who", patterns)?, rules, are_groups })
    }

    /// Returns the numbers of the rules that are about a caller.
    pub(super) fn rules_of(&self, caller: &Caller) -> BTreeSet<usize> {
        let names = caller_names(caller);
        let matches = names.iter().flat_map(|name| {
            let of_group = name.starts_with(GROUP);
            self.patterns
                .matches(name)
                .into_iter()
                .filter(move |pattern| self.are_groups[*pattern] == of_group)
        });
        matches.map(|pattern| self.rules[pattern]).collect()
    }
}

/// Returns the names of a caller that `who` can match: its principal, and its groups with a prefix.
fn caller_names(caller: &Caller) -> Vec<String> {
    // A subject of an issuer called 'group' must not be a member of a group.
    let own = Some(caller.principal.as_str()).filter(|name| !name.starts_with(GROUP));
    let groups = caller.groups.iter().map(|group| format!("{GROUP}{group}"));
    own.map(str::to_owned).into_iter().chain(groups).collect()
}
