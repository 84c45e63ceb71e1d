//! Schema of the artifact store.

use super::MigrationSteps;

pub(in crate::sqlite) const ARTIFACTS: MigrationSteps = &[
    // 1: texts in blocks, metadata by owner, and vectors. Word indexes are created with each owner. Times are in Unix
    // milliseconds.
    concat!(
        "
    -- Unique id of the store.
    CREATE TABLE store (
        one  INTEGER PRIMARY KEY CHECK (one = 1),
        name TEXT NOT NULL
    ) STRICT;
    INSERT INTO store VALUES (1, lower(hex(randomblob(16))));

    -- Owner numbers are never reused, because they name the word indexes.
    CREATE TABLE owner (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        name   TEXT NOT NULL UNIQUE
    ) STRICT;

    -- One row per text, for all owners.
    CREATE TABLE text (
        number     INTEGER PRIMARY KEY AUTOINCREMENT,
        digest     BLOB NOT NULL UNIQUE,
        size       INTEGER NOT NULL,
        lines      INTEGER NOT NULL,
        characters INTEGER NOT NULL
    ) STRICT;

    -- The long column is last, so that reading the others skips it.
    CREATE TABLE text_block (
        text              INTEGER NOT NULL REFERENCES text ON DELETE CASCADE,
        position          INTEGER NOT NULL,
        characters_before INTEGER NOT NULL,
        feeds_before      INTEGER NOT NULL,
        size              INTEGER NOT NULL,
        digest            BLOB NOT NULL,
        packed            BLOB NOT NULL,
        PRIMARY KEY (text, position)
    ) STRICT;

    -- tags: each between line feeds. words: lowercase text for list filters. expires: null if pinned.
    CREATE TABLE artifact (
        number    INTEGER PRIMARY KEY AUTOINCREMENT,
        owner     INTEGER NOT NULL REFERENCES owner,
        id        TEXT NOT NULL,
        text      INTEGER NOT NULL REFERENCES text,
        created   INTEGER NOT NULL,
        expires   INTEGER,
        ttl       INTEGER NOT NULL,
        mime_type TEXT NOT NULL,
        tool      TEXT,
        source    TEXT,
        preset    TEXT NOT NULL,
        tags      TEXT NOT NULL,
        summary   TEXT,
        words     TEXT NOT NULL,
        UNIQUE (owner, id),
        UNIQUE (owner, text)
    ) STRICT;
    CREATE INDEX artifact_created ON artifact (owner, created, number);
    CREATE INDEX artifact_expires ON artifact (expires) WHERE expires IS NOT NULL;
    CREATE INDEX artifact_text ON artifact (text);

    -- As in the other databases. An item has the number of its artifact.
    CREATE TABLE item (
        number  INTEGER PRIMARY KEY,
        corpus  TEXT NOT NULL,
        key     TEXT NOT NULL,
        version TEXT NOT NULL,
        UNIQUE (corpus, key)
    ) STRICT;
",
        vector_tables!(),
        vector_state!(),
    ),
    // 2: what the text is about, for searches. Null in rows of version 1 until a host indexes them.
    "
    ALTER TABLE artifact ADD COLUMN subject TEXT;
    CREATE INDEX artifact_no_subject ON artifact (number) WHERE subject IS NULL;
    ",
];
