//! Renders JSON Schemas as TypeScript.

use gatehouse_sdk::catalog::{self, Entry};
use serde_json::{Map, Value};

const MAX_DEPTH: usize = 5;

const MAX_TYPE_CHARS: usize = 600;
const MAX_DESCRIPTION_CHARS: usize = 300;

/// Renders a declaration on one line, as in `search(args: { query: string; top_k?: number }): Promise<string>`.
pub(crate) fn signature(entry: &Entry, schema: &Value) -> String {
    let arguments = render_type(schema, schema, 0);
    let optional = match schema.get("required").and_then(Value::as_array) {
        Some(required) if !required.is_empty() => "",
        _ => "?",
    };
    format!("{}(args{optional}: {arguments}): Promise<{}>;", name(&entry.tool), replies(entry))
}

/// Renders the declaration with the descriptions of its arguments, and if `about` is set, of the tool.
pub(crate) fn full(entry: &Entry, schema: &Value, about: bool) -> String {
    let mut text = String::new();
    if about {
        text += &format!("/** {} */\n", comment(&entry.description, 4 * MAX_DESCRIPTION_CHARS));
    }
    text += &signature(entry, schema);
    let properties = schema.get("properties").and_then(Value::as_object);
    for (argument, property) in properties.into_iter().flatten() {
        let description = property.get("description").and_then(Value::as_str).unwrap_or_default();
        let default = property.get("default").map(|value| format!(" (default {value})")).unwrap_or_default();
        if !description.is_empty() || !default.is_empty() {
            text += &format!("\n  // {argument}: {}{default}", comment(description, MAX_DESCRIPTION_CHARS));
        }
    }
    text
}

/// Returns the names in a `required` keyword.
pub(crate) fn names(required: Option<&Value>) -> impl Iterator<Item = &str> {
    required.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

fn replies(entry: &Entry) -> String {
    if !entry.structured {
        return "string".into();
    }
    match catalog::output_schema(&entry.name) {
        Ok(Some(json)) => {
            let schema = super::engine::parse_json(&json);
            // Scripts get the value without the wrapper of the server's library.
            let is_wrapped = schema["x-fastmcp-wrap-result"] == true;
            let value = schema.pointer("/properties/result").filter(|_| is_wrapped);
            render_type(value.unwrap_or(&schema), &schema, 0)
        }
        _ => "any".into(),
    }
}

/// Formats untrusted text as a one-line comment.
fn comment(text: &str, max: usize) -> String {
    let words = text.replace("*/", "* /");
    let line = words.split_whitespace().collect::<Vec<_>>().join(" ");
    line[..line.floor_char_boundary(max)].to_owned()
}

fn name(name: &str) -> String {
    let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '$')
        && !name.starts_with(|c: char| c.is_ascii_digit());
    if plain { name.to_owned() } else { Value::from(name).to_string() }
}

fn render_type(schema: &Value, root: &Value, depth: usize) -> String {
    let text = render_schema(schema, root, depth);
    if text.len() > MAX_TYPE_CHARS && depth > 0 { "object".into() } else { text }
}

fn render_schema(schema: &Value, root: &Value, depth: usize) -> String {
    if depth > MAX_DEPTH {
        return "any".into();
    }
    if let Some(pointer) = schema.get("$ref").and_then(Value::as_str) {
        let target = pointer.strip_prefix('#').and_then(|pointer| root.pointer(pointer));
        return target.map_or_else(|| "any".into(), |target| render_type(target, root, depth + 1));
    }
    if let Some(value) = schema.get("const") {
        return value.to_string();
    }
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        return values.iter().map(Value::to_string).collect::<Vec<_>>().join(" | ");
    }
    for key in ["anyOf", "oneOf"] {
        if let Some(kinds) = schema.get(key).and_then(Value::as_array) {
            let mut kinds: Vec<String> =
                kinds.iter().map(|kind| render_type(kind, root, depth + 1)).collect();
            kinds.dedup();
            return kinds.join(" | ");
        }
    }
    match schema.get("type") {
        Some(Value::String(kind)) => render_kind(kind, schema, root, depth),
        Some(Value::Array(kinds)) => {
            let kinds = kinds.iter().filter_map(Value::as_str);
            kinds.map(|kind| render_kind(kind, schema, root, depth)).collect::<Vec<_>>().join(" | ")
        }
        _ if schema.get("properties").is_some() => render_kind("object", schema, root, depth),
        _ => "any".into(),
    }
}

fn render_kind(kind: &str, schema: &Value, root: &Value, depth: usize) -> String {
    match kind {
        "integer" | "number" => "number".into(),
        "string" => "string".into(),
        "boolean" => "boolean".into(),
        "null" => "null".into(),
        "array" => {
            let item =
                schema.get("items").map_or_else(|| "any".into(), |item| render_type(item, root, depth + 1));
            if item.contains(['|', ' ']) { format!("Array<{item}>") } else { format!("{item}[]") }
        }
        "object" => {
            let empty = Map::new();
            let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&empty);
            let required: Vec<&str> = names(schema.get("required")).collect();
            if properties.is_empty() {
                return match schema.get("additionalProperties").filter(|more| more.is_object()) {
                    Some(more) => format!("Record<string, {}>", render_type(more, root, depth + 1)),
                    None if schema.get("additionalProperties") == Some(&Value::Bool(false)) => "{}".into(),
                    None => "object".into(),
                };
            }
            let member = |(key, value): (&String, &Value)| {
                let optional = if required.contains(&key.as_str()) { "" } else { "?" };
                format!("{}{optional}: {}", name(key), render_type(value, root, depth + 1))
            };
            format!("{{ {} }}", properties.iter().map(member).collect::<Vec<_>>().join("; "))
        }
        _ => "any".into(),
    }
}
