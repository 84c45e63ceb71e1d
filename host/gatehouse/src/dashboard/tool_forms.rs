//! Forms on the page of a tool: one calls it, with a field for each argument, and one changes what clients see of it.

use gatehouse_core::{ToolSpec, names::quoted};
use serde_json::Value;

use super::view::{Content, Field, FieldKind, Form, Section};
use crate::plain_error::PlainError;

/// Prefix of the fields of arguments.
pub(super) const ARGUMENT_PREFIX: &str = "argument.";

/// Maximum characters of the description of an argument.
const MAX_HELP: usize = 120;

/// Returns the form that calls a tool, with a field for each argument.
pub(super) fn try_section(source: &str, tool: &str, spec: &ToolSpec, presets: &[String]) -> Section {
    let mut form = tool_form("/tools/try", source, tool, presets, "Call it");
    let properties = spec.input_schema.get("properties").and_then(Value::as_object);
    let required = |name: &str| {
        let names = spec.input_schema.get("required").and_then(Value::as_array);
        names.is_some_and(|names| names.iter().any(|other| other == name))
    };
    for (name, schema) in properties.into_iter().flatten() {
        let mark = if required(name) { ", required" } else { "" };
        let help = schema["description"]
            .as_str()
            .map_or_else(String::new, |text| format!(": {}", quoted(text, MAX_HELP)));
        let kind = match (schema["type"].as_str(), schema["enum"].as_array()) {
            (_, Some(words)) if words.iter().all(Value::is_string) => {
                let words = words.iter().filter_map(Value::as_str).map(str::to_owned);
                FieldKind::Choice([String::new()].into_iter().chain(words).collect())
            }
            (Some("boolean"), _) => FieldKind::Switch,
            (Some("string" | "number" | "integer"), _) => FieldKind::Text,
            _ => FieldKind::Lines,
        };
        let label = format!("{}{mark}{help}", quoted(name, MAX_HELP));
        form.fields.push(Field { kind, ..Field::text(&format!("{ARGUMENT_PREFIX}{name}"), &label, "") });
    }
    Section::new("Try it", Content::Form(form)).about(
        "The call passes the rules of the preset, as `gatehouse call` does. A tool that changes something does so.",
    )
}

pub(super) fn describe_section(source: &str, tool: &str, presets: &[String]) -> Section {
    let mut form = tool_form("/tools/describe", source, tool, presets, "Save in presets.toml");
    form.fields.push(Field::text("name", "Name", ""));
    form.fields.push(Field { kind: FieldKind::Lines, ..Field::text("description", "Description", "") });
    let about = "Clients of the preset see this instead. An empty field changes nothing, and - shows again what the gate or server says.";
    Section::new("Another name or description", Content::Form(form)).about(about)
}

fn tool_form(action: &str, source: &str, tool: &str, presets: &[String], button: &str) -> Form {
    let mut form = Form::post(action, &[("source", source), ("tool", tool)], &[("", "", button)]);
    form.fields
        .push(Field { kind: FieldKind::Choice(presets.to_vec()), ..Field::text("preset", "Preset", "") });
    form
}

/// Returns the argument that a field of the form contains. `None` if it is left out.
pub(super) fn argument_of(
    name: &str,
    schema: &Value,
    is_required: bool,
    text: &str,
) -> Result<Option<Value>, PlainError> {
    let invalid =
        |reason: &dyn std::fmt::Display| PlainError::from(format!("argument '{name}' is not JSON: {reason}"));
    Ok(match schema["type"].as_str() {
        Some("boolean") => (text == "1" || is_required).then_some(Value::Bool(text == "1")),
        _ if text.is_empty() => None,
        Some("string") => Some(text.into()),
        _ if schema["enum"].as_array().is_some_and(|values| values.iter().all(Value::is_string)) => {
            Some(text.into())
        }
        _ => Some(serde_json::from_str(text).map_err(|error| invalid(&error))?),
    })
}
