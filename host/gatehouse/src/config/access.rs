//! `[[access]]`: which callers may use which tools.

use std::{collections::BTreeMap, ops::Range, sync::Arc};

use gatehouse_core::{
    access::{AccessRule, AccessRuleError, AccessRules, AllowedValues, ArgumentLimit, NumberRange},
    names::quoted,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Number;

use super::{ConfigError, ConfigText, PlainError, TextValue, effect};

/// A rule about what some callers may use. With one rule, whatever no rule allows is denied.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Access {
    /// Globs over callers: "group:NAME", "key:NAME", "ISSUER:SUBJECT", "token", or "*" for all.
    who: Vec<TextValue<String>>,
    /// Globs over presets. Default: all.
    presets: Option<Vec<TextValue<String>>>,
    /// Globs over the tools that it allows: a tool's name, "gate.tool", or "server:server.tool". "NAME.prompts" and
    /// "NAME.resources" are the prompts and resources of a gate or server.
    tools: Vec<TextValue<String>>,
    /// Globs over tools that no rule may allow to these callers.
    deny: Vec<TextValue<String>>,
    /// Strongest effect of the tools that it allows: "read-only", "mutating" or "external-exec". Default: any.
    effect: Option<TextValue<String>>,
    /// Allowed arguments, by glob over tools and JSON pointer: a list of values, in which texts are globs, or a range of
    /// numbers.
    #[schemars(with = "BTreeMap<String, BTreeMap<String, ValuesSchema>>")]
    when: BTreeMap<TextValue<String>, BTreeMap<TextValue<String>, TextValue<toml::Value>>>,
    /// Whether these callers may read the metrics of the host, see [admin]. Such a rule has no other keys but `who`, and
    /// opens no preset.
    admin: bool,
}

/// Allowed values of an argument.
#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "only its schema is of use")]
enum ValuesSchema {
    OneOf(Vec<ValueSchema>),
    Range {
        /// Smallest allowed number.
        min: Option<f64>,
        /// Largest allowed number.
        max: Option<f64>,
    },
}

#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "only its schema is of use")]
enum ValueSchema {
    Text(String),
    Number(f64),
    Bool(bool),
}

#[derive(Debug, Clone, Default)]
pub(crate) struct AccessConfig {
    pub(crate) declared: Vec<AccessRule>,
    pub(crate) rules: Arc<AccessRules>,
}

/// Validates the rules. `has_auth` is true if callers have names, which rules need.
pub(super) fn validate(
    text: &ConfigText,
    raw: &[TextValue<Access>],
    has_auth: bool,
) -> Result<AccessConfig, ConfigError> {
    if let Some(rule) = raw.first().filter(|_| !has_auth) {
        bail_at!(
            text,
            rule,
            "access rules need [auth], because callers have no names without it. Add [auth], or remove the rules"
        );
    }
    let declared = raw.iter().map(|rule| declared(text, rule)).collect::<Result<Vec<_>, _>>()?;
    if !has_auth {
        return Ok(AccessConfig::default());
    }
    let rules = AccessRules::compile(declared.clone()).map_err(|error| {
        let at = raw.get(error.rule).map(|rule| locate(rule, &error)).unwrap_or_default();
        text.error_at(at, error)
    })?;
    Ok(AccessConfig { declared, rules: Arc::new(rules) })
}

