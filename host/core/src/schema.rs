//! JSON Schema validation against schemas of tools and gates.
//!
//! ```text
//! source ─ read ─▶ tree of keywords ─ check, step by step ─▶ verdict, or stopped
//! ```
//!
//! Gates write schemas, and clients and gates write values, so both may be hostile. A schema is read once
//! (`schema/read.rs` refuses bad ones), and the same tree is evaluated. Each step counts against a budget
//! ([`StepBudget`]), so every check ends and can be interrupted. Validation libraries offer neither.

mod check;
mod keywords;
mod node;
mod pattern;
mod read;
mod readable_part;
mod reference;
mod unevaluated;
mod value;
mod violation;

use std::sync::{Arc, OnceLock};

use serde_json::{Map, Value};

use crate::InvalidValue;
use check::SchemaChecker;

/// A schema that is parsed on first use: most schemas of a listing are never used.
#[derive(Debug)]
pub struct Schema {
    source: Arc<Map<String, Value>>,
    is_of_server: bool,
    tree: OnceLock<Result<node::SchemaTree, InvalidValue>>,
}

/// Reason a check failed; `V` describes the first violation.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum CheckError<V> {
    Invalid(V),
    Stopped(CheckInterrupt),
}

/// The violation is a sentence.
pub(crate) type ValidationError = CheckError<String>;

impl<V> From<CheckInterrupt> for CheckError<V> {
    fn from(stopped: CheckInterrupt) -> Self {
        Self::Stopped(stopped)
    }
}

/// Cost of reading a schema, to limit the total of a listing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct SchemaSize {
    /// Number of subschemas.
    pub(crate) schemas: usize,
    pub(crate) pattern_bytes: usize,
}

impl Schema {
    pub fn new(source: Arc<Map<String, Value>>) -> Self {
        Self { source, is_of_server: false, tree: OnceLock::new() }
    }

    /// Creates a schema of an MCP server, which checks its arguments itself. Parts that cannot be read are not checked,
    /// and a required member with a default is optional.
    pub fn of_server(source: Arc<Map<String, Value>>) -> Self {
        Self { source, is_of_server: true, tree: OnceLock::new() }
    }

    pub fn source(&self) -> &Arc<Map<String, Value>> {
        &self.source
    }

    /// Reads a schema to measure it. The error continues a sentence about the schema.
    pub(crate) fn measure(source: &Map<String, Value>) -> Result<SchemaSize, InvalidValue> {
        let read::ReadSchema { tree, pattern_bytes, .. } = read::read(source)?;
        Ok(SchemaSize { schemas: tree.nodes.len(), pattern_bytes })
    }

    /// Returns the reason that a schema of a server is checked only in part, to continue a sentence about the schema.
    pub(crate) fn unreadable_part(source: &Map<String, Value>) -> Option<InvalidValue> {
        read::read_readable_part(source).map_or_else(Some, |read| read.skipped)
    }

    pub(crate) fn is_read(&self) -> bool {
        self.tree.get().is_some()
    }

    /// Validates a value. The error is one sentence about the first violation, with `noun` ("argument", "parameter")
    /// for members and little text of the value.
    ///
    /// Blocks for up to a hundred million steps, about a second.
    pub fn check(&self, value: &Value, noun: &str) -> Result<(), InvalidValue> {
        match self.check_with_budget(value, noun, &mut StepBudget::new_awaited()) {
            Err(ValidationError::Invalid(reason)) => Err(reason.into()),
            Err(ValidationError::Stopped(_)) => Err(format!("the {noun}s {}.", too_many_steps()).into()),
            Ok(()) => Ok(()),
        }
    }

    /// Validates a value within a budget of steps.
    pub(crate) fn check_with_budget(
        &self,
        value: &Value,
        noun: &str,
        steps: &mut StepBudget<'_>,
    ) -> Result<(), ValidationError> {
        let tree = self
            .tree()
            .as_ref()
            .map_err(|reason| ValidationError::Invalid(format!("the schema is invalid: it {reason}.")))?;
        match SchemaChecker::new(tree, steps).schema(tree.root, value) {
            Ok(()) => Ok(()),
            Err(CheckError::Stopped(stopped)) => Err(stopped.into()),
            Err(CheckError::Invalid(violation)) => {
                let unknown = violation::unknown_member(tree, value, noun, steps)?;
                Err(ValidationError::Invalid(unknown.unwrap_or_else(|| violation.into_message(noun))))
            }
        }
    }

