//! Schema of the tool catalog.

use crate::sql::{
    schema::{SchemaStep, Steps},
    sqlite::{FileKind, vector_state, vector_tables},
};

/// Corpus of the tools.
pub(crate) const TOOLS: &str = "tool";

/// The file of the catalog. One that is damaged is set aside, because the servers have its content.
pub(crate) const FILE: FileKind =
    FileKind { corpus: TOOLS, ..FileKind::new("tools.db", "the tool catalog", SCHEMA) };

/// Everything here except reviews can be requested from the servers again.
pub(super) const SCHEMA: Steps = &[SchemaStep::sqlite(
    // 1: servers, their tools, and vectors as in the other databases. An item has the number of its tool.
    concat!(
        "
    CREATE TABLE server (
        name        TEXT PRIMARY KEY,
        about       TEXT NOT NULL,
        last_change INTEGER,
        quarantine  INTEGER NOT NULL DEFAULT 0
    ) STRICT;
    CREATE TABLE tool (
        number      INTEGER PRIMARY KEY REFERENCES item ON DELETE CASCADE,
        server      TEXT NOT NULL REFERENCES server ON DELETE CASCADE,
        name        TEXT NOT NULL,
        place       INTEGER NOT NULL,
        digest      TEXT NOT NULL,
        category    TEXT NOT NULL,
        last_change INTEGER,
        spec        TEXT NOT NULL,
        UNIQUE (server, name)
    ) STRICT;
    CREATE TABLE listing_state (
        one        INTEGER PRIMARY KEY CHECK (one = 1),
        generation INTEGER NOT NULL,
        lost       INTEGER NOT NULL DEFAULT 0
    ) STRICT;
    INSERT INTO listing_state (one, generation) VALUES (1, 0);

    -- Promises of tools when they were accepted, which outlive a temporary absence.
    CREATE TABLE promise (
        server   TEXT NOT NULL REFERENCES server ON DELETE CASCADE,
        name     TEXT NOT NULL,
        accepted TEXT NOT NULL,
        PRIMARY KEY (server, name)
    ) STRICT;

    -- Reviewed definitions of quarantined servers.
    CREATE TABLE reviewed (
        server     TEXT NOT NULL REFERENCES server ON DELETE CASCADE,
        kind       TEXT NOT NULL,
        name       TEXT NOT NULL,
        digest     TEXT NOT NULL,
        definition TEXT NOT NULL,
        PRIMARY KEY (server, kind, name)
    ) STRICT;

    -- How servers were last connected, as the host describes it.
    CREATE TABLE connection (
        server TEXT PRIMARY KEY,
        start  TEXT NOT NULL
    ) STRICT;
",
        vector_tables!(),
        vector_state!(),
    ),
)];
