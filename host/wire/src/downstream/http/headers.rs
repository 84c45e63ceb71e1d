//! Headers that repeat parts of a request, so that proxies can route it (MCP 2026-07-28, SEP-2243): the method, the name
//! of what it is for, and arguments that the schema of a tool marks with `x-mcp-header`.

use std::collections::HashSet;

use base64::Engine as _;
use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Map, Value};

use crate::{
    downstream::peer::{DISCOVERY_VERSION, RequestMessage},
    serve::BASE64,
};

/// Keyword of a schema that names the header of an argument.
const KEYWORD: &str = "x-mcp-header";

/// Adds `Mcp-Method` and `Mcp-Name` if the version has them.
pub(super) fn add_standard(headers: &mut HeaderMap, version: Option<&str>, message: &RequestMessage<'_>) {
    if version.is_none_or(|version| version < DISCOVERY_VERSION) {
        return;
    }
    headers.insert("mcp-method", HeaderValue::from_static(message.method));
    let key = match message.method {
        "tools/call" | "prompts/get" => "name",
        "resources/read" => "uri",
        "tasks/get" | "tasks/update" | "tasks/cancel" => "taskId",
        _ => return,
    };
    if let Some(name) = message.params.get(key).and_then(Value::as_str).and_then(encoded) {
        headers.insert("mcp-name", name);
    }
}

/// Returns a value as it is, or in base64 if a header cannot contain it or would lose a part.
fn encoded(value: &str) -> Option<HeaderValue> {
    let is_plain = value.bytes().all(|byte| (0x20..=0x7e).contains(&byte))
        && value.trim_matches([' ', '\t']) == value
        && !(value.starts_with("=?base64?") && value.ends_with("?="));
    let value = if is_plain { value.to_owned() } else { format!("=?base64?{}?=", BASE64.encode(value)) };
    HeaderValue::from_str(&value).ok()
}

/// Arguments of a tool that are repeated as headers: their path from the root, and the header.
pub(in crate::downstream) type ToolHeaders = Vec<(Vec<String>, HeaderName)>;

/// Returns the headers that a schema asks for.
///
/// # Errors
/// The reason, as a clause, if they are not as the protocol has them. Clients must not call such a tool.
pub(in crate::downstream) fn tool_headers(schema: &Map<String, Value>) -> Result<ToolHeaders, String> {
    let (mut headers, mut names) = (Vec::new(), HashSet::new());
    if schema.contains_key(KEYWORD) {
        return Err(format!("`{KEYWORD}` is for an argument, not for the schema itself"));
    }
    let mut stack = vec![(Vec::new(), schema)];
    while let Some((path, schema)) = stack.pop() {
        for (keyword, value) in schema {
            match (keyword.as_str(), value) {
                ("properties", Value::Object(properties)) => {
                    for (name, property) in properties.iter().rev() {
                        let Value::Object(property) = property else { continue };
                        let mut path = path.clone();
                        path.push(name.clone());
                        if let Some(header) = property.get(KEYWORD) {
                            let header = argument_header(name, header, property)?;
                            if !names.insert(header.clone()) {
                                return Err(format!("two arguments have the header `{header}`"));
                            }
                            headers.push((path.clone(), header));
                        }
                        stack.push((path, property));
                    }
                }
                ("default" | "const" | "enum" | "examples" | "dependentRequired", _) => {}
                (_, value) if keyword != KEYWORD && has_keyword(value) => {
                    return Err(format!("`{KEYWORD}` in `{keyword}` is not for an argument"));
                }
                _ => {}
            }
        }
    }
    Ok(headers)
}

