//! Checks a value against a schema. Each step is paid from a [`StepBudget`].
//!
//! The recursion is as deep as the schema, and stops at the first violation.

use std::cmp::Ordering;

use serde_json::{Map, Value};

use super::{
    CheckInterrupt, StepBudget, kind_of,
    node::{BoundKind, CountedPart, Keyword, MembersKeyword, SchemaNodeId, SchemaTree},
    value::{any, are_unique, equal},
    violation::{Violation, not_a_choice, quoted_value},
};
use crate::{
    names,
    util::decimal::{self, Decimal},
};

type CheckError = super::CheckError<Violation>;

pub(super) struct SchemaChecker<'t, 'e, 'a> {
    pub(super) tree: &'t SchemaTree,
    pub(super) steps: &'e mut StepBudget<'a>,
    /// Depth of nested trial matches. Their violations are discarded, so no text is built for them.
    pub(super) trial_depth: u32,
}

impl<'t, 'e, 'a> SchemaChecker<'t, 'e, 'a> {
    pub(super) fn new(tree: &'t SchemaTree, steps: &'e mut StepBudget<'a>) -> Self {
        Self { tree, steps, trial_depth: 0 }
    }

    pub(super) fn schema(&mut self, id: SchemaNodeId, value: &Value) -> Result<(), CheckError> {
        // A number can have millions of digits, which most keywords read.
        let digits = value.as_number().map_or(0, |number| number.as_str().len() as u64 / 8);
        self.steps.spend(1)?;
        let node = self.tree.node(id);
        node.keywords.iter().try_for_each(|keyword| {
            self.steps.spend(1 + digits)?;
            self.keyword(id, keyword, value)
        })
    }

    /// Returns whether a value matches a schema, without a violation.
    pub(super) fn matches(&mut self, id: SchemaNodeId, value: &Value) -> Result<bool, CheckInterrupt> {
        self.trial_depth += 1;
        let checked = self.schema(id, value);
        self.trial_depth -= 1;
        match checked {
            Ok(()) => Ok(true),
            Err(CheckError::Invalid(_)) => Ok(false),
            Err(CheckError::Stopped(stopped)) => Err(stopped),
        }
    }

    /// Returns a violation. Builds its text only outside trial matches.
    pub(super) fn fail(&self, message: impl FnOnce() -> String) -> Result<(), CheckError> {
        Err(CheckError::Invalid(if self.trial_depth == 0 {
            Violation::new(message())
        } else {
            Violation::default()
        }))
    }

    fn ensure(&self, holds: bool, message: impl FnOnce() -> String) -> Result<(), CheckError> {
        if holds { Ok(()) } else { self.fail(message) }
    }

    pub(super) fn with_path_step(&self, failed: CheckError, step: impl ToString) -> CheckError {
        match failed {
            CheckError::Invalid(violation) if self.trial_depth == 0 => {
                CheckError::Invalid(violation.with_path_step(step.to_string()))
            }
            failed => failed,
        }
    }

    fn keyword(&mut self, id: SchemaNodeId, keyword: &'t Keyword, value: &Value) -> Result<(), CheckError> {
        match (keyword, value) {
            (Keyword::Never, _) => self.fail(|| "is not allowed".into()),
            (Keyword::Type(types), _) => self.ensure(types.accepts(value), || {
                format!("must be {}, got {}", types.describe(), kind_of(value))
            }),
            (Keyword::Const(only), _) => {
                let holds = equal(only, value, self.steps)?;
                self.ensure(holds, || format!("must be {}, got {}", quoted_value(only), quoted_value(value)))
            }
            (Keyword::Enum(choices), _) => {
                let holds = any(choices, |choice| equal(choice, value, self.steps))?;
                self.ensure(holds, || not_a_choice(choices, value))
            }
            (Keyword::Number(bound, limit), Value::Number(number)) => {
                self.steps.spend(limit.as_str().len() as u64 / 8)?;
                let order = || decimal::compare(number, limit);
                let holds = match bound {
                    BoundKind::AtLeast => order() != Ordering::Less,
                    BoundKind::AtMost => order() != Ordering::Greater,
                    BoundKind::MoreThan => order() == Ordering::Greater,
                    BoundKind::LessThan => order() == Ordering::Less,
                    BoundKind::MultipleOf => {
                        // One division for each digit.
                        self.steps.spend(number.as_str().len() as u64)?;
                        Decimal::new(number).is_multiple_of(&Decimal::new(limit))
                    }
                };
                self.ensure(holds, || {
                    let number = names::quoted(number.as_str(), 100);
                    format!("must be {} {}, got {number}", bound.as_str(), names::quoted(limit.as_str(), 100))
                })
            }
            (Keyword::Size { bound, part, limit }, _) => self.size(*bound, *part, *limit, value),
            (Keyword::Pattern(pattern), Value::String(text)) => {
                let holds = pattern.is_match(text, self.steps)?;
                self.ensure(holds, || {
                    format!("must match the pattern {}", names::quoted(pattern.source(), 100))
                })
            }
            (Keyword::UniqueItems, Value::Array(items)) => {
                let holds = are_unique(items, self.steps)?;
                self.ensure(holds, || "must not have duplicate items".into())
            }
            (Keyword::Items { first, rest }, Value::Array(items)) => self.items(first, *rest, items),
            (Keyword::Contains { schema, min, max }, Value::Array(items)) => {
                let mut match_count = 0_u64;
                for item in items {
                    match_count += u64::from(self.matches(*schema, item)?);
                }
                self.ensure(match_count >= *min && max.is_none_or(|max| match_count <= max), || {
                    let at_most = max.map(|max| format!(", at most {max}")).unwrap_or_default();
                    format!("has {match_count} matching items; expected at least {min}{at_most}")
                })
            }
            (_, Value::Object(members)) => self.members(keyword, members, value),
            _ => Ok(()),
        }?;
        match keyword {
            Keyword::AllOf(branches) => branches.iter().try_for_each(|branch| self.schema(*branch, value)),
            Keyword::AnyOf(branches) => self.any_of(branches, value),
            Keyword::OneOf(branches) => self.one_of(branches, value),
            Keyword::Not(ruled_out) => {
                let matched = self.matches(*ruled_out, value)?;
                self.ensure(!matched, || "is an excluded value".into())
            }
            Keyword::If { condition, then, otherwise } => {
                let next = if self.matches(*condition, value)? { then } else { otherwise };
                next.map_or(Ok(()), |id| self.schema(id, value))
            }
            Keyword::UnevaluatedItems(rest) if value.is_array() => self.unevaluated(id, *rest, value),
            Keyword::UnevaluatedProperties(rest) if value.is_object() => self.unevaluated(id, *rest, value),
            _ => Ok(()),
        }
    }

