//! What a person may be shown: forms that clients can show, and addresses that can be shown whole.

use std::net::IpAddr;

use serde_json::{Map, Value};
use url::{Host, Url};

use super::{MAX_FORM_BYTES, MAX_FORM_FIELDS, MAX_URL_BYTES};
use crate::{json as bounds, names, schema::Schema};

/// Checks that a form is an object of plain fields, as the protocol wants it: what clients can show.
pub(super) fn check_form(form: &Map<String, Value>) -> Result<(), String> {
    let size = bounds::encoded_len(form);
    if size > MAX_FORM_BYTES {
        return Err(format!("its form has {size} bytes, the most is {MAX_FORM_BYTES}"));
    }
    if form.get("type").and_then(Value::as_str) != Some("object") {
        return Err("its form is no schema of type object".into());
    }
    let Some(Value::Object(fields)) = form.get("properties") else {
        return Err("its form has no properties".into());
    };
    if fields.len() > MAX_FORM_FIELDS {
        return Err(format!("its form has {} fields, the most is {MAX_FORM_FIELDS}", fields.len()));
    }
    for (name, field) in fields {
        let plain = match field.get("type").and_then(Value::as_str) {
            Some("string" | "number" | "integer" | "boolean") => true,
            // Several of a list.
            Some("array") => field.get("items").is_some_and(is_choice),
            _ => false,
        };
        let nested = ["properties", "additionalProperties", "$ref", "allOf", "not", "if", "pattern"];
        if !plain || nested.iter().any(|keyword| field.get(keyword).is_some()) {
            return Err(format!(
                "the field '{}' of its form is no text, number, yes or no, or choice",
                names::quoted(name, 64)
            ));
        }
    }
    Schema::measure(form).map(|_| ()).map_err(|why| format!("its form {why}"))
}

/// Whether a schema lists what there is to choose from.
fn is_choice(items: &Value) -> bool {
    let listed = |key: &str| items.get(key).is_some_and(Value::is_array);
    listed("enum") || listed("anyOf") || listed("oneOf")
}

/// Checks that an address can be shown whole and opened without being listened to on the way.
pub(super) fn check_url(url: &str) -> Result<(), String> {
    if url.len() > MAX_URL_BYTES || !url.is_ascii() || url.contains(|c: char| c.is_control()) {
        return Err(format!(
            "its address has to be at most {MAX_URL_BYTES} bytes of ASCII without control characters"
        ));
    }
    let parsed = Url::parse(url).map_err(|error| format!("its address is none: {error}"))?;
    let loopback = match parsed.host() {
        Some(Host::Ipv4(address)) => IpAddr::from(address).is_loopback(),
        Some(Host::Ipv6(address)) => IpAddr::from(address).is_loopback(),
        Some(Host::Domain(name)) => name == "localhost",
        None => false,
    };
    if !parsed.username().is_empty() || parsed.password().is_some() {
        return Err("its address has a user in it".into());
    }
    match parsed.scheme() {
        "https" => Ok(()),
        "http" if loopback => Ok(()),
        _ => Err("its address is not of https".into()),
    }
}
