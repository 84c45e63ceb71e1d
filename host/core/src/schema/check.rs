//! Checks a value by a schema that was read: every keyword of every schema that applies, each step paid for.
//! It goes as deep as the schema does, and ends at the first mistake.

use std::cmp::Ordering;

use serde_json::{Map, Value};

use super::{
    kind_of,
    node::{Bound, Contains, Id, Items, Keyword, Members, Part, Size, Tree},
    number,
    step_budget::{StepBudget, Stopped},
    value::{are_unique, same},
    violation::{Violation, shown},
};
use crate::names;

/// Why a check ended before all keywords were seen to hold.
#[derive(Debug)]
pub(super) enum Failed {
    Wrong(Violation),
    Stopped(Stopped),
}

impl From<Stopped> for Failed {
    fn from(stopped: Stopped) -> Self {
        Self::Stopped(stopped)
    }
}

pub(super) struct Check<'t, 'e, 'a> {
    pub(super) tree: &'t Tree,
    pub(super) steps: &'e mut StepBudget<'a>,
    /// In how many tries it is whose mistakes nobody will read.
    pub(super) tries: u32,
}

impl<'t, 'e, 'a> Check<'t, 'e, 'a> {
    pub(super) fn new(tree: &'t Tree, steps: &'e mut StepBudget<'a>) -> Self {
        Self { tree, steps, tries: 0 }
    }

