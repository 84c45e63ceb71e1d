//! Tables of pages.

#[cfg(feature = "postgres")]
use crate::sql::postgres::{ITEMS, SchemaPart};
use crate::{
    engine::PAGES,
    sql::{
        schema::{SchemaStep, Steps},
        sqlite::FileKind,
    },
};

/// The file of this domain.
pub(crate) const FILE: FileKind =
    FileKind { corpus: PAGES, ..FileKind::new("knowledge.db", "knowledge engine 'sqlite'", SCHEMA) };

/// The tables of this domain.
#[cfg(feature = "postgres")]
pub(crate) const PART: SchemaPart =
    SchemaPart { depends_on: Some(&ITEMS), ..SchemaPart::new("knowledge", 1, SCHEMA) };

pub(crate) const SCHEMA: Steps = &[SchemaStep {
    // 1: pages, their names, texts, domains and links, and indexes of words. A page has the number of its item.
    both: "
    -- domains, sources: JSON.
    CREATE TABLE page (
        number       INTEGER PRIMARY KEY,
        id           TEXT NOT NULL,
        key          TEXT NOT NULL UNIQUE,
        title_key    TEXT NOT NULL,
        type         TEXT NOT NULL,
        title        TEXT NOT NULL,
        hash         TEXT NOT NULL,
        root         TEXT,
        file         TEXT,
        last_updated TEXT,
        domains      TEXT NOT NULL,
        sources      TEXT NOT NULL
    ) STRICT;

    -- Long texts are separate, so that reading many pages skips them.
    CREATE TABLE page_body (
        page     INTEGER PRIMARY KEY REFERENCES page ON DELETE CASCADE,
        overview TEXT NOT NULL,
        content  TEXT NOT NULL
    ) STRICT;

    -- Keys of the title, the id, and the id without its type.
    CREATE TABLE page_name (
        key  TEXT NOT NULL,
        page INTEGER NOT NULL REFERENCES page ON DELETE CASCADE,
        PRIMARY KEY (key, page)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX page_name_page ON page_name (page);

    CREATE TABLE domain (
        key  TEXT NOT NULL,
        page INTEGER NOT NULL REFERENCES page ON DELETE CASCADE
    ) STRICT;
    CREATE INDEX domain_page ON domain (page);

    -- edge and target: as declared. canonical and inverse: the edge that search follows, and its direction. target_key
    -- matches page.key, so a link resolves as soon as its target exists.
    CREATE TABLE link (
        page       INTEGER NOT NULL REFERENCES page ON DELETE CASCADE,
        position   INTEGER NOT NULL,
        edge       TEXT NOT NULL,
        target     TEXT NOT NULL,
        target_key TEXT NOT NULL,
        canonical  TEXT NOT NULL,
        inverse    INTEGER NOT NULL,
        PRIMARY KEY (page, position)
    ) STRICT, WITHOUT ROWID;
",
    sqlite: concat!(
        "
    CREATE INDEX page_title ON page (title_key);
    CREATE INDEX page_type ON page (type);
    CREATE INDEX page_file ON page (root, file);
    CREATE INDEX domain_key ON domain (key, page);
    CREATE INDEX link_target ON link (target_key);

    CREATE VIRTUAL TABLE page_text USING fts5 (
        title, overview, domains, content,
        content = '', contentless_delete = 1, tokenize = 'porter unicode61'
    );
    -- N-grams of words in non-Latin scripts. Pages without such words have no row.
    CREATE VIRTUAL TABLE page_grams USING fts5 (
        title, overview, domains, content, content = '', contentless_delete = 1, tokenize = 'ascii'
    );
",
        crate::sql::sqlite::vector_tables!(),
        crate::sql::sqlite::vector_state!(),
    ),
    // Columns with long values have hash indexes, which accept any length.
    postgres: "
    CREATE INDEX page_title ON page USING hash (title_key);
    CREATE INDEX page_root ON page USING hash (root);
    CREATE INDEX domain_key ON domain USING hash (key);
    CREATE INDEX link_target ON link USING hash (target_key);

    -- Number of terms.
    ALTER TABLE page ADD COLUMN length integer NOT NULL DEFAULT 0;

    -- A search reads the terms for each word, so they are stored in the row itself if they fit.
    CREATE TABLE page_text (
        page  bigint PRIMARY KEY REFERENCES page ON DELETE CASCADE,
        terms tsvector NOT NULL
    ) WITH (toast_tuple_target = 8160);
    ALTER TABLE page_text ALTER COLUMN terms SET STORAGE MAIN;
    CREATE INDEX page_terms ON page_text USING gin (terms);
",
}];