fn declared(text: &ConfigText, rule: &TextValue<Access>) -> Result<AccessRule, ConfigError> {
    if rule.who.is_empty() {
        bail_at!(text, rule, "an access rule needs `who`, such as who = [\"group:dev\"]");
    }
    if rule.admin {
        let has_others = rule.presets.is_some() || rule.effect.is_some() || !rule.when.is_empty();
        if has_others || !rule.tools.is_empty() || !rule.deny.is_empty() {
            bail_at!(text, rule, "a rule with `admin` has only `who`; write another rule for tools");
        }
    } else if rule.tools.is_empty()
        && (rule.deny.is_empty() || rule.effect.is_some() || !rule.when.is_empty())
    {
        bail_at!(
            text,
            rule,
            "an access rule needs `tools`, the tools that it allows; a rule with only `deny` allows none"
        );
    }
    for who in &rule.who {
        text.at(who, check_who(who))?;
    }
    let effect = rule.effect.as_ref().map(|word| {
        text.at(word, effect(word).ok_or("effect must be \"read-only\", \"mutating\" or \"external-exec\""))
    });
    let mut when = Vec::new();
    for (tools, limits) in &rule.when {
        if limits.is_empty() {
            bail_at!(text, tools, "names no argument; write \"/argument\" = [\"value\"]");
        }
        for (pointer, allowed) in limits {
            let allowed = text.at(allowed, values(allowed))?;
            let (tools, pointer) = (tools.to_string(), pointer.to_string());
            when.push(ArgumentLimit { tools, pointer, allowed });
        }
    }
    let list = |entries: &[TextValue<String>]| entries.iter().map(|entry| entry.to_string()).collect();
    let (line, _) = text.line_and_column(rule.span().start);
    Ok(AccessRule {
        place: format!("{}:{line}", text.name()),
        who: list(&rule.who),
        presets: rule.presets.as_deref().map(list),
        tools: list(&rule.tools),
        deny: list(&rule.deny),
        effect: effect.transpose()?,
        when,
        admin: rule.admin,
    })
}

/// Checks that a pattern can match a caller. A typo here would leave callers without a limit.
fn check_who(who: &str) -> Result<(), PlainError> {
    if who == "token" || who.contains([':', '*', '?', '[', '{']) {
        return Ok(());
    }
    let display_name = quoted(who, 64);
    Err(format!("'{display_name}' names no caller: write \"group:{display_name}\", \"key:NAME\", \"ISSUER:SUBJECT\", \"token\" or \"*\"")
        .into())
}

fn values(given: &toml::Value) -> Result<AllowedValues, PlainError> {
    const EXPECTED: &str =
        "expected a list of texts, numbers and booleans, or a range such as { min = 1, max = 100 }";
    match given {
        toml::Value::Array(values) if !values.is_empty() => {
            let value = |value: &toml::Value| match value {
                toml::Value::String(text) => Ok(text.as_str().into()),
                toml::Value::Boolean(set) => Ok((*set).into()),
                other => number(other).map(Into::into).ok_or(EXPECTED),
            };
            Ok(AllowedValues::OneOf(values.iter().map(value).collect::<Result<_, _>>()?))
        }
        toml::Value::Table(range)
            if !range.is_empty() && range.keys().all(|key| key == "min" || key == "max") =>
        {
            let bound = |key: &str| range.get(key).map(|bound| number(bound).ok_or(EXPECTED)).transpose();
            Ok(AllowedValues::Range(NumberRange { min: bound("min")?, max: bound("max")? }))
        }
        _ => Err(EXPECTED.into()),
    }
}

fn number(value: &toml::Value) -> Option<Number> {
    match value {
        toml::Value::Integer(integer) => Some((*integer).into()),
        toml::Value::Float(float) => Number::from_f64(*float),
        _ => None,
    }
}

/// Returns the place of the pattern that an error is about, else that of the rule.
fn locate(rule: &TextValue<Access>, error: &AccessRuleError) -> Range<usize> {
    let keys: Vec<&TextValue<String>> = match error.list {
        "who" => rule.who.iter().collect(),
        "presets" => rule.presets.iter().flatten().collect(),
        "tools" => rule.tools.iter().collect(),
        "deny" => rule.deny.iter().collect(),
        _ => {
            rule.when.iter().flat_map(|(tools, limits)| std::iter::once(tools).chain(limits.keys())).collect()
        }
    };
    let entry = keys.into_iter().find(|key| ***key == error.entry);
    entry.map_or_else(|| rule.span(), TextValue::span)
}

