//! Checks of forms and URLs before they are shown to the user.

use std::net::IpAddr;

use serde_json::{Map, Value};
use url::{Host, Url};

use super::{MAX_FORM_BYTES, MAX_FORM_FIELDS, MAX_URL_BYTES};
use crate::{InvalidValue, Schema, invalid::ensure, json, names};

/// Checks that a form is an object of primitive fields, as MCP requires.
pub(super) fn check_form(form: &Map<String, Value>) -> Result<(), InvalidValue> {
    let size = json::encoded_len(form);
    ensure!(size <= MAX_FORM_BYTES, "its form is {size} bytes; the limit is {MAX_FORM_BYTES}");
    let is_object = form.get("type").is_some_and(|kind| kind == "object");
    ensure!(is_object, "its form must be a schema of type object");
    let Some(Value::Object(fields)) = form.get("properties") else {
        return Err("its form has no properties".into());
    };
    let count = fields.len();
    ensure!(count <= MAX_FORM_FIELDS, "its form has {count} fields; the limit is {MAX_FORM_FIELDS}");
    for (name, field) in fields {
        let plain = match field.get("type").and_then(Value::as_str) {
            Some("string" | "number" | "integer" | "boolean") => true,
            // A multi-select.
            Some("array") => field.get("items").is_some_and(is_choice),
            _ => false,
        };
        let nested = ["properties", "additionalProperties", "$ref", "allOf", "not", "if", "pattern"];
        let fits = plain && nested.iter().all(|keyword| field.get(keyword).is_none());
        let name = names::quoted(name, 64);
        ensure!(fits, "the field '{name}' of its form must be a string, number, boolean or choice");
    }
    Schema::measure(form).map(|_| ()).map_err(|reason| format!("its form {reason}").into())
}

fn is_choice(items: &Value) -> bool {
    let listed = |key: &str| items.get(key).is_some_and(Value::is_array);
    listed("enum") || listed("anyOf") || listed("oneOf")
}

/// Checks that a URL can be shown in full and is encrypted, or local.
pub(super) fn check_url(url: &str) -> Result<(), InvalidValue> {
    let is_plain = url.is_ascii() && !url.contains(|c: char| c.is_control());
    ensure!(
        url.len() <= MAX_URL_BYTES && is_plain,
        "its URL must be at most {MAX_URL_BYTES} bytes of ASCII without control characters"
    );
    let parsed = Url::parse(url).map_err(|error| format!("invalid URL: {error}"))?;
    let loopback = match parsed.host() {
        Some(Host::Ipv4(address)) => IpAddr::from(address).is_loopback(),
        Some(Host::Ipv6(address)) => IpAddr::from(address).is_loopback(),
        Some(Host::Domain(name)) => name == "localhost",
        None => false,
    };
    let is_public = parsed.username().is_empty() && parsed.password().is_none();
    ensure!(is_public, "its URL must not contain credentials");
    match parsed.scheme() {
        "https" => Ok(()),
        "http" if loopback => Ok(()),
        _ => Err("its URL must use https".into()),
    }
}