    /// Whether the schema of a member may refuse text. False for unknown members.
    pub(crate) fn may_refuse_text(&self, member: &str) -> bool {
        let Some((tree, id)) = self.member(member) else { return false };
        let accepts_any_text =
            || tree.node(id).types().is_some_and(|types| types.accepts(&Value::String(String::new())));
        !tree.node(id).keywords.is_empty() && !accepts_any_text()
    }

    /// Whether the schema of a member refuses `text` and accepts `value`.
    pub(crate) fn prefers(
        &self,
        member: &str,
        value: &Value,
        text: &Value,
        steps: &mut StepBudget<'_>,
    ) -> Result<bool, CheckInterrupt> {
        let Some((tree, id)) = self.member(member) else { return Ok(false) };
        let mut checker = SchemaChecker::new(tree, steps);
        Ok(!checker.matches(id, text)? && checker.matches(id, value)?)
    }

    fn member(&self, name: &str) -> Option<(&node::SchemaTree, node::SchemaNodeId)> {
        let tree = self.tree().as_ref().ok()?;
        Some((tree, *tree.node(tree.root).members()?.named.get(name)?))
    }

    fn tree(&self) -> &Result<node::SchemaTree, InvalidValue> {
        let read = if self.is_of_server { read::read_readable_part } else { read::read };
        self.tree.get_or_init(|| read(&self.source).map(|read| read.tree))
    }
}

/// Returns the message for a value that takes too many steps, to continue a sentence.
pub(crate) fn too_many_steps() -> String {
    format!(
        "take more than {} million steps to check against their schema; send less data",
        MAX_STEPS / 1_000_000
    )
}

/// Returns `params` with the schema's defaults for missing members, one level deep.
pub fn with_defaults(schema: &Map<String, Value>, params: &Map<String, Value>) -> Map<String, Value> {
    let mut filled = params.clone();
    for (name, member) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        if let Some(default) = member.get("default").filter(|_| !filled.contains_key(name)) {
            filled.insert(name.clone(), default.clone());
        }
    }
    filled
}

/// Returns the JSON type of a value with its article.
pub fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// Maximum steps of a check on the caller's thread: some tenths of a millisecond.
const MAX_INLINE_STEPS: u64 = 50_000;

/// Maximum steps of any check: about a second.
pub(crate) const MAX_STEPS: u64 = 100_000_000;

/// Steps between two calls of `abandoned`: less than a millisecond.
const STEPS_BETWEEN_POLLS: u64 = 1 << 16;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CheckInterrupt {
    OutOfSteps,
    /// The caller stopped waiting.
    Abandoned,
}

pub(crate) struct StepBudget<'a> {
    left: u64,
    until_poll: u64,
    abandoned: &'a dyn Fn() -> bool,
}

impl StepBudget<'static> {
    pub(crate) fn new_short() -> Self {
        Self::with_steps(MAX_INLINE_STEPS, &|| false)
    }

    pub(crate) fn new_awaited() -> Self {
        Self::with_steps(MAX_STEPS, &|| false)
    }
}

impl<'a> StepBudget<'a> {
    /// Creates a budget for a long check. `abandoned` returns true once its caller has stopped waiting.
    pub(crate) fn new_long(abandoned: &'a dyn Fn() -> bool) -> Self {
        Self::with_steps(MAX_STEPS, abandoned)
    }

    fn with_steps(steps: u64, abandoned: &'a dyn Fn() -> bool) -> Self {
        Self { left: steps, until_poll: STEPS_BETWEEN_POLLS, abandoned }
    }

    fn spend(&mut self, steps: u64) -> Result<(), CheckInterrupt> {
        self.left = self.left.checked_sub(steps).ok_or(CheckInterrupt::OutOfSteps)?;
        match self.until_poll.checked_sub(steps) {
            Some(left) => self.until_poll = left,
            None if (self.abandoned)() => return Err(CheckInterrupt::Abandoned),
            None => self.until_poll = STEPS_BETWEEN_POLLS,
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
