//! Checks a value by a schema that was read: every rule of every schema that applies, each step paid for.
//! It goes as deep as the schema does, and ends at the first mistake.

use std::cmp::Ordering;

use serde_json::{Map, Number, Value};

use super::{
    effort::{Effort, Stopped},
    kind_of,
    mistake::{Mistake, shown},
    node::{Contains, Id, If, Items, Members, Rule, Tree},
    number,
    value::{are_unique, same},
};
use crate::names;

/// Why a check ended before all rules were seen to hold.
#[derive(Debug)]
pub(super) enum Failed {
    Wrong(Mistake),
    Stopped(Stopped),
}

impl From<Stopped> for Failed {
    fn from(stopped: Stopped) -> Self {
        Self::Stopped(stopped)
    }
}

/// One check under way.
pub(super) struct Check<'t, 'e, 'a> {
    pub(super) tree: &'t Tree,
    pub(super) effort: &'e mut Effort<'a>,
    /// In how many tries it is whose mistakes nobody will read.
    tries: u32,
}

impl<'t, 'e, 'a> Check<'t, 'e, 'a> {
    pub(super) fn new(tree: &'t Tree, effort: &'e mut Effort<'a>) -> Self {
        Self { tree, effort, tries: 0 }
    }

    /// Checks a value by one schema of the tree.
    pub(super) fn schema(&mut self, id: Id, value: &Value) -> Result<(), Failed> {
        self.effort.spend(1)?;
        let node = self.tree.node(id);
        node.rules.iter().try_for_each(|rule| {
            self.effort.spend(1)?;
            self.rule(id, rule, value)
        })
    }

    /// Whether a value matches a schema, where no matter is made of it if it does not.
    pub(super) fn matches(&mut self, id: Id, value: &Value) -> Result<bool, Stopped> {
        self.tries += 1;
        let checked = self.schema(id, value);
        self.tries -= 1;
        match checked {
            Ok(()) => Ok(true),
            Err(Failed::Wrong(_)) => Ok(false),
            Err(Failed::Stopped(stopped)) => Err(stopped),
        }
    }

    /// The mistake, in words only if somebody reads them.
    fn wrong(&self, words: impl FnOnce() -> String) -> Result<(), Failed> {
        Err(Failed::Wrong(if self.tries == 0 { Mistake::of(words()) } else { Mistake::default() }))
    }

    fn hold(&self, holds: bool, words: impl FnOnce() -> String) -> Result<(), Failed> {
        if holds { Ok(()) } else { self.wrong(words) }
    }

    /// A mistake within a part of the value.
    pub(super) fn within(&self, failed: Failed, step: impl ToString) -> Failed {
        match failed {
            Failed::Wrong(mistake) if self.tries == 0 => Failed::Wrong(mistake.within(step.to_string())),
            failed => failed,
        }
    }

    fn rule(&mut self, id: Id, rule: &'t Rule, value: &Value) -> Result<(), Failed> {
        match (rule, value) {
            (Rule::Never, _) => self.wrong(|| "is not allowed".into()),
            (Rule::Type(types), _) => self.hold(types.admit(value), || {
                format!("must be {}, got {}", types.in_words(), kind_of(value))
            }),
            (Rule::Const(only), _) => {
                let holds = same(only, value, self.effort)?;
                self.hold(holds, || format!("must be {}, got {}", shown(only), shown(value)))
            }
            (Rule::Enum(choices), _) => self.choice(choices, value),
            (
                Rule::Minimum(_)
                | Rule::Maximum(_)
                | Rule::ExclusiveMinimum(_)
                | Rule::ExclusiveMaximum(_)
                | Rule::MultipleOf(_),
                Value::Number(number),
            ) => self.number(rule, number),
            (Rule::MinLength(_) | Rule::MaxLength(_), Value::String(text)) => {
                self.effort.spend(text.len() as u64 / 16)?;
                self.size(rule, text.chars().count(), "character")
            }
            (Rule::MinItems(_) | Rule::MaxItems(_), Value::Array(items)) => {
                self.size(rule, items.len(), "item")
            }
            (Rule::MinProperties(_) | Rule::MaxProperties(_), Value::Object(members)) => {
                self.size(rule, members.len(), "member")
            }
            (Rule::Pattern(pattern), Value::String(text)) => {
                let holds = pattern.is_match(text, self.effort)?;
                self.hold(holds, || format!("must match the pattern {}", names::quoted(pattern.source(), 100)))
            }
            (Rule::UniqueItems, Value::Array(items)) => {
                let holds = are_unique(items, self.effort)?;
                self.hold(holds, || "must not have the same item twice".into())
            }
            (Rule::Items(rule), Value::Array(items)) => self.items(rule, items),
            (Rule::Contains(rule), Value::Array(items)) => self.contains(rule, items),
            (_, Value::Object(members)) => self.members(rule, members, value),
            _ => Ok(()),
        }?;
        match rule {
            Rule::AllOf(all) => all.iter().try_for_each(|one| self.schema(*one, value)),
            Rule::AnyOf(ways) => self.any_of(ways, value),
            Rule::OneOf(ways) => self.one_of(ways, value),
            Rule::Not(ruled_out) => {
                let matched = self.matches(*ruled_out, value)?;
                self.hold(!matched, || "is one of the values that are ruled out".into())
            }
            Rule::If(rule) => self.condition(rule, value),
            Rule::UnevaluatedItems(rest) => self.unevaluated_items(id, *rest, value),
            Rule::UnevaluatedProperties(rest) => self.unevaluated_members(id, *rest, value),
            _ => Ok(()),
        }
    }

