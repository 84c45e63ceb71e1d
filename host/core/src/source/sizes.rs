//! How large the texts and schemas of a source may be, each by itself and all together.

use serde_json::{Map, Value};

use super::MAX_TEXT_BYTES;
use crate::{
    hidden_chars,
    schema::{Schema, SchemaSize},
};

pub(super) fn check_short_text(what: &str, text: &str) -> Result<(), String> {
    if text.len() > MAX_TEXT_BYTES {
        Err(format!("{what} is longer than {MAX_TEXT_BYTES} bytes"))
    } else {
        Ok(())
    }
}

/// The most schemas that all schemas of a source may be made of.
const MAX_SCHEMAS: usize = 200_000;

/// The most bytes that the compiled patterns of all schemas of a source may take.
const MAX_PATTERN_BYTES: usize = 16 << 20;

/// Adds the size of one more schema to what all take together; each is bounded by itself.
pub(super) fn add_size(all: &mut SchemaSize, one: SchemaSize) -> Result<(), String> {
    all.schemas += one.schemas;
    all.pattern_bytes += one.pattern_bytes;
    if all.schemas > MAX_SCHEMAS {
        return Err(format!("has schemas made of more than {MAX_SCHEMAS} schemas in all"));
    }
    if all.pattern_bytes > MAX_PATTERN_BYTES {
        return Err(format!("has patterns that compile to more than {MAX_PATTERN_BYTES} bytes in all"));
    }
    Ok(())
}

pub(super) fn check_schema(what: &str, found: &Map<String, Value>) -> Result<SchemaSize, String> {
    check_short_text(what, &serde_json::to_string(found).unwrap_or_default())?;
    if let Some(place) = hidden_chars::find_in_schema(found) {
        return Err(format!(
            "{what} hides characters in '{}'",
            place.escape_unicode().take(200).collect::<String>()
        ));
    }
    Schema::measure(found).map_err(|why| format!("{what} {why}"))
}
