//! Script errors: the message, and its position in the TypeScript.

use serde::Deserialize;

use crate::typescript::{CompileError, CompiledScript};

/// File name in stack traces.
pub(super) const FILE: &str = "script.ts";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ScriptError {
    pub(crate) message: String,
    /// Lines and columns from 1, innermost first.
    pub(crate) positions: Vec<(usize, usize)>,
    pub(crate) suggestion: Option<String>,
}

impl ScriptError {
    pub(crate) fn from_message(message: impl Into<String>) -> Self {
        Self { message: message.into(), positions: Vec::new(), suggestion: None }
    }

    pub(crate) fn render(&self, source: &str) -> String {
        let mut text = self.message.clone();
        for (at, (line, column)) in self.positions.iter().enumerate() {
            text += &format!("\n  at line {line}, column {column}");
            if let Some(code) = source.lines().nth(line - 1).filter(|_| at == 0) {
                let code = code.trim();
                text += &format!(": {}", &code[..code.floor_char_boundary(160)]);
            }
        }
        if let Some(suggestion) = &self.suggestion {
            text += &format!("\n{suggestion}");
        }
        text
    }
}

impl From<CompileError> for ScriptError {
    fn from(error: CompileError) -> Self {
        Self { message: error.message, positions: error.position.into_iter().collect(), suggestion: None }
    }
}

#[derive(Default, Deserialize)]
struct ErrorDescription {
    name: Option<String>,
    message: Option<String>,
    stack: Option<String>,
    suggestion: Option<String>,
}

const MAX_POSITIONS: usize = 5;

const MAX_MESSAGE_BYTES: usize = 2_000;

pub(super) fn from_description(json: &str, script: &CompiledScript, source: &str) -> ScriptError {
    let description: ErrorDescription = serde_json::from_str(json).unwrap_or_default();
    let message = description.message.unwrap_or_default();
    let message = &message[..message.floor_char_boundary(MAX_MESSAGE_BYTES)];
    let message = match description.name.filter(|name| name != "Error" && name != "ToolError") {
        Some(name) => format!("{name}: {message}"),
        None => message.to_owned(),
    };
    let message = match message.as_str() {
        // Without memory, the engine cannot create an error object and throws null.
        "InternalError: out of memory" | "thrown: null" => {
            "the script ran out of memory; hold less data in memory".to_owned()
        }
        "RangeError: Maximum call stack size exceeded" => {
            "RangeError: Maximum call stack size exceeded; use a loop instead of deep recursion.".to_owned()
        }
        _ => message,
    };
    let stack = description.stack.unwrap_or_default();
    let positions = stack.lines().filter_map(position).take(MAX_POSITIONS);
    let lines = source.lines().count();
    let positions = positions.map(|(line, column)| script.position(source, line, column));
    // Lines after the source belong to the wrapper.
    let positions = positions.filter(|(line, _)| *line <= lines).collect();
    let is_mixed = message.starts_with("TypeError: cannot convert BigInt to number");
    let suggestion = description.suggestion.or_else(|| is_mixed.then(|| BIG_INT_HINT.to_owned()));
    ScriptError { message, positions, suggestion }
}

const BIG_INT_HINT: &str =
    "Integers beyond 2^53 are BigInts: calculate with 1n instead of 1, or with Number(value), which rounds.";

/// Parses line and column of `    at name (script.ts:3:5)`.
fn position(line: &str) -> Option<(usize, usize)> {
    let (_, position) = line.rsplit_once(FILE)?;
    let mut numbers = position.trim_start_matches(':').split(|c: char| !c.is_ascii_digit());
    let line = numbers.next()?.parse().ok()?;
    let column = numbers.next().and_then(|column| column.parse().ok()).unwrap_or(1);
    Some((line, column))
}
