//! Removes secrets from a server's results. Names and the keys of schemas are identifiers: a call needs them unchanged.

use std::sync::{Arc, Mutex};

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use gatehouse_core::{
    http::{Redactor, Secret},
    lock,
};
use serde_json::{Map, Value};

/// The secrets of a connection: those of the definition, and each token that was sent.
#[derive(Clone)]
pub(crate) struct ConnectionSecrets(Arc<Mutex<SecretState>>);

struct SecretState {
    redactor: Arc<Redactor>,
    tokens: Vec<Secret>,
}

impl ConnectionSecrets {
    pub(crate) fn new(redactor: Arc<Redactor>) -> Self {
        Self(Arc::new(Mutex::new(SecretState { redactor, tokens: Vec::new() })))
    }

    pub(crate) fn add(&self, token: &Secret) {
        let mut state = lock(&self.0);
        if !state.tokens.contains(token) {
            state.tokens.push(token.clone());
            state.redactor = Arc::new(state.redactor.with_secret(token));
        }
    }

    pub(crate) fn redact_text(&self, text: String) -> String {
        self.redactor().redact_text(text)
    }

    pub(super) fn redactor(&self) -> Arc<Redactor> {
        Arc::clone(&lock(&self.0).redactor)
    }
}

/// Keys of a JSON Schema whose values are text for readers, or examples of values.
const SCHEMA_TEXTS: [&str; 6] = ["title", "description", "default", "example", "examples", "$comment"];

/// Keys of a JSON Schema whose values map names to schemas.
const SCHEMA_MAPS: [&str; 5] =
    ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"];

/// Redacts the result of a request.
pub(super) fn redact_result(redactor: &Redactor, method: &str, result: &mut Value) {
    if redactor.is_empty() {
        return;
    }
    let items = match method {
        "tools/list" => "tools",
        "prompts/list" => "prompts",
        // Only the instructions are for readers.
        "initialize" | "server/discover" => {
            return result.get_mut("instructions").map_or((), |text| redact_all(redactor, text));
        }
        _ => return redact_all(redactor, result),
    };
    let Value::Object(page) = result else { return redact_all(redactor, result) };
    for (key, value) in page {
        match (key == items, &mut *value) {
            (true, Value::Array(items)) => items.iter_mut().for_each(|item| redact_item(redactor, item)),
            _ if key == "nextCursor" => {}
            _ => redact_all(redactor, value),
        }
    }
}

/// Redacts a tool or prompt of a list.
fn redact_item(redactor: &Redactor, item: &mut Value) {
    let Value::Object(item) = item else { return redact_all(redactor, item) };
    for (key, value) in item {
        match (key.as_str(), value) {
            ("name", _) => {}
            ("inputSchema" | "outputSchema", schema) => redact_schema(redactor, schema),
            ("arguments", Value::Array(arguments)) => {
                arguments.iter_mut().for_each(|argument| redact_item(redactor, argument));
            }
            (_, value) => redact_all(redactor, value),
        }
    }
}

fn redact_schema(redactor: &Redactor, schema: &mut Value) {
    match schema {
        Value::Array(schemas) => schemas.iter_mut().for_each(|schema| redact_schema(redactor, schema)),
        Value::Object(keywords) => {
            for (key, value) in keywords {
                match value {
                    value if SCHEMA_TEXTS.contains(&key.as_str()) => redact_all(redactor, value),
                    Value::Object(named) if SCHEMA_MAPS.contains(&key.as_str()) => {
                        named.values_mut().for_each(|schema| redact_schema(redactor, schema));
                    }
                    value => redact_schema(redactor, value),
                }
            }
        }
        _ => {}
    }
}

/// Redacts all texts of a value, and the keys of its objects.
pub(super) fn redact_all(redactor: &Redactor, value: &mut Value) {
    match value {
        Value::String(text) => *text = redactor.redact_text(std::mem::take(text)),
        Value::Array(values) => values.iter_mut().for_each(|value| redact_all(redactor, value)),
        Value::Object(members) => redact_members(redactor, members),
        _ => {}
    }
}

