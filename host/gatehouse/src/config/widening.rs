//! Changes of a configuration that would let callers do more. A host with `[auth]` waits with them for
//! `gatehouse presets apply`, because a file that is half written looks like one.

use gatehouse_core::{
    access::{AccessRule, pattern_matches},
    approval::ApprovalRule,
    quota::{QuotaAllowance, QuotaRule},
};

use super::{Config, keys::with_bases};

/// Returns the first thing that `now` would widen, in words. `None` if it widens nothing.
pub(crate) fn widening(before: &Config, now: &Config) -> Option<String> {
    if before.auth.is_some() && now.auth.is_none() {
        return Some("[auth] is gone".into());
    }
    let (old, new) = (&before.access.declared, &now.access.declared);
    if let Some(lost) = old.iter().find(|old| !new.iter().any(|new| is_narrower(new, old))) {
        return Some(format!("the access rule that was at {} is gone or allows more", lost.place));
    }
    // Without rules, all callers may use every tool, and no caller is an operator.
    let widens = |new: &&AccessRule| new.admin || !old.is_empty() && !new.tools.is_empty();
    let mut more = new.iter().filter(widens);
    if let Some(more) = more.find(|new| !old.iter().any(|old| is_narrower(new, old))) {
        return Some(format!("the access rule at {} allows more", more.place));
    }
    let is_kept = |old: &QuotaRule| now.quotas.iter().any(|new| is_tighter(new, old));
    if let Some(lost) = before.quotas.iter().find(|old| !is_kept(old)) {
        return Some(format!("the quota '{}' is gone or allows more", lost.name));
    }
    before.presets.keys().find_map(|preset| {
        now.presets.get(preset)?;
        let [(old_deny, old_rules), (deny, rules)] = [before, now].map(|config| limits(config, preset));
        let lost = old_deny.into_iter().find(|pattern| !deny.contains(pattern));
        let lost = lost.map(|pattern| format!("preset '{preset}' does not deny \"{pattern}\" any more"));
        let unapproved = old_rules.into_iter().any(|rule| !rules.contains(&rule));
        lost.or_else(|| unapproved.then(|| format!("an approval rule of preset '{preset}' is gone")))
    })
}

/// Returns the patterns that a preset and its bases deny, and their approval rules.
fn limits<'c>(config: &'c Config, preset: &str) -> (Vec<&'c String>, Vec<&'c ApprovalRule>) {
    let names = with_bases(&config.presets, preset);
    let presets = names.into_iter().filter_map(|name| config.presets.get(name));
    let (mut deny, mut rules) = (Vec::new(), Vec::new());
    for preset in presets {
        deny.extend(&preset.deny);
        rules.extend(&preset.approve);
    }
    (deny, rules)
}

/// Returns whether a rule allows at most what `old` allows, to the same callers, and denies at least as much.
fn is_narrower(new: &AccessRule, old: &AccessRule) -> bool {
    // Names every key, so that a new one cannot be forgotten here.
    let AccessRule { place: _, who, presets, tools, deny, effect, when, admin } = old;
    let has_all = |superset: &[String], subset: &[String]| {
        subset.iter().all(|pattern| superset.iter().any(|other| other == pattern || covers(other, pattern)))
    };
    let allows_presets = |old: &Vec<String>| new.presets.as_ref().is_some_and(|new| has_all(old, new));
    // A deny of fewer presets denies less.
    let denies_as_much = deny.is_empty() || new.presets == *presets;
    new.who == *who
        && presets.as_ref().is_none_or(allows_presets)
        && has_all(tools, &new.tools)
        && has_all(&new.deny, deny)
        && denies_as_much
        && effect.is_none_or(|old| new.effect.is_some_and(|new| new <= old))
        && when.iter().all(|limit| new.when.contains(limit))
        && (*admin || !new.admin)
}

/// Returns whether a pattern matches at least what another one matches.
fn covers(pattern: &str, other: &str) -> bool {
    pattern == "*" || !other.contains(['*', '?', '[', '{', '\\']) && pattern_matches(pattern, other)
}

/// Returns whether a quota limits the same callers at least as much as `old`.
fn is_tighter(new: &QuotaRule, old: &QuotaRule) -> bool {
    let QuotaRule { name, who, calls, tokens, concurrency, stored } = old;
    let rate = |new: Option<QuotaAllowance>, old: Option<QuotaAllowance>| {
        old.is_none_or(|old| new.is_some_and(|new| new.period == old.period && new.amount <= old.amount))
    };
    let number = |new: Option<u64>, old: Option<u64>| old.is_none_or(|old| new.is_some_and(|new| new <= old));
    new.name == *name
        && new.who == *who
        && rate(new.calls, *calls)
        && rate(new.tokens, *tokens)
        && number(new.concurrency.map(u64::from), concurrency.map(u64::from))
        && number(new.stored, *stored)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Env, tests::parse};

    const BEFORE: &str = r#"
