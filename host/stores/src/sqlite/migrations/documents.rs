//! The schema of repositories of documents.

use super::MigrationSteps;

/// Repositories of documents.
pub(in crate::sqlite) const DOCUMENTS: MigrationSteps = &[
    // 1: repositories, their documents, the chunks of these and their vectors. The indexes of words are made with each
    // repository (`documents/words.rs`).
    concat!(
        "
    -- revision: raised by every change of what is in it. Numbers are never used again: by number and revision a
    -- process knows whether what it holds of a repository is what is stored.
    CREATE TABLE repository (
        number              INTEGER PRIMARY KEY AUTOINCREMENT,
        name                TEXT NOT NULL UNIQUE,
        url                 TEXT,
        version             TEXT,
        kind                TEXT,
        root                TEXT,
        created_at          TEXT,
        updated_at          TEXT,
        files               INTEGER NOT NULL DEFAULT 0,
        changed_since_guide INTEGER NOT NULL,
        revision            INTEGER NOT NULL DEFAULT 0,
        guide               TEXT
    ) STRICT;

    CREATE TABLE file (
        number     INTEGER PRIMARY KEY,
        repository INTEGER NOT NULL REFERENCES repository ON DELETE CASCADE,
        path       TEXT NOT NULL,
        hash       TEXT NOT NULL,
        made_from  TEXT,
        lines      INTEGER NOT NULL,
        tokens     INTEGER NOT NULL,
        UNIQUE (repository, path)
    ) STRICT;

    -- The long texts stand apart, so that looking at many files does not read them. abstract: headings and how the text
    -- begins.
    CREATE TABLE file_text (
        file     INTEGER PRIMARY KEY REFERENCES file ON DELETE CASCADE,
        abstract TEXT NOT NULL,
        text     TEXT NOT NULL
    ) STRICT;

    -- Path, file name and the name without its ending, in the form in which names are compared.
    CREATE TABLE file_name (
        repository INTEGER NOT NULL,
        key        TEXT NOT NULL,
        file       INTEGER NOT NULL REFERENCES file ON DELETE CASCADE,
        PRIMARY KEY (repository, key, file)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX file_name_file ON file_name (file);

    -- start, stop: bytes of the text. Chunks of one file with the same text share an item.
    CREATE TABLE chunk (
        file       INTEGER NOT NULL REFERENCES file ON DELETE CASCADE,
        position   INTEGER NOT NULL,
        item       INTEGER NOT NULL,
        start      INTEGER NOT NULL,
        stop       INTEGER NOT NULL,
        first_line INTEGER NOT NULL,
        last_line  INTEGER NOT NULL,
        heading    TEXT NOT NULL,
        PRIMARY KEY (file, position)
    ) STRICT, WITHOUT ROWID;

    -- As in the database of the knowledge graph, but for the numbers, which are never used again, and for the index, by
    -- which a text that was moved finds its vector.
    CREATE TABLE item (
        number  INTEGER PRIMARY KEY AUTOINCREMENT,
        corpus  TEXT NOT NULL,
        key     TEXT NOT NULL,
        version TEXT NOT NULL,
        UNIQUE (corpus, key)
    ) STRICT;
    CREATE INDEX item_version ON item (version);
",
        vector_tables!(),
        "
    CREATE TABLE vector_state (
        one        INTEGER PRIMARY KEY CHECK (one = 1),
        generation INTEGER NOT NULL
    ) STRICT;
    INSERT INTO vector_state VALUES (1, 0);
    "
    ),
];
