//! Size limits of a source's texts and schemas.

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

/// Maximum number of schemas, subschemas included, in all schemas of a source.
const MAX_SCHEMAS: usize = 200_000;

/// Maximum bytes of compiled patterns in all schemas of a source.
const MAX_PATTERN_BYTES: usize = 16 << 20;

/// Adds the size of a schema to a source's total. Fails if the total exceeds the limits.
pub(super) fn add_size(all: &mut SchemaSize, one: SchemaSize) -> Result<(), String> {
    all.schemas += one.schemas;
    all.pattern_bytes += one.pattern_bytes;
    if all.schemas > MAX_SCHEMAS {
        return Err(format!("has more than {MAX_SCHEMAS} schemas in total, subschemas included"));
    }
    if all.pattern_bytes > MAX_PATTERN_BYTES {
        return Err(format!("has patterns that compile to more than {MAX_PATTERN_BYTES} bytes in total"));
    }
    Ok(())
}

pub(super) fn check_schema(what: &str, found: &Map<String, Value>) -> Result<SchemaSize, String> {
    check_short_text(what, &serde_json::to_string(found).unwrap_or_default())?;
    if let Some(place) = hidden_chars::find_in_schema(found) {
        return Err(format!(
            "{what} has hidden characters in '{}'",
            place.escape_unicode().take(200).collect::<String>()
        ));
    }
    Schema::measure(found).map_err(|why| format!("{what} {why}"))
}