pub(super) fn redact_members(redactor: &Redactor, members: &mut Map<String, Value>) {
    if redactor.is_empty() {
        return;
    }
    let has_type = members.contains_key("mimeType");
    for (key, value) in members.iter_mut() {
        if let Value::String(encoded) = value
            && (key == "blob" || (key == "data" && has_type))
        {
            redact_base64(redactor, encoded);
        }
    }
    members.values_mut().for_each(|value| redact_all(redactor, value));
    let is_clean = |key: &String| redactor.redact_text(key.clone()) == *key;
    if !members.keys().all(is_clean) {
        let cleaned =
            std::mem::take(members).into_iter().map(|(key, value)| (redactor.redact_text(key), value));
        *members = cleaned.collect();
    }
}

/// Redacts binary content. Leaves text that is not valid base64 to others.
fn redact_base64(redactor: &Redactor, encoded: &mut String) {
    let Ok(bytes) = BASE64.decode(encoded.as_bytes()) else { return };
    if let Some(clean) = redactor.redact_binary(&bytes) {
        *encoded = BASE64.encode(clean);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn redacted(method: &str, mut result: Value) -> Value {
        redact_result(&Redactor::new([&Secret::new("s3cret-token")]), method, &mut result);
        result
    }

    #[test]
    fn names_of_tools_and_keys_of_schemas_are_kept() {
        let schema = |text: &str| {
            json!({"type": "object", "properties": {"s3cret-token": {
                "type": "string", "enum": ["s3cret-token"], "description": text, "default": text}}})
        };
        let tools = |text: &str| {
            json!({"nextCursor": "s3cret-token", "tools": [{"name": "s3cret-token", "title": text,
                "inputSchema": schema(text), "_meta": {"a": text}}]})
        };
        assert_eq!(redacted("tools/list", tools("is s3cret-token")), tools("is [redacted]"));
        let prompts = |text: &str| {
            json!({"prompts": [{"name": "s3cret-token", "description": text,
                "arguments": [{"name": "s3cret-token", "description": text}]}]})
        };
        assert_eq!(redacted("prompts/list", prompts("s3cret-token")), prompts("[redacted]"));
    }

    #[test]
    fn other_results_are_redacted_in_texts_and_keys() {
        let result = json!({"content": [{"type": "text", "text": "a s3cret-token"}],
            "structuredContent": {"s3cret-token": 1, "b": ["s3cret-token"]}});
        let expected = json!({"content": [{"type": "text", "text": "a [redacted]"}],
            "structuredContent": {"[redacted]": 1, "b": ["[redacted]"]}});
        assert_eq!(redacted("tools/call", result), expected);
    }

    #[test]
    fn binary_content_is_redacted_too() {
        let result = |text: &str| {
            let data = BASE64.encode(text);
            json!({"content": [{"type": "image", "mimeType": "image/svg+xml", "data": data},
                {"type": "resource", "resource": {"uri": "a:b", "blob": data}}], "structuredContent": {"data": data}})
        };
        let mut expected = result("<svg>[redacted]</svg>");
        expected["structuredContent"] = result("<svg>s3cret-token</svg>")["structuredContent"].clone();
        assert_eq!(redacted("tools/call", result("<svg>s3cret-token</svg>")), expected);
        assert_eq!(redacted("tools/call", result("plain")), result("plain"));
    }

    #[test]
    fn tokens_are_added_once() {
        let secrets = ConnectionSecrets::new(Arc::default());
        let token = Secret::new("t0ken-of-a-login");
        (0..3).for_each(|_| secrets.add(&token));
        assert_eq!(lock(&secrets.0).tokens.len(), 1);
        assert_eq!(secrets.redact_text("t0ken-of-a-login".into()), "[redacted]");
    }
}