    fn choice(&mut self, choices: &[Value], value: &Value) -> Result<(), Failed> {
        for choice in choices {
            if same(choice, value, self.effort)? {
                return Ok(());
            }
        }
        self.wrong(|| super::mistake::not_a_choice(choices, value))
    }

    fn number(&self, rule: &Rule, value: &Number) -> Result<(), Failed> {
        let (holds, bound, limit) = match rule {
            Rule::Minimum(limit) => (number::compare(value, limit) != Ordering::Less, "at least", limit),
            Rule::Maximum(limit) => (number::compare(value, limit) != Ordering::Greater, "at most", limit),
            Rule::ExclusiveMinimum(limit) => {
                (number::compare(value, limit) == Ordering::Greater, "more than", limit)
            }
            Rule::ExclusiveMaximum(limit) => {
                (number::compare(value, limit) == Ordering::Less, "less than", limit)
            }
            Rule::MultipleOf(limit) => (number::is_multiple(value, limit), "a multiple of", limit),
            _ => return Ok(()),
        };
        self.hold(holds, || format!("must be {bound} {limit}, got {value}"))
    }

    fn size(&self, rule: &Rule, size: usize, part: &str) -> Result<(), Failed> {
        let size = size as u64;
        let (holds, bound, limit) = match rule {
            Rule::MinLength(limit) | Rule::MinItems(limit) | Rule::MinProperties(limit) => {
                (size >= *limit, "at least", *limit)
            }
            Rule::MaxLength(limit) | Rule::MaxItems(limit) | Rule::MaxProperties(limit) => {
                (size <= *limit, "at most", *limit)
            }
            _ => return Ok(()),
        };
        let s = if limit == 1 { "" } else { "s" };
        // What is there is worth a word only where it is more than anybody would count.
        self.hold(holds, || {
            let got = if size > limit { format!(", got {size}") } else { String::new() };
            format!("must have {bound} {limit} {part}{s}{got}")
        })
    }

    fn items(&mut self, rule: &Items, items: &[Value]) -> Result<(), Failed> {
        let rest = std::iter::repeat_n(rule.rest, if rule.rest.is_some() { usize::MAX } else { 0 });
        let schemas = rule.first.iter().copied().map(Some).chain(rest).flatten();
        for (at, (id, item)) in schemas.zip(items).enumerate() {
            self.schema(id, item).map_err(|failed| self.within(failed, at))?;
        }
        Ok(())
    }

    fn contains(&mut self, rule: &Contains, items: &[Value]) -> Result<(), Failed> {
        let mut found = 0_u64;
        for item in items {
            found += u64::from(self.matches(rule.what, item)?);
        }
        self.hold(found >= rule.least && rule.most.is_none_or(|most| found <= most), || {
            let most = rule.most.map(|most| format!(", at most {most}")).unwrap_or_default();
            format!("has {found} items of the kind asked for; needed are at least {}{most}", rule.least)
        })
    }

