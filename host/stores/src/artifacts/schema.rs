//! Tables of artifacts.

#[cfg(feature = "postgres")]
use crate::sql::postgres::{ITEMS, SchemaPart};
use crate::{
    artifacts::engine::ARTIFACTS,
    sql::{
        schema::{SchemaStep, Steps},
        sqlite::{DatabaseProfile, FileKind},
    },
};

/// The file of this domain.
pub(crate) const FILE: FileKind = FileKind {
    corpus: ARTIFACTS,
    profile: DatabaseProfile::Temporary,
    ..FileKind::new("artifacts.db", "artifact store 'sqlite'", SCHEMA)
};

/// The tables of this domain.
#[cfg(feature = "postgres")]
pub(crate) const PART: SchemaPart =
    SchemaPart { depends_on: Some(&ITEMS), ..SchemaPart::new("artifacts", 3, SCHEMA) };

pub(crate) const SCHEMA: Steps = &[SchemaStep {
    // 1: texts in blocks, and metadata by owner. Times are in Unix milliseconds.
    both: "
    -- A unique name of the store.
    CREATE TABLE artifact_store (
        name TEXT NOT NULL
    ) STRICT;

    -- Each text is stored once for all owners. packed: bytes of its blocks.
    CREATE TABLE artifact_text (
        number     INTEGER PRIMARY KEY AUTOINCREMENT,
        digest     BLOB NOT NULL UNIQUE,
        size       INTEGER NOT NULL,
        lines      INTEGER NOT NULL,
        characters INTEGER NOT NULL,
        packed     INTEGER NOT NULL
    ) STRICT;

    -- The long column is last, so that reading the others skips it.
    CREATE TABLE artifact_block (
        text              INTEGER NOT NULL REFERENCES artifact_text ON DELETE CASCADE,
        position          INTEGER NOT NULL,
        characters_before INTEGER NOT NULL,
        feeds_before      INTEGER NOT NULL,
        size              INTEGER NOT NULL,
        digest            BLOB NOT NULL,
        packed            BLOB NOT NULL,
        PRIMARY KEY (text, position)
    ) STRICT;

    -- tags: each between line feeds. subject: what the text is about, for searches. words: lowercase text for list
    -- filters. expires: null if pinned.
    CREATE TABLE artifact (
        number    INTEGER PRIMARY KEY AUTOINCREMENT,
        owner     TEXT NOT NULL,
        id        TEXT NOT NULL,
        text      INTEGER NOT NULL REFERENCES artifact_text,
        created   INTEGER NOT NULL,
        expires   INTEGER,
        ttl       INTEGER NOT NULL,
        mime_type TEXT NOT NULL,
        preset    TEXT NOT NULL,
        tool      TEXT,
        source    TEXT,
        tags      TEXT NOT NULL DEFAULT '',
        summary   TEXT,
        subject   TEXT NOT NULL DEFAULT '',
        words     TEXT NOT NULL DEFAULT '',
        UNIQUE (owner, id),
        UNIQUE (owner, text)
    ) STRICT;
    CREATE INDEX artifact_created ON artifact (owner, created, number);
    CREATE INDEX artifact_expires ON artifact (expires) WHERE expires IS NOT NULL;
    CREATE INDEX artifact_of_text ON artifact (text);
",
    sqlite: concat!(
        "
    INSERT INTO artifact_store VALUES (lower(hex(randomblob(16))));

    -- Owners with word indexes, which are created with the owner. Numbers are never reused, because they name the
    -- indexes.
    CREATE TABLE artifact_owner (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        name   TEXT NOT NULL UNIQUE
    ) STRICT;
",
        crate::sql::sqlite::vector_tables!(),
        crate::sql::sqlite::vector_state!(),
    ),
    // Items and their vectors are in tables that all domains share. Blocks are already compressed. terms: search terms,
    // and one for the owner. length: number of terms. weight: approximate bytes of the artifact.
    postgres: "
    INSERT INTO artifact_store VALUES (gen_random_uuid());
    ALTER TABLE artifact_block ALTER COLUMN packed SET STORAGE EXTERNAL;
    ALTER TABLE artifact
        ADD COLUMN weight bigint NOT NULL DEFAULT 0,
        ADD COLUMN length integer NOT NULL DEFAULT 0,
        ADD COLUMN terms tsvector NOT NULL DEFAULT '';
    CREATE INDEX artifact_terms ON artifact USING gin (terms);
",
}];