    pub(super) fn schema(&mut self, id: Id, value: &Value) -> Result<(), Failed> {
        self.steps.spend(1)?;
        let node = self.tree.node(id);
        node.keywords.iter().try_for_each(|keyword| {
            self.steps.spend(1)?;
            self.keyword(id, keyword, value)
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
    pub(super) fn wrong(&self, words: impl FnOnce() -> String) -> Result<(), Failed> {
        Err(Failed::Wrong(if self.tries == 0 { Violation::of(words()) } else { Violation::default() }))
    }

    fn hold(&self, holds: bool, words: impl FnOnce() -> String) -> Result<(), Failed> {
        if holds { Ok(()) } else { self.wrong(words) }
    }

    pub(super) fn within(&self, failed: Failed, step: impl ToString) -> Failed {
        match failed {
            Failed::Wrong(violation) if self.tries == 0 => Failed::Wrong(violation.within(step.to_string())),
            failed => failed,
        }
    }

    fn keyword(&mut self, id: Id, keyword: &'t Keyword, value: &Value) -> Result<(), Failed> {
        match (keyword, value) {
            (Keyword::Never, _) => self.wrong(|| "is not allowed".into()),
            (Keyword::Type(types), _) => self
                .hold(types.admit(value), || format!("must be {}, got {}", types.in_words(), kind_of(value))),
            (Keyword::Const(only), _) => {
                let holds = same(only, value, self.steps)?;
                self.hold(holds, || format!("must be {}, got {}", shown(only), shown(value)))
            }
            (Keyword::Enum(choices), _) => self.choice(choices, value),
            (Keyword::Number(bound, limit), Value::Number(number)) => {
                let holds = match (bound, number::compare(number, limit)) {
                    (Bound::AtLeast, order) => order != Ordering::Less,
                    (Bound::AtMost, order) => order != Ordering::Greater,
                    (Bound::MoreThan, order) => order == Ordering::Greater,
                    (Bound::LessThan, order) => order == Ordering::Less,
                    (Bound::MultipleOf, _) => number::is_multiple(number, limit),
                };
                self.hold(holds, || format!("must be {} {limit}, got {number}", bound.in_words()))
            }
            (Keyword::Size(size), _) => self.size(*size, value),
            (Keyword::Pattern(pattern), Value::String(text)) => {
                let holds = pattern.is_match(text, self.steps)?;
                self.hold(holds, || {
                    format!("must match the pattern {}", names::quoted(pattern.source(), 100))
                })
            }
            (Keyword::UniqueItems, Value::Array(items)) => {
                let holds = are_unique(items, self.steps)?;
                self.hold(holds, || "must not have the same item twice".into())
            }
            (Keyword::Items(keyword), Value::Array(items)) => self.items(keyword, items),
            (Keyword::Contains(keyword), Value::Array(items)) => self.contains(keyword, items),
            (_, Value::Object(members)) => self.members(keyword, members, value),
            _ => Ok(()),
        }?;
        match keyword {
            Keyword::AllOf(all) => all.iter().try_for_each(|one| self.schema(*one, value)),
            Keyword::AnyOf(branches) => self.any_of(branches, value),
            Keyword::OneOf(branches) => self.one_of(branches, value),
            Keyword::Not(ruled_out) => {
                let matched = self.matches(*ruled_out, value)?;
                self.hold(!matched, || "is one of the values that are ruled out".into())
            }
            Keyword::If(keyword) => self.condition(keyword, value),
            Keyword::UnevaluatedItems(rest) => self.unevaluated_items(id, *rest, value),
            Keyword::UnevaluatedProperties(rest) => self.unevaluated_members(id, *rest, value),
            _ => Ok(()),
        }
    }

    fn choice(&mut self, choices: &[Value], value: &Value) -> Result<(), Failed> {
        for choice in choices {
            if same(choice, value, self.steps)? {
                return Ok(());
            }
        }
        self.wrong(|| super::violation::not_a_choice(choices, value))
    }

    fn size(&mut self, Size { bound, part, limit }: Size, value: &Value) -> Result<(), Failed> {
        let (size, part) = match (part, value) {
            (Part::Character, Value::String(text)) => {
                self.steps.spend(text.len() as u64 / 16)?;
                (text.chars().count() as u64, "character")
            }
            (Part::Item, Value::Array(items)) => (items.len() as u64, "item"),
            (Part::Member, Value::Object(members)) => (members.len() as u64, "member"),
            _ => return Ok(()),
        };
        let holds = if bound == Bound::AtLeast { size >= limit } else { size <= limit };
        let (bound, s) = (bound.in_words(), if limit == 1 { "" } else { "s" });
        // What is there is worth a word only where it is more than anybody would count.
        self.hold(holds, || {
            let got = if size > limit { format!(", got {size}") } else { String::new() };
            format!("must have {bound} {limit} {part}{s}{got}")
        })
    }

    fn items(&mut self, keyword: &Items, items: &[Value]) -> Result<(), Failed> {
        let rest = std::iter::repeat_n(keyword.rest, if keyword.rest.is_some() { usize::MAX } else { 0 });
        let schemas = keyword.first.iter().copied().map(Some).chain(rest).flatten();
        for (at, (id, item)) in schemas.zip(items).enumerate() {
            self.schema(id, item).map_err(|failed| self.within(failed, at))?;
        }
        Ok(())
    }

    fn contains(&mut self, keyword: &Contains, items: &[Value]) -> Result<(), Failed> {
        let mut found = 0_u64;
        for item in items {
            found += u64::from(self.matches(keyword.what, item)?);
        }
        self.hold(found >= keyword.least && keyword.most.is_none_or(|most| found <= most), || {
            let most = keyword.most.map(|most| format!(", at most {most}")).unwrap_or_default();
            format!("has {found} items of the kind asked for; needed are at least {}{most}", keyword.least)
        })
    }

    fn members(
        &mut self,
        keyword: &'t Keyword,
        given: &Map<String, Value>,
        value: &Value,
    ) -> Result<(), Failed> {
        match keyword {
            Keyword::Required(names) => self.required(names, given),
            Keyword::DependentRequired(all) => {
                all.iter().try_for_each(|(name, needs)| match given.contains_key(name) {
                    true => self.required(needs, given),
                    false => Ok(self.steps.spend(1)?),
                })
            }
            Keyword::Members(keyword) => {
                given.iter().try_for_each(|(name, part)| self.member(keyword, name, part))
            }
            Keyword::PropertyNames(id) => given.keys().try_for_each(|name| {
                self.steps.spend(name.len() as u64 / 64)?;
                let checked = self.schema(*id, &Value::String(name.clone()));
                checked.map_err(|failed| self.within(failed, name))
            }),
            Keyword::DependentSchemas(all) => {
                all.iter().try_for_each(|(name, id)| match given.contains_key(name) {
                    true => self.schema(*id, value),
                    false => Ok(self.steps.spend(1)?),
                })
            }
            _ => Ok(()),
        }
    }

    fn required(&mut self, names: &[String], given: &Map<String, Value>) -> Result<(), Failed> {
        self.steps.spend(names.len() as u64)?;
        match names.iter().find(|name| !given.contains_key(*name)) {
            Some(_) if self.tries > 0 => Err(Failed::Wrong(Violation::default())),
            Some(name) => Err(Failed::Wrong(Violation::missing(name))),
            None => Ok(()),
        }
    }

    fn member(&mut self, keyword: &Members, name: &str, part: &Value) -> Result<(), Failed> {
        self.steps.spend(1 + name.len() as u64 / 64)?;
        let named = keyword.named.get(name);
        let mut known = named.is_some();
        if let Some(id) = named {
            self.schema(*id, part).map_err(|failed| self.within(failed, name))?;
        }
        for (pattern, id) in &keyword.matching {
            if pattern.is_match(name, self.steps)? {
                known = true;
                self.schema(*id, part).map_err(|failed| self.within(failed, name))?;
            }
        }
        match keyword.others.filter(|_| !known) {
            Some(id) => self.schema(id, part).map_err(|failed| self.within(failed, name)),
            None => Ok(()),
        }
    }
}