    /// Rules about the members of an object.
    fn members(&mut self, rule: &'t Rule, given: &Map<String, Value>, value: &Value) -> Result<(), Failed> {
        match rule {
            Rule::Required(names) => self.required(names, given),
            Rule::DependentRequired(all) => {
                all.iter().try_for_each(|(name, needs)| match given.contains_key(name) {
                    true => self.required(needs, given),
                    false => Ok(self.effort.spend(1)?),
                })
            }
            Rule::Members(rule) => {
                given.iter().try_for_each(|(name, part)| self.member(rule, name, part))
            }
            Rule::PropertyNames(id) => given.keys().try_for_each(|name| {
                self.effort.spend(name.len() as u64 / 64)?;
                let checked = self.schema(*id, &Value::String(name.clone()));
                checked.map_err(|failed| self.within(failed, name))
            }),
            Rule::DependentSchemas(all) => {
                all.iter().try_for_each(|(name, id)| match given.contains_key(name) {
                    true => self.schema(*id, value),
                    false => Ok(self.effort.spend(1)?),
                })
            }
            _ => Ok(()),
        }
    }

    fn required(&mut self, names: &[String], given: &Map<String, Value>) -> Result<(), Failed> {
        self.effort.spend(names.len() as u64)?;
        match names.iter().find(|name| !given.contains_key(*name)) {
            Some(_) if self.tries > 0 => Err(Failed::Wrong(Mistake::default())),
            Some(name) => Err(Failed::Wrong(Mistake::missing(name))),
            None => Ok(()),
        }
    }

    fn member(&mut self, rule: &Members, name: &str, part: &Value) -> Result<(), Failed> {
        self.effort.spend(1 + name.len() as u64 / 64)?;
        let named = rule.named.get(name);
        let mut known = named.is_some();
        if let Some(id) = named {
            self.schema(*id, part).map_err(|failed| self.within(failed, name))?;
        }
        for (pattern, id) in &rule.matching {
            if pattern.is_match(name, self.effort)? {
                known = true;
                self.schema(*id, part).map_err(|failed| self.within(failed, name))?;
            }
        }
        match rule.others.filter(|_| !known) {
            Some(id) => self.schema(id, part).map_err(|failed| self.within(failed, name)),
            None => Ok(()),
        }
    }

    fn any_of(&mut self, ways: &[Id], value: &Value) -> Result<(), Failed> {
        for way in ways {
            if self.matches(*way, value)? {
                return Ok(());
            }
        }
        self.no_way(ways, value)
    }

    fn one_of(&mut self, ways: &[Id], value: &Value) -> Result<(), Failed> {
        let mut matched = 0;
        for way in ways {
            matched += usize::from(self.matches(*way, value)?);
            if matched == 2 {
                return self.wrong(|| "matches two of the forms that exclude each other".into());
            }
        }
        if matched == 1 { Ok(()) } else { self.no_way(ways, value) }
    }

    /// Why a value matches none of several schemas. Where its type leaves one of them, that one says why.
    fn no_way(&mut self, ways: &[Id], value: &Value) -> Result<(), Failed> {
        if self.tries > 0 {
            return Err(Failed::Wrong(Mistake::default()));
        }
        let types: Vec<_> = ways.iter().map(|way| self.tree.node(*way).types()).collect();
        let open: Vec<_> = std::iter::zip(ways, &types)
            .filter(|(_, types)| types.is_none_or(|types| types.admit(value)))
            .collect();
        match open[..] {
            [] if !types.is_empty() => {
                let all = types.iter().flatten().copied().reduce(|all, one| all.with(one));
                let words = all.map(|all| all.in_words()).unwrap_or_default();
                self.wrong(|| format!("must be {words}, got {}", kind_of(value)))
            }
            [(way, _)] => self.schema(*way, value),
            _ => self.wrong(|| "matches none of the forms that it may have".into()),
        }
    }

    fn condition(&mut self, rule: &If, value: &Value) -> Result<(), Failed> {
        let next = if self.matches(rule.condition, value)? { rule.then } else { rule.otherwise };
        next.map_or(Ok(()), |id| self.schema(id, value))
    }
}
