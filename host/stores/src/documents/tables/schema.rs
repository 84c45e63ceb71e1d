//! Tables of documents.

use std::time::Duration;

#[cfg(feature = "postgres")]
use crate::sql::postgres::{ITEMS, SchemaPart};
use crate::{
    documents::engine::CHUNKS,
    sql::{
        schema::{SchemaStep, Steps},
        sqlite::{DatabaseProfile, FileKind},
    },
};

/// Time that a writer waits for another one: long enough for several batches of another process that indexes.
const MAX_WAIT: Duration = Duration::from_secs(60);

/// The file of this domain.
pub(crate) const FILE: FileKind = FileKind {
    corpus: CHUNKS,
    profile: DatabaseProfile::BusyTimeout(MAX_WAIT),
    ..FileKind::new("documents.db", "document store 'sqlite'", SCHEMA)
};

/// The tables of this domain.
#[cfg(feature = "postgres")]
pub(crate) const PART: SchemaPart = SchemaPart {
    depends_on: Some(&ITEMS),
    write_timeout: Some(MAX_WAIT),
    ..SchemaPart::new("documents", 2, SCHEMA)
};

pub(crate) const SCHEMA: Steps = &[SchemaStep {
    // 1: repositories, documents, their names and chunks. Columns named `key` hold forms of names and paths that are
    // short enough for an index.
    both: "
    -- revision: incremented by every change of the files. Numbers are never reused, so number and revision show
    -- whether a cached repository is current. words, items: of all files, 0 where searches do not use them.
    CREATE TABLE repository (
        number              INTEGER PRIMARY KEY AUTOINCREMENT,
        key                 TEXT NOT NULL UNIQUE,
        name                TEXT NOT NULL,
        url                 TEXT,
        version             TEXT,
        kind                TEXT,
        root                TEXT,
        created_at          TEXT,
        updated_at          TEXT,
        files               INTEGER NOT NULL DEFAULT 0,
        words               INTEGER NOT NULL DEFAULT 0,
        items               INTEGER NOT NULL DEFAULT 0,
        changed_since_guide INTEGER NOT NULL,
        revision            INTEGER NOT NULL DEFAULT 0,
        guide               TEXT
    ) STRICT;

    -- length: number of terms, 0 where searches do not use it.
    CREATE TABLE file (
        number     INTEGER PRIMARY KEY AUTOINCREMENT,
        repository INTEGER NOT NULL REFERENCES repository ON DELETE CASCADE,
        key        TEXT NOT NULL,
        path       TEXT NOT NULL,
        hash       TEXT NOT NULL,
        made_from  TEXT,
        lines      INTEGER NOT NULL,
        tokens     INTEGER NOT NULL,
        length     INTEGER NOT NULL,
        UNIQUE (repository, key)
    ) STRICT;

    -- Long texts are separate, so that reading many files skips them. abstract: headings and beginning of the text.
    CREATE TABLE file_text (
        file     INTEGER PRIMARY KEY REFERENCES file ON DELETE CASCADE,
        abstract TEXT NOT NULL,
        content  TEXT NOT NULL
    ) STRICT;

    -- Keys of the path, the file name and the file name without its extension.
    CREATE TABLE file_name (
        repository INTEGER NOT NULL,
        key        TEXT NOT NULL,
        file       INTEGER NOT NULL REFERENCES file ON DELETE CASCADE,
        PRIMARY KEY (repository, key, file)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX file_name_file ON file_name (file);

    -- start, stop: byte offsets in the content. item: number of the item to embed, which chunks of a file with the same
    -- text share.
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
    // Word indexes are created with each repository.
    sqlite: concat!(
        crate::sql::sqlite::vector_tables!(),
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
    // The terms include one for the repository, so that a search reads only its part of the
    // index.
    postgres: "
    CREATE TABLE file_terms (
        file  bigint PRIMARY KEY REFERENCES file ON DELETE CASCADE,
        terms tsvector NOT NULL
    );
    CREATE INDEX file_terms_terms ON file_terms USING gin (terms);

    -- Finds the vector of a moved text.
    CREATE INDEX item_version ON item USING hash (version);
",
}];