fn argument_header(name: &str, header: &Value, schema: &Map<String, Value>) -> Result<HeaderName, String> {
    let header = header.as_str().filter(|header| !header.is_empty());
    let header = header.and_then(|header| format!("mcp-param-{header}").parse().ok());
    let header =
        header.ok_or_else(|| format!("the `{KEYWORD}` of argument '{name}' is not a header name"))?;
    match schema.get("type").and_then(Value::as_str) {
        Some("string" | "integer" | "boolean") => Ok(header),
        _ => Err(format!("argument '{name}' has a header, but is not a string, integer or boolean")),
    }
}

fn has_keyword(value: &Value) -> bool {
    match value {
        Value::Object(members) => {
            members.get(KEYWORD).is_some_and(|header| !header.is_object())
                || members.values().any(has_keyword)
        }
        Value::Array(values) => values.iter().any(has_keyword),
        _ => false,
    }
}

/// Returns the headers of a call.
pub(in crate::downstream) fn argument_headers(
    headers: &ToolHeaders,
    arguments: &Map<String, Value>,
) -> HeaderMap {
    let value = |path: &[String]| {
        let (first, rest) = path.split_first()?;
        rest.iter().try_fold(arguments.get(first)?, |value, name| value.get(name))
    };
    let named = headers.iter().filter_map(|(path, header)| {
        let text = match value(path)? {
            Value::String(text) => text.clone(),
            value @ (Value::Bool(_) | Value::Number(_)) => value.to_string(),
            _ => return None,
        };
        Some((header.clone(), encoded(&text)?))
    });
    named.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn headers(properties: Value, arguments: Value) -> Result<Vec<(String, String)>, String> {
        let schema = json!({"type": "object", "properties": properties});
        let headers = tool_headers(schema.as_object().expect("an object"))?;
        let sent = argument_headers(&headers, arguments.as_object().expect("an object"));
        let text = |(name, value): (&HeaderName, &HeaderValue)| {
            (name.to_string(), value.to_str().expect("text").to_owned())
        };
        Ok(sent.iter().map(text).collect())
    }

    #[test]
    fn marked_arguments_are_repeated() {
        let properties = json!({
            "region": {"type": "string", "x-mcp-header": "Region"},
            "count": {"type": "integer", "x-mcp-header": "count"},
            "where": {"type": "object", "properties": {"zone": {"type": "string", "x-mcp-header": "Zone"}}},
            "other": {"type": "string"}, "absent": {"type": "boolean", "x-mcp-header": "absent"}});
        let sent =
            headers(properties, json!({"region": "a b", "count": 7, "where": {"zone": "süd"}, "other": "x"}));
        let mut sent = sent.expect("headers");
        sent.sort();
        let expected = [
            ("mcp-param-count", "7"),
            ("mcp-param-region", "a b"),
            ("mcp-param-zone", "=?base64?c8O8ZA==?="),
        ];
        assert_eq!(sent, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }

    #[test]
    fn values_that_headers_would_change_are_encoded() {
        for (value, plain) in
            [("a", true), (" a", false), ("a\tb", false), ("=?base64?x?=", false), ("", true)]
        {
            assert_eq!(encoded(value).expect("a value") == value, plain, "{value:?}");
        }
    }

    #[test]
    fn invalid_marks_are_reported() {
        let string = |header: Value| json!({"a": {"type": "string", "x-mcp-header": header}});
        for properties in [
            string(json!("")),
            string(json!(5)),
            string(json!("not a name")),
            json!({"a": {"type": "number", "x-mcp-header": "A"}}),
            json!({"a": {"type": "array", "items": {"type": "string", "x-mcp-header": "A"}}}),
            json!({"a": {"type": "string", "x-mcp-header": "A"}, "b": {"type": "string", "x-mcp-header": "a"}}),
        ] {
            assert!(headers(properties.clone(), json!({})).is_err(), "{properties}");
        }
        let root = json!({"type": "object", "x-mcp-header": "A"});
        assert!(tool_headers(root.as_object().expect("an object")).is_err());
        // A property may have that name.
        assert!(headers(json!({"x-mcp-header": {"type": "string"}}), json!({})).is_ok());
    }
}