#[cfg(test)]
mod tests {
    use gatehouse_core::Effect;

    use super::*;
    use crate::config::{
        Env,
        tests::{assert_refused, parse},
    };

    fn access(content: &str) -> Result<AccessConfig, PlainError> {
        parse(content, &Env::default()).map(|config| config.access)
    }

    #[test]
    fn a_rule_has_a_place_and_its_keys() {
        let content = "[auth]\n\n[[access]]\nwho = [\"group:dev\", \"key:ci-*\"]\npresets = [\"dev\"]\n\
            tools = [\"github__*\", \"kg.*\"]\ndeny = [\"*__delete_*\"]\neffect = \"mutating\"\n\
            when = { \"github__*\" = { \"/owner\" = [\"acme\", 5, true], \"/limit\" = { max = 100 } } }\n\
            [[access]]\nwho = [\"*\"]\ndeny = [\"kg.*\"]\n";
        let config = access(content).expect("valid");
        let [rule, other] = &config.declared[..] else { panic!("{config:?}") };
        assert_eq!(
            (rule.place.as_str(), other.place.as_str()),
            ("/etc/gh/presets.toml:3", "/etc/gh/presets.toml:10")
        );
        assert_eq!(rule.effect, Some(Effect::Mutating));
        let limit = |pointer: &str, allowed| ArgumentLimit {
            tools: "github__*".into(),
            pointer: pointer.into(),
            allowed,
        };
        let range = AllowedValues::Range(NumberRange { min: None, max: Some(100.into()) });
        let owners = AllowedValues::OneOf(vec!["acme".into(), 5.into(), true.into()]);
        assert_eq!(rule.when, [limit("/limit", range), limit("/owner", owners)]);
        assert!(config.rules.are_enforced());
        assert!(!access("").expect("valid").rules.are_enforced(), "without [auth]");
        assert!(access("[auth]\ntoken = true\n").expect("valid").rules.are_enforced());
    }

    #[test]
    fn every_mistake_has_its_place() {
        let good = "who = [\"*\"]\n";
        let alone = format!("[[access]]\n{good}tools = [\"*\"]");
        assert_refused("", &[(&alone, ":1:1: access rules need [auth]")]);
        let without_tools = format!("{good}deny = [\"x\"]\neffect = \"mutating\"");
        let cases = [
            ("tools = [\"*\"]", ":2:1: an access rule needs `who`"),
            (good, ":2:1: an access rule needs `tools`"),
            (&without_tools, "needs `tools`"),
            ("who = [\"dev\"]\ntools = [\"*\"]", ":3:8: 'dev' names no caller: write \"group:dev\""),
            ("who = [\"*\"]\nadmin = true\ntools = [\"a\"]", ":2:1: a rule with `admin` has only `who`"),
        ];
        assert_refused("[auth]\n[[access]]\n", &cases);
        let before = format!("[auth]\n[[access]]\n{good}tools = [\"*\"]\n");
        let cases = [
            ("deny = [\"a[\"]", ":5:9: deny entry 'a[' is not a valid glob"),
            ("effect = \"strong\"", ":5:10: effect must be"),
            ("when = { \"*\" = {} }", ":5:10: names no argument"),
            ("when = { \"*\" = { owner = [\"a\"] } }", ":5:18: when entry 'owner' is not a JSON pointer"),
            ("tool = []", "unknown key 'tool'. Did you mean 'tools'?"),
        ];
        assert_refused(&before, &cases);
        for bad in ["[]", "5", "[[1]]", "{ low = 1 }", "{}", "{ min = \"1\" }", "{ max = nan }"] {
            let content = format!("when = {{ \"*\" = {{ \"/a\" = {bad} }} }}");
            assert_refused(&before, &[(&content, ":5:25: expected a list of texts")]);
        }
    }
}
