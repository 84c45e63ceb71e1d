//! `unevaluatedProperties` and `unevaluatedItems`: keywords about what no other keyword of the same schema has
//! looked at, however deep in `allOf`, `anyOf` and the like that one stands.

use std::collections::HashSet;

use serde_json::Value;

use super::{
    check::{Check, Failed},
    node::{Id, Keyword},
    step_budget::Stopped,
};

/// What keywords have looked at in one value.
#[derive(Default)]
struct Evaluated<'v> {
    members: HashSet<&'v str>,
    all_members: bool,
    /// So many items from the first on.
    first: usize,
    items: HashSet<usize>,
    all_items: bool,
}

impl<'t> Check<'t, '_, '_> {
    pub(super) fn unevaluated_members(&mut self, id: Id, rest: Id, value: &Value) -> Result<(), Failed> {
        let Value::Object(members) = value else { return Ok(()) };
        let mut evaluated = Evaluated::default();
        self.look(id, value, &mut evaluated, true)?;
        if evaluated.all_members {
            return Ok(());
        }
        let unevaluated = members.iter().filter(|(name, _)| !evaluated.members.contains(name.as_str()));
        unevaluated.into_iter().try_for_each(|(name, part)| {
            self.steps.spend(1)?;
            self.schema(rest, part).map_err(|failed| self.within(failed, name))
        })
    }

    pub(super) fn unevaluated_items(&mut self, id: Id, rest: Id, value: &Value) -> Result<(), Failed> {
        let Value::Array(items) = value else { return Ok(()) };
        let mut evaluated = Evaluated::default();
        self.look(id, value, &mut evaluated, true)?;
        if evaluated.all_items {
            return Ok(());
        }
        let unevaluated =
            items.iter().enumerate().skip(evaluated.first).filter(|(at, _)| !evaluated.items.contains(at));
        unevaluated.into_iter().try_for_each(|(at, item)| {
            self.steps.spend(1)?;
            self.schema(rest, item).map_err(|failed| self.within(failed, at))
        })
    }

    /// Notes what a schema that a value matches looks at. `own` is set for the schema whose unevaluated keyword
    /// asks; one of another schema below has looked at all there is.
    fn look<'v>(
        &mut self,
        id: Id,
        value: &'v Value,
        evaluated: &mut Evaluated<'v>,
        own: bool,
    ) -> Result<(), Stopped> {
        let tree = self.tree;
        for keyword in &tree.node(id).keywords {
            self.steps.spend(1)?;
            match keyword {
                Keyword::UnevaluatedProperties(_) => evaluated.all_members |= !own,
                Keyword::UnevaluatedItems(_) => evaluated.all_items |= !own,
                Keyword::Members(_) | Keyword::Items(_) | Keyword::Contains(_) => {
                    self.look_at_parts(keyword, value, evaluated)?
                }
                Keyword::AllOf(all) => {
                    for one in all {
                        self.look(*one, value, evaluated, false)?;
                    }
                }
                Keyword::AnyOf(branches) | Keyword::OneOf(branches) => {
                    for branch in branches {
                        if self.matches(*branch, value)? {
                            self.look(*branch, value, evaluated, false)?;
                        }
                    }
                }
                Keyword::If(keyword) => {
                    let matched = self.matches(keyword.condition, value)?;
                    if matched {
                        self.look(keyword.condition, value, evaluated, false)?;
                    }
                    if let Some(next) = if matched { keyword.then } else { keyword.otherwise } {
                        self.look(next, value, evaluated, false)?;
                    }
                }
                Keyword::DependentSchemas(all) => {
                    for (name, id) in all {
                        if value.get(name).is_some() {
                            self.look(*id, value, evaluated, false)?;
                        }
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn look_at_parts<'v>(
        &mut self,
        keyword: &Keyword,
        value: &'v Value,
        evaluated: &mut Evaluated<'v>,
    ) -> Result<(), Stopped> {
        match (keyword, value) {
            (Keyword::Members(keyword), Value::Object(given)) => {
                evaluated.all_members |= keyword.others.is_some();
                for name in given.keys() {
                    self.steps.spend(1 + name.len() as u64 / 64)?;
                    let mut known = keyword.named.contains_key(name);
                    for (pattern, _) in &keyword.matching {
                        known = known || pattern.is_match(name, self.steps)?;
                    }
                    if known {
                        evaluated.members.insert(name);
                    }
                }
            }
            (Keyword::Items(keyword), Value::Array(_)) => {
                evaluated.all_items |= keyword.rest.is_some();
                evaluated.first = evaluated.first.max(keyword.first.len());
            }
            (Keyword::Contains(keyword), Value::Array(items)) => {
                for (at, item) in items.iter().enumerate() {
                    if self.matches(keyword.what, item)? {
                        evaluated.items.insert(at);
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }
}
