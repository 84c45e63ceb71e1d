//! A naive model of access rules, which the property test compares with the host.

use crate::{Effect, SourceId, ToolSpec, access::AccessRule, call::Caller};

/// Matches `*` only. The rules of the test have no other wildcard.
fn glob(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((begin, rest)) => {
            name.strip_prefix(begin).is_some_and(|left| (0..=left.len()).any(|at| glob(rest, &left[at..])))
        }
    }
}

fn any(patterns: &[String], names: &[String]) -> bool {
    patterns.iter().any(|pattern| names.iter().any(|name| glob(pattern, name)))
}

/// The rules as the documentation describes them.
pub(super) struct NaiveModel<'a> {
    pub(super) rules: &'a [AccessRule],
    pub(super) caller: &'a Caller,
    pub(super) preset: &'a str,
}

impl NaiveModel<'_> {
    pub(super) fn own(&self) -> Vec<&AccessRule> {
        let mut names = vec![self.caller.principal.to_string()];
        names.extend(self.caller.groups.iter().map(|group| format!("group:{group}")));
        self.rules.iter().filter(|rule| any(&rule.who, &names)).collect()
    }

    pub(super) fn opens(&self, preset: &str) -> bool {
        let covers =
            |rule: &&AccessRule| rule.presets.as_ref().is_none_or(|some| any(some, &[preset.to_owned()]));
        self.caller.opens_preset(preset)
            && (self.rules.is_empty() || self.own().iter().any(|rule| !rule.tools.is_empty() && covers(rule)))
    }

    fn allows(&self, names: &[String], effect: Effect) -> bool {
        let preset = [self.preset.to_owned()];
        let own = self.own().into_iter();
        let own: Vec<_> =
            own.filter(|rule| rule.presets.as_ref().is_none_or(|some| any(some, &preset))).collect();
        let fits = |limit: Option<Effect>| limit.is_none_or(|limit| effect <= limit);
        self.opens(self.preset)
            && fits(self.caller.effect)
            && !own.iter().any(|rule| any(&rule.deny, names))
            && (self.rules.is_empty() || own.iter().any(|rule| any(&rule.tools, names) && fits(rule.effect)))
    }

    pub(super) fn tool(&self, source: &SourceId, spec: &ToolSpec) -> bool {
        let (kind, name) = (source.kind(), source.name());
        let mut names = vec![format!("{name}.{}", spec.name), format!("{kind}:{name}.{}", spec.name)];
        names.push(if kind == "server" { format!("{name}__{}", spec.name) } else { spec.name.to_string() });
        self.allows(&names, spec.effect)
    }

    pub(super) fn list(&self, source: &SourceId, list: &str) -> bool {
        let (kind, name) = (source.kind(), source.name());
        let names = [format!("{name}.{list}"), format!("{kind}:{name}.{list}")];
        // The effect of a list is that of reading.
        self.allows(&names, Effect::ReadOnly)
    }
}
