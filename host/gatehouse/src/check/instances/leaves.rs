//! Strings and numbers that fit a schema: plain ones and hostile ones.

use std::sync::Arc;

use gatehouse_core::schema::Schema;
use serde_json::{Value, json};

const LONG_TEXT_CHARS: usize = 100_000;

/// Values for common patterns and formats; the first match is used.
const COMMON: [&str; 10] = [
    "a",
    "1",
    "A1",
    "2026-01-31",
    "2026-01-31T12:00:00Z",
    "12:00",
    "someone@example.com",
    "https://example.com/",
    "0b7f6f0e-9d2e-4c39-8e0d-0a5a3c6f8f11",
    "#a0b1c2",
];

/// Returns a plain string, which is empty if `full` is false and the schema allows that.
pub(super) fn string(schema: &Value, full: bool) -> Value {
    let sample = schema.get("default").or_else(|| schema.get("examples")?.get(0));
    if let Some(sample) = sample.filter(|sample| sample.is_string()) {
        return sample.clone();
    }
    if (schema.get("pattern").is_some() || schema.get("format").is_some())
        && let Some(source) = schema.as_object()
    {
        let judge = Schema::new(Arc::new(source.clone()));
        let fits = COMMON.iter().map(|text| json!(text)).find(|text| judge.check(text, "value").is_ok());
        return fits.unwrap_or_default();
    }
    json!(fitted(schema, if full { "an example" } else { "" }))
}

/// Returns the number nearest to 1 within the bounds.
pub(super) fn number(schema: &Value) -> Value {
    let (low, high) = bounds(schema);
    let step = schema["multipleOf"].as_f64().filter(|step| *step > 0.0).unwrap_or(1.0);
    let base = 1.0_f64.clamp(low.min(high), high);
    let number = (base / step).ceil() * step;
    let number = if number > high { (base / step).floor() * step } else { number };
    as_json(schema, number)
}

/// Returns strings of various lengths and scripts, fitted to the length limits of the schema.
pub(super) fn hostile_strings(schema: &Value) -> Vec<(String, Value)> {
    let texts = [
        ("empty", String::new()),
        ("of 100 kB", "x".repeat(LONG_TEXT_CHARS)),
        ("in many scripts", "Zażółć, 漢字, العربية, 🦀👩‍👩‍👧, e\u{301}".to_owned()),
        ("with invisible characters", "a\u{202e}b\u{2066}c\u{200b}d\u{feff}e\u{e0041}f".to_owned()),
        ("with NUL and control characters", "a\0b\u{7}c\u{1b}[31md\r\n\u{7f}".to_owned()),
        ("with quotes, braces and paths", "\"'`${x}<b>{{y}}%s%n\\../../etc/passwd%00&?#".to_owned()),
        ("of only spaces", "   ".to_owned()),
    ];
    texts.map(|(label, text)| (label.to_owned(), json!(fitted(schema, &text)))).to_vec()
}

/// Returns the bounds, their neighbors, and the limits of machine numbers.
pub(super) fn hostile_numbers(schema: &Value) -> Vec<(String, Value)> {
    let (low, high) = bounds(schema);
    let mut numbers = vec![low, high, 0.0, -1.0, 1e30, -1e30, 9_007_199_254_740_993.0];
    if super::kind(schema) == "number" {
        numbers.extend([0.1, -0.0, 1e308, -1e308, f64::MIN_POSITIVE]);
    }
    let mut hostile: Vec<(String, Value)> = numbers
        .into_iter()
        .filter(|n| n.is_finite())
        .map(|n| (format!("as {n:e}"), as_json(schema, n)))
        .collect();
    hostile.extend([i64::MIN, i64::MAX].map(|n| (format!("as {n}"), json!(n))));
    hostile.push((format!("as {}", u64::MAX), json!(u64::MAX)));
    hostile
}

/// Returns the lowest and highest number, infinite if unbounded.
fn bounds(schema: &Value) -> (f64, f64) {
    let whole = super::kind(schema) == "integer";
    let beside = |bound: f64, to: f64| {
        if whole { bound + to } else { bound + to * (bound.abs() * 1e-9).max(1e-9) }
    };
    let at = |key: &str| schema[key].as_f64();
    let low = at("minimum").or_else(|| at("exclusiveMinimum").map(|bound| beside(bound, 1.0)));
    let high = at("maximum").or_else(|| at("exclusiveMaximum").map(|bound| beside(bound, -1.0)));
    (low.unwrap_or(f64::NEG_INFINITY), high.unwrap_or(f64::INFINITY))
}

/// Converts a number to JSON. Whole numbers that fit an `i64` have no decimal point.
fn as_json(schema: &Value, number: f64) -> Value {
    let whole = super::kind(schema) == "integer" || number.fract() == 0.0;
    if whole && number.abs() < 9e18 { json!(number as i64) } else { json!(number) }
}

/// Pads or cuts a text to the length limits of the schema, in characters.
fn fitted(schema: &Value, text: &str) -> String {
    let min_chars = schema["minLength"].as_u64().unwrap_or(0).min(LONG_TEXT_CHARS as u64) as usize;
    let max_chars = schema["maxLength"].as_u64().map_or(usize::MAX, |max_chars| max_chars as usize);
    let padding = if text.is_empty() { "a" } else { text };
    let missing = min_chars.saturating_sub(text.chars().count());
    text.chars().chain(padding.chars().cycle().take(missing)).take(max_chars).collect()
}
