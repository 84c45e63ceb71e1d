//! Equality of JSON values, as in JSON Schema: numbers by value, members in any order.

use std::{
    cmp::Ordering,
    collections::HashMap,
    hash::{BuildHasher, RandomState},
};

use serde_json::{Number, Value};

use super::{CheckInterrupt, StepBudget};

/// Returns whether two values are equal. Each compared part is a step.
pub(super) fn equal(one: &Value, other: &Value, steps: &mut StepBudget<'_>) -> Result<bool, CheckInterrupt> {
    steps.spend(1)?;
    Ok(match (one, other) {
        (Value::String(one), Value::String(other)) => {
            steps.spend(one.len().min(other.len()) as u64 / 64)?;
            one == other
        }
        (Value::Number(one), Value::Number(other)) => compare(one, other) == Ordering::Equal,
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len()
                && !any(one.iter().zip(other), |(one, other)| Ok(!equal(one, other, steps)?))?
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && !any(one, |(name, part)| {
                    steps.spend(1 + name.len() as u64 / 64)?;
                    other.get(name).map_or(Ok(true), |twin| Ok(!equal(part, twin, steps)?))
                })?
        }
        _ => one == other,
    })
}

pub(super) fn are_unique(items: &[Value], steps: &mut StepBudget<'_>) -> Result<bool, CheckInterrupt> {
    let keys = RandomState::new();
    let mut known: HashMap<u64, Vec<&Value>> = HashMap::new();
    for item in items {
        let alike = known.entry(digest(item, &keys, steps)?).or_default();
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
        Value::Number(number) => keys.hash_one((2, float(number).to_bits())),
        Value::String(text) => {
            steps.spend(text.len() as u64 / 8)?;
            keys.hash_one((3, text))
        }
        Value::Array(items) => {
            let mut all = keys.hash_one(4);
            for item in items {
                all = keys.hash_one((all, digest(item, keys, steps)?));
            }
            all
        }
        Value::Object(members) => {
            let mut all = keys.hash_one(5);
            for (name, part) in members {
                steps.spend(1 + name.len() as u64 / 8)?;
                all = all.wrapping_add(keys.hash_one((name, digest(part, keys, steps)?)));
            }
            all
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

/// Compares two numbers by value; 1 equals 1.0. Exact even for integers that a float cannot represent.
pub(super) fn compare(one: &Number, other: &Number) -> Ordering {
    match (integer(one), integer(other)) {
        (Some(one), Some(other)) => one.cmp(&other),
        (Some(one), None) => to_float(one, float(other)),
        (None, Some(other)) => to_float(other, float(one)).reverse(),
        (None, None) => float(one).total_cmp(&float(other)),
    }
}

pub(super) fn is_integer(number: &Number) -> bool {
    integer(number).is_some() || float(number).fract() == 0.0
}

/// Returns the value if it is written without fraction and exponent.
fn integer(number: &Number) -> Option<i128> {
    number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from))
}

/// Converts to a float. JSON has no infinities or NaN.
pub(super) fn float(number: &Number) -> f64 {
    // Adding 0.0 turns -0.0 into 0.0.
    number.as_f64().unwrap_or_default() + 0.0
}

/// Compares an integer with a float. If the rounded integer is equal, the float is an integer, so compares integers.
fn to_float(integer: i128, other: f64) -> Ordering {
    (integer as f64).total_cmp(&other).then_with(|| integer.cmp(&(other as i128)))
}

/// Returns true if `number` is a multiple of `step`, which is above zero.
///
/// Computes in decimal: 19.99 is a multiple of 0.01, although the floats are not.
pub(super) fn is_multiple(number: &Number, step: &Number) -> bool {
    if let (Some(number), Some(step)) = (integer(number), integer(step)) {
        return number.checked_rem(step) == Some(0);
    }
    let ((digits, exponent), (step_digits, step_exponent)) = (decimal(number), decimal(step));
    if digits == 0 {
        return true;
    }
    match u32::try_from(exponent - step_exponent) {
        // digits × 10^shift modulo step_digits. Both factors stay below 2^64.
        Ok(shift) => (0..shift).fold(digits % step_digits, |rest, _| rest * 10 % step_digits) == 0,
        Err(_) => {
            let scale =
                u32::try_from(step_exponent - exponent).ok().and_then(|shift| 10_u128.checked_pow(shift));
            scale.and_then(|scale| step_digits.checked_mul(scale)).is_some_and(|step| digits % step == 0)
        }
    }
}

/// Returns the shortest decimal form of a number as digits and exponent of ten, without its sign.
fn decimal(number: &Number) -> (u128, i32) {
    if let Some(integer) = integer(number) {
        return (integer.unsigned_abs(), 0);
    }
    let text = format!("{:e}", float(number).abs());
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}").parse().unwrap_or_default();
    (digits, exponent.parse::<i32>().unwrap_or_default() - fraction.len() as i32)
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

    fn number(text: &str) -> Number {
        match serde_json::from_str(text) {
            Ok(Value::Number(number)) => number,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn numbers_are_compared_by_value() {
        for (one, other, expected) in [
            ("1", "1.0", Ordering::Equal),
            ("0", "-0.0", Ordering::Equal),
            ("9007199254740993", "9007199254740992.0", Ordering::Greater),
            ("18446744073709551615", "18446744073709551616.0", Ordering::Less),
            ("1e300", "9223372036854775807", Ordering::Greater),
            ("-1.5", "-1", Ordering::Less),
        ] {
            assert_eq!(compare(&number(one), &number(other)), expected, "{one} {other}");
            assert_eq!(compare(&number(other), &number(one)), expected.reverse(), "{other} {one}");
        }
        assert!(is_integer(&number("1e3")) && !is_integer(&number("1.5")));
    }

    #[test]
    fn multiples_are_decimal() {
        for (of, step, expected) in [
            ("19.99", "0.01", true),
            ("0.0075", "0.0001", true),
            ("0.00751", "0.0001", false),
            ("1e308", "0.123456789", false),
            ("1e308", "0.5", true),
            ("12391239123", "1e-8", true),
            ("-4", "2", true),
            ("4.5", "1.5", true),
            ("7", "2", false),
            ("0", "1e300", true),
            ("5", "1e300", false),
            ("1e-300", "1", false),
        ] {
            assert_eq!(is_multiple(&number(of), &number(step)), expected, "{of} of {step}");
        }
    }
}
