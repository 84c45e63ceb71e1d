//! Tools whose text an agent needs exactly: they return the content of a file.

use gatehouse_sdk::{Effect, Origin};
use serde_json::{Map, Value};

/// Names of the one required argument of such a tool.
const PATH_ARGUMENTS: [&str; 5] = ["path", "file", "file_path", "filepath", "uri"];

/// Words in the names of tools that list files, search them or describe them.
const OTHER_TOOLS: [&str; 8] = ["list", "tree", "dir", "search", "find", "info", "stat", "outline"];

/// Whether a tool returns the content of the file that its one required argument names. `arguments` is a JSON object.
pub(super) fn reads_file(origin: &Origin, arguments: &str) -> bool {
    let tool = &origin.tool;
    let schema: Value = serde_json::from_str(&tool.input_schema).unwrap_or_default();
    let Some([Value::String(name)]) = schema["required"].as_array().map(Vec::as_slice) else { return false };
    let arguments: Map<String, Value> = serde_json::from_str(arguments).unwrap_or_default();
    let value = arguments.get(name).and_then(Value::as_str).unwrap_or_default();
    let is_path = value.starts_with("file:") || name != "uri" && !value.contains("://");
    let mut words = tool.name.split(|c: char| !c.is_alphanumeric());
    tool.effect == Effect::ReadOnly
        && PATH_ARGUMENTS.contains(&name.to_lowercase().as_str())
        && is_path
        && !words.any(|word| OTHER_TOOLS.iter().any(|other| word.to_lowercase().starts_with(other)))
}
