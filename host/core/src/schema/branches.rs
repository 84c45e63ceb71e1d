//! `anyOf`, `oneOf` and `if`: keywords whose subschemas need not all match.

use serde_json::Value;

use super::{
    check::{CheckError, SchemaChecker},
    kind_of,
    node::{IfKeyword, SchemaNodeId},
    violation::Violation,
};

impl SchemaChecker<'_, '_, '_> {
    pub(super) fn any_of(&mut self, branches: &[SchemaNodeId], value: &Value) -> Result<(), CheckError> {
        for branch in branches {
            if self.matches(*branch, value)? {
                return Ok(());
            }
        }
        self.explain_no_match(branches, value)
    }

    pub(super) fn one_of(&mut self, branches: &[SchemaNodeId], value: &Value) -> Result<(), CheckError> {
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
        if self.tries > 0 {
            return Err(CheckError::Invalid(Violation::default()));
        }
        let types: Vec<_> = branches.iter().map(|branch| self.tree.node(*branch).types()).collect();
        let open: Vec<_> = std::iter::zip(branches, &types)
            .filter(|(_, types)| types.is_none_or(|types| types.accepts(value)))
            .collect();
        match open[..] {
            [] if !types.is_empty() => {
                let all = types.iter().flatten().copied().reduce(|all, one| all.union(one));
                let words = all.map(|all| all.describe()).unwrap_or_default();
                self.fail(|| format!("must be {words}, got {}", kind_of(value)))
            }
            [(branch, _)] => self.schema(*branch, value),
            _ => self.fail(|| "matches none of the allowed alternatives".into()),
        }
    }

    pub(super) fn condition(&mut self, keyword: &IfKeyword, value: &Value) -> Result<(), CheckError> {
        let next = if self.matches(keyword.condition, value)? { keyword.then } else { keyword.otherwise };
        next.map_or(Ok(()), |id| self.schema(id, value))
    }
}
