//! `unevaluatedProperties` and `unevaluatedItems`.
//!
//! They apply to parts that no other keyword of the same schema has evaluated, including keywords nested in `allOf`,
//! `anyOf` or similar.

use std::{collections::HashSet, fmt::Display};

use serde_json::Value;

use super::{
    CheckError, CheckInterrupt,
    check::SchemaChecker,
    node::{Keyword, SchemaNodeId},
    violation::Violation,
};

#[derive(Default)]
struct EvaluatedParts<'v> {
    members: HashSet<&'v str>,
    all_members: bool,
    /// Number of evaluated items from the start.
    first: usize,
    items: HashSet<usize>,
    all_items: bool,
}

impl<'t> SchemaChecker<'t, '_, '_> {
    /// Checks the members or items that no other keyword of the schema `id` evaluates.
    pub(super) fn unevaluated(
        &mut self,
        id: SchemaNodeId,
        rest: SchemaNodeId,
        value: &Value,
    ) -> Result<(), CheckError<Violation>> {
        let mut evaluated = EvaluatedParts::default();
        self.mark_evaluated(id, value, &mut evaluated, true)?;
        let mut check = |part: &Value, step: &dyn Display| {
            self.steps.spend(1)?;
            self.schema(rest, part).map_err(|failed| self.with_path_step(failed, step))
        };
        match value {
            Value::Object(members) if !evaluated.all_members => {
                let mut remaining =
                    members.iter().filter(|(name, _)| !evaluated.members.contains(name.as_str()));
                remaining.try_for_each(|(name, part)| check(part, name))
            }
            Value::Array(items) if !evaluated.all_items => {
                let remaining = items.iter().enumerate().skip(evaluated.first);
                let mut remaining = remaining.filter(|(at, _)| !evaluated.items.contains(at));
                remaining.try_for_each(|(at, item)| check(item, &at))
            }
            _ => Ok(()),
        }
    }

    /// Records the parts that a matching schema evaluates.
    ///
    /// `own` is true for the schema with the `unevaluated…` keyword that is being checked. Nested `unevaluated…`
    /// keywords count as evaluating everything.
    fn mark_evaluated<'v>(
        &mut self,
        id: SchemaNodeId,
        value: &'v Value,
        evaluated: &mut EvaluatedParts<'v>,
        own: bool,
    ) -> Result<(), CheckInterrupt> {
        let tree = self.tree;
        for keyword in &tree.node(id).keywords {
            self.steps.spend(1)?;
            match keyword {
                Keyword::UnevaluatedProperties(_) => evaluated.all_members |= !own,
                Keyword::UnevaluatedItems(_) => evaluated.all_items |= !own,
                Keyword::Members(_) | Keyword::Items { .. } | Keyword::Contains { .. } => {
                    self.mark_evaluated_parts(keyword, value, evaluated)?
                }
                Keyword::AllOf(all) => {
                    for one in all {
                        self.mark_evaluated(*one, value, evaluated, false)?;
                    }
                }
                Keyword::AnyOf(branches) | Keyword::OneOf(branches) => {
                    for branch in branches {
                        if self.matches(*branch, value)? {
                            self.mark_evaluated(*branch, value, evaluated, false)?;
                        }
                    }
                }
                Keyword::If { condition, then, otherwise } => {
                    let matched = self.matches(*condition, value)?;
                    let parts = if matched { [Some(*condition), *then] } else { [None, *otherwise] };
                    for part in parts.into_iter().flatten() {
                        self.mark_evaluated(part, value, evaluated, false)?;
                    }
                }
                Keyword::DependentSchemas(all) => {
                    for (name, id) in all {
                        if value.get(name).is_some() {
                            self.mark_evaluated(*id, value, evaluated, false)?;
                        }
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn mark_evaluated_parts<'v>(
        &mut self,
        keyword: &Keyword,
        value: &'v Value,
        evaluated: &mut EvaluatedParts<'v>,
    ) -> Result<(), CheckInterrupt> {
        match (keyword, value) {
            (Keyword::Members(keyword), Value::Object(members)) => {
                evaluated.all_members |= keyword.others.is_some();
                for name in members.keys() {
                    self.steps.spend(1 + name.len() as u64 / 64)?;
                    let mut is_declared = keyword.named.contains_key(name);
                    for (pattern, _) in &keyword.matching {
                        is_declared = is_declared || pattern.is_match(name, self.steps)?;
                    }
                    if is_declared {
                        evaluated.members.insert(name);
                    }
                }
            }
            (Keyword::Items { first, rest }, Value::Array(_)) => {
                evaluated.all_items |= rest.is_some();
                evaluated.first = evaluated.first.max(first.len());
            }
            (Keyword::Contains { schema, .. }, Value::Array(items)) => {
                for (at, item) in items.iter().enumerate() {
                    if self.matches(*schema, item)? {
                        evaluated.items.insert(at);
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }
}
