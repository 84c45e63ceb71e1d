//! JSON Schema: checking values against a tool's or a gate's schema, in words that help.
//!
//! ```text
//! source ─ read ─▶ tree of keywords ─ check, step by step ─▶ verdict, or stopped
//! ```
//!
//! Gates write schemas, and clients and gates write the values, so both may be meant to keep the host busy. A
//! schema is read once (`schema/read.rs` says what is refused), and that reading is what is evaluated: there is no
//! second one that could differ from the one that was judged. Each step of a check is paid for (`schema/step_budget.rs`),
//! so that it ends whatever schema and value are, and can be ended while it runs. A library that validates
//! on its own terms can be given neither.

mod assertions;
mod branches;
mod check;
mod keywords;
mod node;
mod number;
mod pattern;
mod pointer;
mod read;
mod step_budget;
mod unevaluated;
mod value;
mod violation;

use std::sync::{Arc, OnceLock};

use serde_json::{Map, Value};

use check::{CheckError, SchemaChecker};
pub(crate) use step_budget::{CheckInterrupt, MAX_STEPS, StepBudget};

/// A schema that is read on first use: a listing of fifty gates should not pay for schemas that nobody
/// checks by.
#[derive(Debug)]
pub struct Schema {
    source: Arc<Map<String, Value>>,
    tree: OnceLock<Result<node::SchemaTree, String>>,
}

/// Why a value was not found to match a schema.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ValidationError {
    /// What is wrong with it, as a sentence.
    Invalid(String),
    /// The check ended before that was known.
    Stopped(CheckInterrupt),
}

impl From<CheckInterrupt> for ValidationError {
    fn from(stopped: CheckInterrupt) -> Self {
        Self::Stopped(stopped)
    }
}

/// What reading a schema took, where many are read together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct SchemaSize {
    /// How many schemas it is made of.
    pub(crate) schemas: usize,
    pub(crate) pattern_bytes: usize,
}

impl Schema {
    /// Wraps a schema without looking at it.
    pub fn new(source: Arc<Map<String, Value>>) -> Self {
        Self { source, tree: OnceLock::new() }
    }

    /// The schema as it was given.
    pub fn source(&self) -> &Arc<Map<String, Value>> {
        &self.source
    }

    /// Reads a schema; the error says, as the rest of a sentence about it, why it is refused.
    pub(crate) fn measure(source: &Map<String, Value>) -> Result<SchemaSize, String> {
        let read::ReadSchema { tree, pattern_bytes } = read::read(source)?;
        Ok(SchemaSize { schemas: tree.nodes.len(), pattern_bytes })
    }

    /// Whether it has been read, so that a check need not.
    pub(crate) fn is_read(&self) -> bool {
        self.tree.get().is_some()
    }

    /// Checks a value. The error is one sentence about the first thing that is wrong, `noun` being what
    /// to call a member ("argument", "parameter"); it never quotes more than a few characters of the value.
    ///
    /// It takes at most a hundred million steps, which is about a second, and blocks for as long.
    pub fn check(&self, value: &Value, noun: &str) -> Result<(), String> {
        match self.check_with_budget(value, noun, &mut StepBudget::new_awaited()) {
            Err(ValidationError::Invalid(why)) => Err(why),
            Err(ValidationError::Stopped(_)) => Err(format!("the {noun}s {}.", too_many_steps())),
            Ok(()) => Ok(()),
        }
    }

    /// Checks a value in no more steps than there are left.
    pub(crate) fn check_with_budget(
        &self,
        value: &Value,
        noun: &str,
        steps: &mut StepBudget<'_>,
    ) -> Result<(), ValidationError> {
        let tree = self.tree.get_or_init(|| read::read(&self.source).map(|read| read.tree));
        let tree = tree
            .as_ref()
            .map_err(|why| ValidationError::Invalid(format!("the schema itself is broken: it {why}.")))?;
        match SchemaChecker::new(tree, steps).schema(tree.root, value) {
            Ok(()) => Ok(()),
            Err(CheckError::Stopped(stopped)) => Err(stopped.into()),
            Err(CheckError::Invalid(violation)) => {
                let unknown = violation::unknown_member(tree, value, noun, steps)?;
                Err(ValidationError::Invalid(unknown.unwrap_or_else(|| violation.into_message(noun))))
            }
        }
    }
}

/// What is wrong with a value that takes too many steps, as the rest of a sentence.
pub(crate) fn too_many_steps() -> String {
    format!(
        "take more than {} million steps to check against their schema; send less at once",
        MAX_STEPS / 1_000_000
    )
}

/// `params` with the defaults that `schema` gives for the members it lacks, one level deep.
pub fn with_defaults(schema: &Map<String, Value>, params: &Map<String, Value>) -> Map<String, Value> {
    let mut filled = params.clone();
    for (name, member) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        if let Some(default) = member.get("default").filter(|_| !filled.contains_key(name)) {
            filled.insert(name.clone(), default.clone());
        }
    }
    filled
}

/// What kind of JSON value this is, with its article.
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

#[cfg(test)]
mod oracle;
#[cfg(test)]
mod tests;
