//! One compiled rule, and its limits of arguments: the values that it allows at a JSON pointer.

use globset::{Glob, GlobMatcher};
use serde_json::{Number, Value};

use super::{AccessRule, AccessRuleError};
use crate::{
    Caller, Effect, InvalidValue,
    caller_patterns::CallerPatterns,
    invalid::ensure,
    patterns::{PatternError, PatternList},
    util::decimal::compare,
};

/// Maximum characters of a number that a rule with values allows. Comparing a longer one takes too long.
const MAX_NUMBER_CHARS: usize = 1_000;

pub(super) struct CompiledAccessRule {
    pub(super) number: usize,
    pub(super) place: String,
    pub(super) effect: Option<Effect>,
    pub(super) admin: bool,
    who: CallerPatterns,
    presets: Option<PatternList>,
    tools: PatternList,
    deny: PatternList,
    when: Vec<CompiledArgumentLimit>,
}

impl CompiledAccessRule {
    pub(super) fn new(number: usize, rule: AccessRule) -> Result<Self, AccessRuleError> {
        let bad = |list, kind: &str, error: PatternError| {
            let reason = format!("is not a valid {kind}: {}", error.reason).into();
            AccessRuleError { rule: number, list, entry: error.pattern, reason }
        };
        let list = |list, entries| PatternList::new(entries).map_err(|error| bad(list, "glob", error));
        let limit = |limit: ArgumentLimit| {
            let entry = limit.pointer.clone();
            let bad = |reason| AccessRuleError { rule: number, list: "when", entry, reason };
            let tools = list("when", vec![limit.tools.clone()])?;
            CompiledArgumentLimit::new(tools, limit).map_err(bad)
        };
        let callers = CallerPatterns::new(rule.who).map_err(|error| bad("who", "pattern", error))?;
        Ok(Self {
            number,
            who: callers,
            place: rule.place,
            effect: rule.effect,
            admin: rule.admin,
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

/// A limit of one argument of the tools that a glob matches.
#[derive(Debug, Clone, PartialEq)]
pub struct ArgumentLimit {
    /// Glob over tools.
    pub tools: String,
    /// JSON pointer (RFC 6901) to the argument.
    pub pointer: String,
    pub allowed: AllowedValues,
}

/// Values that a rule allows for an argument. A list is allowed if it has entries and each of them is.
#[derive(Debug, Clone, PartialEq)]
pub enum AllowedValues {
    /// Texts as globs; numbers and booleans as they are.
    OneOf(Vec<Value>),
    Range(NumberRange),
}

/// Numbers from `min` to `max`, inclusive. `None` for no limit.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NumberRange {
    pub min: Option<Number>,
    pub max: Option<Number>,
}

pub(super) struct CompiledArgumentLimit {
    tools: PatternList,
    pub(super) pointer: String,
    allowed: AllowedValues,
    /// Texts that are allowed as globs, each with true if it has wildcards.
    texts: Vec<(GlobMatcher, bool)>,
}

impl CompiledArgumentLimit {
    fn new(tools: PatternList, limit: ArgumentLimit) -> Result<Self, InvalidValue> {
        let ArgumentLimit { pointer, allowed, .. } = limit;
        ensure!(pointer.starts_with('/'), "is not a JSON pointer such as \"/owner\"");
        let mut texts = Vec::new();
        if let AllowedValues::OneOf(values) = &allowed {
            for value in values {
                match value {
                    Value::String(text) => {
                        let bad = |error: globset::Error| {
                            format!("has a value that is not a glob: {}", error.kind())
                        };
                        let glob = Glob::new(text).map_err(bad)?;
                        texts.push((glob.compile_matcher(), text.contains(['*', '?', '[', '{'])));
                    }
                    Value::Number(_) | Value::Bool(_) => {}
                    _ => return Err("has a value that is not a text, a number or a boolean".into()),
                }
            }
        }
        Ok(Self { tools, pointer, allowed, texts })
    }

    fn concerns(&self, names: &[String]) -> bool {
        self.tools.matches_any(names)
    }

    /// Returns true if the arguments have an allowed value. A missing argument is not allowed.
    pub(super) fn allows(&self, arguments: &Value) -> bool {
        match arguments.pointer(&self.pointer) {
            Some(Value::Array(items)) => {
                !items.is_empty() && items.iter().all(|item| self.allows_value(item))
            }
            Some(value) => self.allows_value(value),
            None => false,
        }
    }

    fn allows_value(&self, value: &Value) -> bool {
        if value.as_number().is_some_and(|number| number.as_str().len() > MAX_NUMBER_CHARS) {
            return false;
        }
        match (&self.allowed, value) {
            (AllowedValues::OneOf(_), Value::String(text)) => {
                // Servers resolve such paths, which would leave the directory that a pattern names, or cut them at a NUL.
                let is_odd = climbs(text) || text.contains(is_invisible_control);
                self.texts.iter().any(|(glob, is_wild)| glob.is_match(text) && !(*is_wild && is_odd))
            }
            (AllowedValues::OneOf(values), Value::Number(number)) => values
                .iter()
                .filter_map(Value::as_number)
                .any(|allowed_number| compare(allowed_number, number).is_eq()),
            (AllowedValues::OneOf(values), Value::Bool(_)) => values.contains(value),
            (AllowedValues::Range(NumberRange { min, max }), Value::Number(number)) => {
                min.as_ref().is_none_or(|min| compare(number, min).is_ge())
                    && max.as_ref().is_none_or(|max| compare(number, max).is_le())
            }
            _ => false,
        }
    }
}

/// Returns true if a text has `..` as a segment of a path.
fn climbs(text: &str) -> bool {
    text.split(['/', '\\']).any(|segment| segment.trim() == "..")
}

fn is_invisible_control(c: char) -> bool {
    c.is_control() && !matches!(c, '\n' | '\r' | '\t')
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn allows(allowed: AllowedValues, pointer: &str, arguments: &Value) -> bool {
        let tools = PatternList::new(vec!["*".into()]).expect("a glob");
        let limit = ArgumentLimit { tools: "*".into(), pointer: pointer.into(), allowed };
        CompiledArgumentLimit::new(tools, limit).expect("valid").allows(arguments)
    }

    #[test]
    fn values_match_by_type_and_lists_by_every_entry() {
        let owners = |value: Value| {
            let one_of = AllowedValues::OneOf(vec![json!("acme"), json!("team-*"), json!(5), json!(true)]);
            allows(one_of, "/owner", &json!({ "owner": value }))
        };
        for good in
            [json!("acme"), json!("team-a"), json!(5), json!(5.0), json!(true), json!(["acme", "team-b"])]
        {
            assert!(owners(good.clone()), "{good}");
        }
        let deep = json!([["acme"]]);
        for bad in [
            json!("acme2"),
            json!("ACME"),
            json!(" acme"),
            json!("5"),
            json!(6),
            json!(false),
            json!(null),
            json!([]),
            json!(["acme", "other"]),
            json!({"acme": "acme"}),
            deep,
        ] {
            assert!(!owners(bad.clone()), "{bad}");
        }
        let one = || AllowedValues::OneOf(vec![json!("*")]);
        assert!(!allows(one(), "/owner", &json!({})), "a missing argument");
        assert!(allows(one(), "/a~1b/0/c", &json!({"a/b": [{"c": "x"}]})));
    }

    #[test]
    fn a_pattern_allows_no_path_that_leaves_its_directory() {
        let path = |text: &str| {
            let paths = AllowedValues::OneOf(vec![json!("/srv/data/*"), json!("../here")]);
            allows(paths, "/path", &json!({ "path": text }))
        };
        assert!(path("/srv/data/a/b") && path("/srv/data/..a") && path("../here"));
        for bad in ["/srv/data/../../etc/passwd", "/srv/data/a/..", "/srv/data/..\\x", "/srv/dat", "../there"]
        {
            assert!(!path(bad), "{bad}");
        }
    }

    #[test]
    fn ranges_are_inclusive_exact_and_for_numbers_only() {
        let big = 9_007_199_254_740_993_u64;
        let within = |value: Value| {
            let range = NumberRange { min: Some(1.into()), max: Some(big.into()) };
            allows(AllowedValues::Range(range), "/n", &json!({ "n": value }))
        };
        for good in [json!(1), json!(1.5), json!(big)] {
            assert!(within(good.clone()), "{good}");
        }
        for bad in [json!(0), json!(0.999), json!(-1), json!(big + 1), json!("5"), json!(null), json!([])] {
            assert!(!within(bad.clone()), "{bad}");
        }
        // No float holds these.
        let long = format!("1.{}", "0".repeat(1_000));
        for bad in [long.as_str(), "1e400", "-1e400", "9007199254740993.5", "123456789012345678901234567890"]
        {
            assert!(!within(serde_json::from_str(bad).expect("a number")), "{bad}");
        }
    }
}
