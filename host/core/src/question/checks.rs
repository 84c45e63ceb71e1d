//! Checks of forms and URLs before they are shown to the user.

use std::net::IpAddr;

use serde_json::{Map, Value};
use url::{Host, Url};

use super::{MAX_FORM_BYTES, MAX_FORM_FIELDS, MAX_URL_BYTES};
use crate::{InvalidValue, Schema, json, names};

/// Checks that a form is an object of primitive fields, as MCP requires.
pub(super) fn check_form(form: &Map<String, Value>) -> Result<(), InvalidValue> {
    let size = json::encoded_len(form);
    if size > MAX_FORM_BYTES {
        return Err(format!("its form is {size} bytes; the limit is {MAX_FORM_BYTES}").into());
    }
    if form.get("type").and_then(Value::as_str) != Some("object") {
        return Err("its form must be a schema of type object".into());
    }
    let Some(Value::Object(fields)) = form.get("properties") else {
        return Err("its form has no properties".into());
    };
    if fields.len() > MAX_FORM_FIELDS {
        return Err(format!("its form has {} fields; the limit is {MAX_FORM_FIELDS}", fields.len()).into());
    }
    for (name, field) in fields {
        let plain = match field.get("type").and_then(Value::as_str) {
            Some("string" | "number" | "integer" | "boolean") => true,
            // A multi-select.
            Some("array") => field.get("items").is_some_and(is_choice),
            _ => false,
        };
        let nested = ["properties", "additionalProperties", "$ref", "allOf", "not", "if", "pattern"];
        if !plain || nested.iter().any(|keyword| field.get(keyword).is_some()) {
            return Err(format!(
                "the field '{}' of its form must be a string, number, boolean or choice",
                names::quoted(name, 64)
            )
            .into());
        }
    }
    Schema::measure(form).map(|_| ()).map_err(|why| format!("its form {why}").into())
}

fn is_choice(items: &Value) -> bool {
    let listed = |key: &str| items.get(key).is_some_and(Value::is_array);
    listed("enum") || listed("anyOf") || listed("oneOf")
}

/// Checks that a URL can be shown in full and is encrypted, or local.
pub(super) fn check_url(url: &str) -> Result<(), InvalidValue> {
    if url.len() > MAX_URL_BYTES || !url.is_ascii() || url.contains(|c: char| c.is_control()) {
        return Err(format!(
            "its URL must be at most {MAX_URL_BYTES} bytes of ASCII without control characters"
        )
        .into());
    }
    let parsed = Url::parse(url).map_err(|error| format!("invalid URL: {error}"))?;
    let loopback = match parsed.host() {
        Some(Host::Ipv4(address)) => IpAddr::from(address).is_loopback(),
        Some(Host::Ipv6(address)) => IpAddr::from(address).is_loopback(),
        Some(Host::Domain(name)) => name == "localhost",
        None => false,
    };
    if !parsed.username().is_empty() || parsed.password().is_some() {
        return Err("its URL must not contain credentials".into());
    }
    match parsed.scheme() {
        "https" => Ok(()),
        "http" if loopback => Ok(()),
        _ => Err("its URL must use https".into()),
    }
}
