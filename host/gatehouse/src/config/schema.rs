//! The JSON Schema of presets.toml, generated from the types that read it.

use serde_json::Value;

use super::raw::Raw;

/// Draft 2020-12.
pub(crate) fn schema() -> Value {
    schemars::schema_for!(Raw).to_value()
}
