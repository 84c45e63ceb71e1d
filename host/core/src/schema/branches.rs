//! `anyOf`, `oneOf` and `if`: keywords that try several schemas, of which some must not match.

use serde_json::Value;

use super::{
    check::{Check, Failed},
    kind_of,
    node::{Id, If},
    violation::Violation,
};

impl Check<'_, '_, '_> {
    pub(super) fn any_of(&mut self, branches: &[Id], value: &Value) -> Result<(), Failed> {
        for branch in branches {
            if self.matches(*branch, value)? {
                return Ok(());
            }
        }
        self.no_branch(branches, value)
    }

    pub(super) fn one_of(&mut self, branches: &[Id], value: &Value) -> Result<(), Failed> {
        let mut matched = 0;
        for branch in branches {
            matched += usize::from(self.matches(*branch, value)?);
            if matched == 2 {
                return self.wrong(|| "matches two of the forms that exclude each other".into());
            }
        }
        if matched == 1 { Ok(()) } else { self.no_branch(branches, value) }
    }

    /// Why a value matches none of several schemas. Where its type leaves one of them, that one says why.
    fn no_branch(&mut self, branches: &[Id], value: &Value) -> Result<(), Failed> {
        if self.tries > 0 {
            return Err(Failed::Wrong(Violation::default()));
        }
        let types: Vec<_> = branches.iter().map(|branch| self.tree.node(*branch).types()).collect();
        let open: Vec<_> = std::iter::zip(branches, &types)
            .filter(|(_, types)| types.is_none_or(|types| types.admit(value)))
            .collect();
        match open[..] {
            [] if !types.is_empty() => {
                let all = types.iter().flatten().copied().reduce(|all, one| all.with(one));
                let words = all.map(|all| all.in_words()).unwrap_or_default();
                self.wrong(|| format!("must be {words}, got {}", kind_of(value)))
            }
            [(branch, _)] => self.schema(*branch, value),
            _ => self.wrong(|| "matches none of the forms that it may have".into()),
        }
    }

    pub(super) fn condition(&mut self, keyword: &If, value: &Value) -> Result<(), Failed> {
        let next = if self.matches(keyword.condition, value)? { keyword.then } else { keyword.otherwise };
        next.map_or(Ok(()), |id| self.schema(id, value))
    }
}
