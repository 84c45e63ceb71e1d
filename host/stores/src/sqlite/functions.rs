//! Functions of ours that SQL may call. Migrations use them, so that a stored page is brought into the form that a
//! new one gets; they are pure, and what they give must not change under a released step.

use gatehouse_core::{
    definition::Definition,
    search::{name::name_key, script, variants},
};
use rusqlite::{Connection, functions::FunctionFlags};

use super::error::StoreError;

/// Makes them known to a connection.
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

/// The text for the word index.
pub(super) fn separated(text: &str) -> String {
    script::separate_scripts(text).into_owned()
}

/// The same with the parts of names and identifiers in it.
pub(super) fn with_variants(text: &str) -> String {
    format!("{} {}", script::separate_scripts(text), variants(text))
}

/// The definition of a stored tool; empty if the tool cannot be read, which then counts as changed.
fn tool_definition(spec: &str) -> String {
    serde_json::from_str(spec).map_or_else(|_| String::new(), |tool| Definition::from_tool(&tool).text)
}

/// The digest of that.
fn tool_digest(spec: &str) -> String {
    serde_json::from_str(spec).map_or_else(|_| String::new(), |tool| Definition::from_tool(&tool).digest)
}
