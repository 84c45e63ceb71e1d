//! Helpers for replies: tool names as the caller sees them, rounded numbers and short lines.

use gatehouse_sdk::context;

/// Builds a sentence with the exposed name of a tool of this gate. `None` if the caller does not have the tool.
pub(crate) fn hint(tool: &str, sentence: impl FnOnce(&str) -> String) -> Option<String> {
    context::exposed_name(tool).map(|name| sentence(&name))
}

pub(crate) fn two_places(number: f64) -> f64 {
    (number * 100.0).round() / 100.0
}

pub(crate) fn one_place(number: f64) -> f64 {
    (number * 10.0).round() / 10.0
}

/// Flattens text into one line of at most `max` characters.
pub(crate) fn line(text: &str, max: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= max {
        return line;
    }
    let cut: String = line.chars().take(max.saturating_sub(1)).collect();
    format!("{}…", cut.trim_end())
}
