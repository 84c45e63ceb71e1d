//! Equality of JSON values, as in JSON Schema: numbers by value, members in any order.

use std::{
    collections::HashMap,
    hash::{BuildHasher, RandomState},
};

use serde_json::Value;

use super::{CheckInterrupt, StepBudget};
use crate::util::decimal::{self, Decimal};

/// Returns whether two values are equal. Each compared part is a step.
pub(super) fn equal(
    first: &Value,
    second: &Value,
    steps: &mut StepBudget<'_>,
) -> Result<bool, CheckInterrupt> {
    steps.spend(1)?;
    Ok(match (first, second) {
        (Value::String(first), Value::String(second)) => {
            steps.spend(first.len().min(second.len()) as u64 / 64)?;
            first == second
        }
        (Value::Number(first), Value::Number(second)) => {
            steps.spend((first.as_str().len() + second.as_str().len()) as u64 / 8)?;
            decimal::compare(first, second).is_eq()
        }
        (Value::Array(first), Value::Array(second)) => {
            first.len() == second.len()
                && !any(first.iter().zip(second), |(first, second)| Ok(!equal(first, second, steps)?))?
        }
        (Value::Object(first), Value::Object(second)) => {
            first.len() == second.len()
                && !any(first, |(name, part)| {
                    steps.spend(1 + name.len() as u64 / 64)?;
                    second.get(name).map_or(Ok(true), |twin| Ok(!equal(part, twin, steps)?))
                })?
        }
        _ => first == second,
    })
}

pub(super) fn are_unique(items: &[Value], steps: &mut StepBudget<'_>) -> Result<bool, CheckInterrupt> {
    let keys = RandomState::new();
    let mut items_by_digest: HashMap<u64, Vec<&Value>> = HashMap::new();
    for item in items {
        let alike = items_by_digest.entry(digest(item, &keys, steps)?).or_default();
        if any(alike.iter(), |other| equal(item, other, steps))? {
            return Ok(false);
        }
        alike.push(item);
    }
    Ok(true)
}

/// Returns a hash: the same for equal values.
fn digest(value: &Value, keys: &RandomState, steps: &mut StepBudget<'_>) -> Result<u64, CheckInterrupt> {
    steps.spend(2)?;
    Ok(match value {
        Value::Null => keys.hash_one(0),
        Value::Bool(truth) => keys.hash_one((1, truth)),
        Value::Number(number) => {
            steps.spend(number.as_str().len() as u64 / 8)?;
            keys.hash_one((2, Decimal::new(number)))
        }
        Value::String(text) => {
            steps.spend(text.len() as u64 / 8)?;
            keys.hash_one((3, text))
        }
        Value::Array(items) => {
            let mut hash = keys.hash_one(4);
            for item in items {
                hash = keys.hash_one((hash, digest(item, keys, steps)?));
            }
            hash
        }
        Value::Object(members) => {
            let mut hash = keys.hash_one(5);
            for (name, part) in members {
                steps.spend(1 + name.len() as u64 / 8)?;
                hash = hash.wrapping_add(keys.hash_one((name, digest(part, keys, steps)?)));
            }
            hash
        }
    })
}

/// Returns true if any part passes. Stops at the first that does.
pub(super) fn any<T>(
    parts: impl IntoIterator<Item = T>,
    mut passes: impl FnMut(T) -> Result<bool, CheckInterrupt>,
) -> Result<bool, CheckInterrupt> {
    for part in parts {
        if passes(part)? {
            return Ok(true);
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn uniqueness_compares_values() {
        let unique = |items: Value| {
            are_unique(items.as_array().expect("an array"), &mut StepBudget::new_awaited())
                .expect("a verdict")
        };
        assert!(unique(
            json!([1, true, "1", null, [1], {"a": 1}, {"a": 2}, 9007199254740993_u64, 9007199254740992_u64])
        ));
        assert!(!unique(json!([1, 2, 1.0])));
        assert!(!unique(json!([{"a": 1, "b": [2]}, {"b": [2.0], "a": 1}])));
    }
}
