//! Schema of the tool catalog.

#[cfg(feature = "postgres")]
use crate::sql::postgres::{ITEMS, SchemaPart};
use crate::sql::{
    schema::{SchemaStep, Steps},
    sqlite::{FileKind, vector_state, vector_tables},
};

/// Corpus of the tools.
pub(crate) const TOOLS: &str = "tool";

/// The file of the catalog. One that is damaged is set aside, because the servers have its content.
pub(crate) const FILE: FileKind =
    FileKind { corpus: TOOLS, ..FileKind::new("tools.db", "the tool catalog", SCHEMA) };

/// The tables of the catalog.
#[cfg(feature = "postgres")]
pub(crate) const PART: SchemaPart =
    SchemaPart { depends_on: Some(&ITEMS), ..SchemaPart::new("tools", 9, SCHEMA) };

/// Everything here except reviews and promises can be requested from the servers again.
pub(super) const SCHEMA: Steps = &[SchemaStep {
    // 1: one row for each server. start: how it was last connected, as the host describes it. record: JSON, or null if it
    // was never listed. changed: the generation of the record. lost: 1 if this database replaces one that was damaged.
    both: "
    CREATE TABLE tool_server (
        name    TEXT PRIMARY KEY,
        start   TEXT,
        changed INTEGER NOT NULL,
        record  TEXT
    ) STRICT;
    CREATE TABLE tool_state (
        one        INTEGER PRIMARY KEY CHECK (one = 1),
        generation INTEGER NOT NULL,
        lost       INTEGER NOT NULL
    ) STRICT;
    INSERT INTO tool_state VALUES (1, 0, 0);
",
    sqlite: concat!(vector_tables!(), vector_state!()),
    postgres: "
    -- Tables that are made again do not have the generations of those before.
    UPDATE tool_state SET generation = (random() * 1e11)::bigint;
",
}];
