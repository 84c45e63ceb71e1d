//! Schema of the document store.

use crate::sql::schema::{SchemaStep, Steps};

pub(in crate::sqlite) const DOCUMENTS: Steps = &[SchemaStep::sqlite(
    // 1: repositories, documents, chunks and vectors. Word indexes are created with each repository.
    concat!(
        "
    -- revision: incremented by every change of the files. Numbers are never reused, so number and revision show
    -- whether a cached repository is current.
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

    -- Long texts are separate, so that reading many files skips them. abstract: headings and beginning of the text.
    CREATE TABLE file_text (
        file     INTEGER PRIMARY KEY REFERENCES file ON DELETE CASCADE,
        abstract TEXT NOT NULL,
        text     TEXT NOT NULL
    ) STRICT;

    -- Keys of the path, the file name and the file name without its extension.
    CREATE TABLE file_name (
        repository INTEGER NOT NULL,
        key        TEXT NOT NULL,
        file       INTEGER NOT NULL REFERENCES file ON DELETE CASCADE,
        PRIMARY KEY (repository, key, file)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX file_name_file ON file_name (file);

    -- start, stop: byte offsets in the text. Chunks of a file with the same text share an item.
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
",
        vector_tables!(),
        "
    -- Finds the vector of a moved text.
    CREATE INDEX item_version ON item (version);

    CREATE TABLE vector_state (
        one        INTEGER PRIMARY KEY CHECK (one = 1),
        generation INTEGER NOT NULL
    ) STRICT;
    INSERT INTO vector_state VALUES (1, 0);
    "
    ),
)];
