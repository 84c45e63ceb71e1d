//! What replies have in common: names of this gate's tools as the caller has them, numbers and lines that are short.

use gatehouse_sdk::{Fault, context};
use serde::Serialize;

/// A sentence about a tool of this gate under the name that the caller has for it; nothing where he has it not.
pub(crate) fn hint(tool: &str, sentence: impl FnOnce(&str) -> String) -> Option<String> {
    context::exposed_name(tool).map(|name| sentence(&name))
}

/// A share or a score to two places.
pub(crate) fn two_places(number: f64) -> f64 {
    (number * 100.0).round() / 100.0
}

/// Milliseconds to one place.
pub(crate) fn one_place(number: f64) -> f64 {
    (number * 10.0).round() / 10.0
}

/// Data as JSON text.
pub(crate) fn json(data: &impl Serialize) -> Result<String, Fault> {
    serde_json::to_string(data)
        .map_err(|e| Fault::internal(format!("the reply cannot be written as JSON: {e}")))
}

/// What others wrote, in one line of at most so many characters.
pub(crate) fn line(text: &str, most: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= most {
        return line;
    }
    let cut: String = line.chars().take(most.saturating_sub(1)).collect();
    format!("{}…", cut.trim_end())
}
