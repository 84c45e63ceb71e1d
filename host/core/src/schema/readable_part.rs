//! Reading a schema of a server as far as it can be read: skipped parts, and what they mean for the keywords around them.

use super::{
    node::{Keyword, SchemaNodeId},
    read::SchemaReader,
};
use crate::InvalidValue;

impl SchemaReader<'_> {
    /// Runs one step. If it fails and this reader skips parts, returns `None`, and the current schema is partial.
    pub(super) fn unless_skipped<T>(
        &mut self,
        step: impl FnOnce(&mut Self) -> Result<T, InvalidValue>,
    ) -> Result<Option<T>, InvalidValue> {
        let (steps, depth) = (self.path.len(), self.depth);
        match step(self) {
            Ok(value) => Ok(Some(value)),
            Err(reason) if self.is_lenient => {
                let reason = self.at_path(reason);
                self.skipped.get_or_insert(reason);
                self.path.truncate(steps);
                self.depth = depth;
                self.is_partial = true;
                Ok(None)
            }
            Err(reason) => Err(reason),
        }
    }

    /// Weakens keywords that would refuse more if one of their partial schemas accepts more. Returns true if the schema
    /// of these keywords is partial.
    pub(super) fn relax(&self, keywords: &mut Vec<Keyword>, is_partial: bool) -> bool {
        let partial = |id: &SchemaNodeId| self.node(*id).is_partial;
        let is_partial = is_partial || keywords.iter().flat_map(Keyword::schemas).any(|id| partial(&id));
        keywords.retain_mut(|keyword| {
            match keyword {
                Keyword::Not(id) => return !partial(id),
                Keyword::If { condition, .. } => return !partial(condition),
                Keyword::UnevaluatedItems(_) | Keyword::UnevaluatedProperties(_) => return !is_partial,
                Keyword::OneOf(all) if all.iter().any(partial) => {
                    *keyword = Keyword::AnyOf(std::mem::take(all));
                }
                Keyword::Contains { schema, max, .. } if partial(schema) => *max = None,
                _ => {}
            }
            true
        });
        is_partial
    }
}