    fn size(
        &mut self,
        bound: BoundKind,
        part: CountedPart,
        limit: u64,
        value: &Value,
    ) -> Result<(), CheckError> {
        let (size, part) = match (part, value) {
            (CountedPart::Character, Value::String(text)) => {
                self.steps.spend(text.len() as u64 / 16)?;
                (text.chars().count() as u64, "character")
            }
            (CountedPart::Item, Value::Array(items)) => (items.len() as u64, "item"),
            (CountedPart::Member, Value::Object(members)) => (members.len() as u64, "member"),
            _ => return Ok(()),
        };
        let holds = if bound == BoundKind::AtLeast { size >= limit } else { size <= limit };
        let (bound, s) = (bound.as_str(), if limit == 1 { "" } else { "s" });
        // Show the actual size only if it is too large to count by eye.
        self.ensure(holds, || {
            let got = if size > limit { format!(", got {size}") } else { String::new() };
            format!("must have {bound} {limit} {part}{s}{got}")
        })
    }

    fn items(
        &mut self,
        first: &[SchemaNodeId],
        rest: Option<SchemaNodeId>,
        items: &[Value],
    ) -> Result<(), CheckError> {
        for (at, item) in items.iter().enumerate() {
            let Some(id) = first.get(at).copied().or(rest) else { break };
            self.schema(id, item).map_err(|failed| self.with_path_step(failed, at))?;
        }
        Ok(())
    }

    fn members(
        &mut self,
        keyword: &'t Keyword,
        given: &Map<String, Value>,
        value: &Value,
    ) -> Result<(), CheckError> {
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
                checked.map_err(|failed| self.with_path_step(failed, name))
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

    fn required(&mut self, names: &[String], given: &Map<String, Value>) -> Result<(), CheckError> {
        self.steps.spend(names.len() as u64)?;
        match names.iter().find(|name| !given.contains_key(*name)) {
            Some(_) if self.trial_depth > 0 => self.fail(String::new),
            Some(name) => Err(CheckError::Invalid(Violation::missing(name))),
            None => Ok(()),
        }
    }

    fn member(&mut self, keyword: &MembersKeyword, name: &str, part: &Value) -> Result<(), CheckError> {
        self.steps.spend(1 + name.len() as u64 / 64)?;
        let named = keyword.named.get(name);
        let mut is_declared = named.is_some();
        if let Some(id) = named {
            self.schema(*id, part).map_err(|failed| self.with_path_step(failed, name))?;
        }
        for (pattern, id) in &keyword.matching {
            if pattern.is_match(name, self.steps)? {
                is_declared = true;
                self.schema(*id, part).map_err(|failed| self.with_path_step(failed, name))?;
            }
        }
        match keyword.others.filter(|_| !is_declared) {
            Some(id) => self.schema(id, part).map_err(|failed| self.with_path_step(failed, name)),
            None => Ok(()),
        }
    }

    fn any_of(&mut self, branches: &[SchemaNodeId], value: &Value) -> Result<(), CheckError> {
        let matched = any(branches, |branch| self.matches(*branch, value))?;
        if matched { Ok(()) } else { self.explain_no_match(branches, value) }
    }

    fn one_of(&mut self, branches: &[SchemaNodeId], value: &Value) -> Result<(), CheckError> {
        let mut matched = 0;
        for branch in branches {
            matched += usize::from(self.matches(*branch, value)?);
            if matched == 2 {
                return self
                    .fail(|| "matches more than one of the alternatives, but only one is allowed".into());
            }
        }
        if matched == 1 { Ok(()) } else { self.explain_no_match(branches, value) }
    }

    /// Explains why no branch matches. If only one branch allows the value's type, reports the violation of that
    /// branch.
    fn explain_no_match(&mut self, branches: &[SchemaNodeId], value: &Value) -> Result<(), CheckError> {
        if self.trial_depth > 0 {
            return self.fail(String::new);
        }
        let types: Vec<_> = branches.iter().map(|branch| self.tree.node(*branch).types()).collect();
        let open: Vec<_> = std::iter::zip(branches, &types)
            .filter(|(_, types)| types.is_none_or(|types| types.accepts(value)))
            .collect();
        match open[..] {
            [] if !types.is_empty() => {
                let expected_types =
                    types.iter().flatten().copied().reduce(|first, second| first.union(second));
                let words = expected_types.map(|types| types.describe()).unwrap_or_default();
                self.fail(|| format!("must be {words}, got {}", kind_of(value)))
            }
            [(branch, _)] => self.schema(*branch, value),
            _ => self.fail(|| "matches none of the allowed alternatives".into()),
        }
    }
}
