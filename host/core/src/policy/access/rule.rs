//! One compiled rule.

use super::{
    AccessRule, AccessRuleError,
    arguments::{ArgumentLimit, CompiledArgumentLimit},
};
use crate::{
    Caller, Effect,
    caller_patterns::CallerPatterns,
    patterns::{PatternError, PatternList},
};

pub(super) struct CompiledAccessRule {
    pub(super) number: usize,
    pub(super) place: String,
    pub(super) effect: Option<Effect>,
    who: CallerPatterns,
    presets: Option<PatternList>,
    tools: PatternList,
    deny: PatternList,
    when: Vec<CompiledArgumentLimit>,
}

impl CompiledAccessRule {
    pub(super) fn new(number: usize, rule: AccessRule) -> Result<Self, AccessRuleError> {
        let bad = |list, what: &str, error: PatternError| {
            let why = format!("is not a valid {what}: {}", error.why).into();
            AccessRuleError { rule: number, list, entry: error.pattern, why }
        };
        let list = |list, entries| PatternList::new(entries).map_err(|error| bad(list, "glob", error));
        let limit = |limit: ArgumentLimit| {
            let entry = limit.pointer.clone();
            let bad = |why| AccessRuleError { rule: number, list: "when", entry, why };
            let tools = list("when", vec![limit.tools.clone()])?;
            CompiledArgumentLimit::new(tools, limit).map_err(bad)
        };
        let who = CallerPatterns::new(rule.who).map_err(|error| bad("who", "pattern", error))?;
        Ok(Self {
            number,
            who,
            place: rule.place,
            effect: rule.effect,
            presets: rule.presets.map(|presets| list("presets", presets)).transpose()?,
            tools: list("tools", rule.tools)?,
            deny: list("deny", rule.deny)?,
            when: rule.when.into_iter().map(limit).collect::<Result<_, _>>()?,
        })
    }

    pub(super) fn concerns(&self, caller: &Caller) -> bool {
        self.who.matches(caller)
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

    pub(super) fn limits<'a>(&'a self, names: &[String]) -> impl Iterator<Item = &'a CompiledArgumentLimit> {
        self.when.iter().filter(move |limit| limit.concerns(names))
    }
}
