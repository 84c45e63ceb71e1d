//! JSON Schema: checking values against a tool's or a gate's schema, in words that help.

use std::sync::{Arc, OnceLock};

use jsonschema::{
    Draft, PatternOptions, ValidationError, Validator,
    error::{TypeKind, ValidationErrorKind},
};
use serde_json::{Map, Value};

use crate::{json, names};

/// A schema that is compiled on first use: a listing of fifty gates should not pay for validators that
/// nobody calls.
#[derive(Debug)]
pub struct Schema {
    source: Arc<Map<String, Value>>,
    compiled: OnceLock<Result<Compiled, String>>,
}

#[derive(Debug)]
struct Compiled {
    validator: Validator,
    weight: u64,
    patterns: u64,
}

/// The most bytes that one pattern may be compiled to.
const MAX_PATTERN: usize = 256 << 10;

/// The most comparisons that checking one value may take, at worst: about a second.
const MAX_WORK: u64 = 100_000_000;

impl Schema {
    /// Wraps a schema without looking at it.
    pub fn new(source: Arc<Map<String, Value>>) -> Self {
        Self { source, compiled: OnceLock::new() }
    }

    /// The schema as it was given.
    pub fn source(&self) -> &Arc<Map<String, Value>> {
        &self.source
    }

    /// Compiles it now; the error says why it is no schema.
    pub fn compile(&self) -> Result<(), &str> {
        self.compiled().map(|_| ())
    }

    /// How many comparisons checking this value may take, at worst: values times nodes of the schema, and
    /// every pattern reads every text; four bytes of that count as one comparison.
    pub(crate) fn work(&self, value: &Value) -> u64 {
        let Ok(compiled) = self.compiled() else { return 1 };
        let reading = json::text_bytes(value).saturating_mul(compiled.patterns) / 4;
        json::values(value).saturating_mul(compiled.weight).saturating_add(reading)
    }

    fn compiled(&self) -> Result<&Compiled, &str> {
        self.compiled
            .get_or_init(|| {
                let weight = crate::weight::check(&self.source)?;
                let patterns = crate::weight::patterns(&self.source)?;
                jsonschema::options()
                    .with_draft(Draft::Draft202012)
                    // Takes linear time on any text, for which it lacks look-around.
                    .with_pattern_options(
                        PatternOptions::regex().size_limit(MAX_PATTERN).dfa_size_limit(MAX_PATTERN),
                    )
                    .build(&Value::Object((*self.source).clone()))
                    .map(|validator| Compiled { validator, weight, patterns })
                    .map_err(|error| names::quoted(&error.to_string(), 300))
            })
            .as_ref()
            .map_err(String::as_str)
    }

    /// Checks a value. The error is one sentence about the first thing that is wrong, `noun` being what
    /// to call a member ("argument", "parameter"); it never quotes more than a few characters of the value.
    pub fn check(&self, value: &Value, noun: &str) -> Result<(), String> {
        let compiled = self.compiled().map_err(|why| format!("the schema itself is broken: {why}"))?;
        let validator = &compiled.validator;
        if self.work(value) > MAX_WORK {
            let (values, weight) = (json::values(value), compiled.weight);
            return Err(format!("{values} values are too many to check against a schema of {weight} nodes."));
        }
        if validator.is_valid(value) {
            return Ok(());
        }
        // A wrong name explains more than what it leaves missing, so unknown members come first. Only the
        // first error is asked for: a hostile value has millions.
        if let Some((path, name, known)) = unknown_member(&self.source, value) {
            let near = names::did_you_mean(name, known.keys().map(String::as_str));
            return Err(format!("unknown {noun} '{}'{}.{near}", names::quoted(name, 64), within(&path)));
        }
        validator.validate(value).map_err(|error| self.describe(&error, noun))
    }

    fn describe(&self, error: &ValidationError<'_>, noun: &str) -> String {
        let path = error.instance_path().as_str();
        let place = if path.is_empty() {
            format!("the {noun}s")
        } else {
            format!("'{}'", names::quoted(&dotted(path), 80))
        };
        let value = error.instance();
        match error.kind() {
            ValidationErrorKind::Required { property } => {
                format!(
                    "missing required {noun} '{}'{}.",
                    property.as_str().unwrap_or_default(),
                    within(path)
                )
            }
            ValidationErrorKind::Type { kind } => {
                format!("{place} must be {}, got {}.", expected(kind), kind_of(value))
            }
            ValidationErrorKind::Enum { options } => {
                let options: Vec<&str> =
                    options.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
                let near = value
                    .as_str()
                    .map(|v| names::did_you_mean(v, options.iter().copied()))
                    .unwrap_or_default();
                format!("{place} must be one of {}, got {}.{near}", options.join(", "), shown(value))
            }
            ValidationErrorKind::Minimum { limit } => {
                format!("{place} must be at least {limit}, got {}.", shown(value))
            }
            ValidationErrorKind::Maximum { limit } => {
                format!("{place} must be at most {limit}, got {}.", shown(value))
            }
            ValidationErrorKind::MinLength { limit } => {
                format!("{place} must have at least {limit} character{}.", if *limit == 1 { "" } else { "s" })
            }
            ValidationErrorKind::MaxLength { limit } => format!(
                "{place} must have at most {limit} characters, got {}.",
                value.as_str().map_or(0, |s| s.chars().count())
            ),
            ValidationErrorKind::MaxItems { limit } => format!(
                "{place} must have at most {limit} items, got {}.",
                value.as_array().map_or(0, Vec::len)
            ),
            _ => format!("{place}: {}.", names::quoted(&error.masked_with("the value").to_string(), 200)),
        }
    }
}

/// The first member that an object schema closed to others does not know: where it is (JSON pointer), its
/// name, and the members that the schema knows there. Looks into members and items too.
fn unknown_member<'a>(
    schema: &'a Map<String, Value>,
    value: &'a Value,
) -> Option<(String, &'a str, &'a Map<String, Value>)> {
    let below = |part: &'a Value, schema: Option<&'a Value>, step: &dyn std::fmt::Display| {
        let (path, name, known) = unknown_member(schema?.as_object()?, part)?;
        Some((format!("/{step}{path}"), name, known))
    };
    match value {
        Value::Array(items) => {
            items.iter().enumerate().find_map(|(at, item)| below(item, schema.get("items"), &at))
        }
        Value::Object(given) => {
            let known = schema.get("properties").and_then(Value::as_object)?;
            if schema.get("additionalProperties") == Some(&Value::Bool(false))
                && let Some(name) = given.keys().find(|name| !known.contains_key(*name))
            {
                return Some((String::new(), name, known));
            }
            given.iter().find_map(|(name, part)| below(part, known.get(name), name))
        }
        _ => None,
    }
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

fn dotted(pointer: &str) -> String {
    pointer.trim_start_matches('/').replace('/', ".")
}

fn within(pointer: &str) -> String {
    if pointer.is_empty() { String::new() } else { format!(" in '{}'", names::quoted(&dotted(pointer), 80)) }
}

fn expected(kind: &TypeKind) -> String {
    match kind {
        TypeKind::Single(one) => article(&one.to_string()),
        TypeKind::Multiple(many) => {
            many.iter().map(|one| article(&one.to_string())).collect::<Vec<_>>().join(" or ")
        }
    }
}

fn article(kind: &str) -> String {
    match kind {
        "null" => "null".into(),
        "array" | "object" | "integer" => format!("an {kind}"),
        _ => format!("a {kind}"),
    }
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

fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => format!("'{}'", names::quoted(text, 40)),
        Value::Array(_) | Value::Object(_) => kind_of(value).into(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests;
