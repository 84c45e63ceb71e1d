//! SQL functions for migrations, which convert stored rows to the form of new ones. They must be pure, and their
//! results must not change once a step that uses them is released.

use gatehouse_core::{
    definition::ReviewedDefinition,
    search::{name::name_key, script, variants},
};
use rusqlite::{Connection, functions::FunctionFlags};

use super::error::StoreError;

pub(super) fn register(connection: &Connection) -> Result<(), StoreError> {
    for (name, function) in [
        ("name_key", name_key as fn(&str) -> String),
        ("grams", script::grams),
        ("separated", separated),
        ("with_variants", with_variants),
        ("tool_definition", tool_definition),
        ("tool_digest", tool_digest),
    ] {
        let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
        connection.create_scalar_function(name, 1, flags, move |call| {
            let text =
                call.get_raw(0).as_str().map_err(|error| rusqlite::Error::UserFunctionError(error.into()))?;
            Ok(function(text))
        })?;
    }
    Ok(())
}

/// Returns the text for the word index.
pub(super) fn separated(text: &str) -> String {
    script::separate_scripts(text).into_owned()
}

/// Returns the text for the word index, plus the parts of names and identifiers in it.
pub(super) fn with_variants(text: &str) -> String {
    format!("{} {}", script::separate_scripts(text), variants(text))
}

/// Returns the definition of a stored tool. Empty if the tool is unreadable, which then counts as changed.
fn tool_definition(spec: &str) -> String {
    serde_json::from_str(spec)
        .map_or_else(|_| String::new(), |tool| ReviewedDefinition::from_tool(&tool).text)
}

fn tool_digest(spec: &str) -> String {
    serde_json::from_str(spec)
        .map_or_else(|_| String::new(), |tool| ReviewedDefinition::from_tool(&tool).digest)
}