[auth]
[[access]]
who = ["group:dev"]
presets = ["work", "more"]
tools = ["a*", "b"]
deny = ["x"]
effect = "mutating"
when = { "*" = { "/owner" = ["acme"] } }
[[access]]
who = ["*"]
tools = ["c"]
[quotas.all]
who = ["*"]
calls = "10 per hour"
concurrency = 4
[presets.base]
deny = ["y"]
gates = {}
[presets.work]
extends = ["base"]
gates = {}
approve = { effect = "mutating" }
"#;

    fn widens(replaced: &str, by: &str) -> Option<String> {
        assert!(BEFORE.contains(replaced), "{replaced}");
        let [before, now] = [BEFORE, &BEFORE.replace(replaced, by)]
            .map(|content| parse(content, &Env::default()).expect("valid"));
        widening(&before, &now)
    }

    #[test]
    fn a_change_that_only_narrows_is_free() {
        for (replaced, by) in [
            ("[auth]\n", "\n# a comment\n[auth]\n"),
            ("tools = [\"a*\", \"b\"]", "tools = [\"b\", \"ab\"]"),
            ("deny = [\"x\"]", "deny = [\"x\", \"z\"]"),
            ("effect = \"mutating\"\nwhen", "effect = \"read-only\"\nwhen"),
            ("tools = [\"c\"]", "tools = [\"c\"]\neffect = \"read-only\"\npresets = [\"work\"]"),
            ("[quotas.all]", "[[access]]\nwho = [\"*\"]\ndeny = [\"q\"]\n[quotas.all]"),
            ("10 per hour", "9 per hour"),
            ("deny = [\"y\"]", "deny = [\"y\", \"z\"]"),
            ("extends = [\"base\"]", "deny = [\"y\"]"),
        ] {
            assert_eq!(widens(replaced, by), None, "{by}");
        }
    }

    #[test]
    fn a_change_that_widens_is_named() {
        for (replaced, by, words) in [
            ("tools = [\"a*\", \"b\"]", "tools = [\"a*\", \"b*\"]", ":3 is gone"),
            ("tools = [\"a*\", \"b\"]", "tools = [\"*\"]", ":3 is gone or allows more"),
            ("presets = [\"work\", \"more\"]", "", ":3 is gone"),
            ("presets = [\"work\", \"more\"]", "presets = [\"work\"]", ":3 is gone"),
            ("deny = [\"x\"]", "", ":3 is gone"),
            ("effect = \"mutating\"\nwhen", "when", ":3 is gone"),
            ("[\"acme\"]", "[\"acme\", \"other\"]", ":3 is gone"),
            ("who = [\"group:dev\"]", "who = [\"*\"]", ":3 is gone"),
            ("[[access]]\nwho = [\"*\"]\ntools = [\"c\"]\n", "", ":10 is gone"),
            (
                "[quotas.all]",
                "[[access]]\nwho = [\"key:x\"]\ntools = [\"c\"]\n[quotas.all]",
                ":13 allows more",
            ),
            ("[quotas.all]", "[[access]]\nwho = [\"key:x\"]\nadmin = true\n[quotas.all]", ":13 allows more"),
            ("10 per hour", "11 per hour", "the quota 'all'"),
            ("10 per hour", "10 per minute", "the quota 'all'"),
            ("concurrency = 4", "", "the quota 'all'"),
            ("extends = [\"base\"]", "", "preset 'work' does not deny \"y\""),
            ("deny = [\"y\"]", "", "does not deny \"y\""),
            ("approve = { effect = \"mutating\" }", "", "an approval rule of preset 'work'"),
        ] {
            let reason = widens(replaced, by).unwrap_or_else(|| panic!("{by} is free"));
            assert!(reason.contains(words), "{by}: {reason}");
        }
        let before = parse("[auth]\n", &Env::default()).expect("valid");
        let open = parse("", &Env::default()).expect("valid");
        assert_eq!(widening(&before, &open).as_deref(), Some("[auth] is gone"));
        let first = "[auth]\n[[access]]\nwho = [\"*\"]\ntools = [\"*\"]\n";
        assert_eq!(widening(&before, &parse(first, &Env::default()).expect("valid")), None, "a first rule");
        let admin = "[auth]\n[[access]]\nwho = [\"*\"]\nadmin = true\n";
        let reason = widening(&before, &parse(admin, &Env::default()).expect("valid"));
        assert!(reason.is_some_and(|reason| reason.contains("allows more")), "a first operator");
    }
}
