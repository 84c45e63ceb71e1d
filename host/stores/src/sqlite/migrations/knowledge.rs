//! Schema of the knowledge graph.

use crate::sql::schema::{Step, Steps};

pub(in crate::sqlite) const KNOWLEDGE: Steps = &[Step::sqlite(
    // 1: pages, their names, texts, domains and links, word indexes, and vectors.
    concat!(
        "
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
    CREATE INDEX page_title ON page (title_key);
    CREATE INDEX page_type ON page (type);
    CREATE INDEX page_file ON page (root, file);

    -- Long texts are separate, so that reading many pages skips them.
    CREATE TABLE page_body (
        page     INTEGER PRIMARY KEY REFERENCES page ON DELETE CASCADE,
        overview TEXT NOT NULL,
        content  TEXT NOT NULL
    ) STRICT;

    CREATE TABLE domain (
        key  TEXT NOT NULL,
        page INTEGER NOT NULL REFERENCES page ON DELETE CASCADE,
        PRIMARY KEY (key, page)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX domain_page ON domain (page);

    -- edge and target: as declared. kept and inverse: the canonical edge and its direction. target_key matches page.key,
    -- so a link resolves as soon as its target exists.
    CREATE TABLE link (
        page       INTEGER NOT NULL REFERENCES page ON DELETE CASCADE,
        position   INTEGER NOT NULL,
        edge       TEXT NOT NULL,
        target     TEXT NOT NULL,
        target_key TEXT NOT NULL,
        kept       TEXT NOT NULL,
        inverse    INTEGER NOT NULL,
        PRIMARY KEY (page, position)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX link_target ON link (target_key);

    CREATE VIRTUAL TABLE page_text USING fts5 (
        title, overview, domains, content,
        content = '', contentless_delete = 1, tokenize = 'porter unicode61'
    );

    -- Keys of the title, the id, and the id without its type.
    CREATE TABLE page_name (
        key  TEXT NOT NULL,
        page INTEGER NOT NULL REFERENCES page ON DELETE CASCADE,
        PRIMARY KEY (key, page)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX page_name_page ON page_name (page);

    -- N-grams of words in non-Latin scripts. Pages without such words have no row.
    CREATE VIRTUAL TABLE page_grams USING fts5 (
        title, overview, domains, content, content = '', contentless_delete = 1, tokenize = 'ascii'
    );

    -- As in the other databases. An item has the number of its page.
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
)];
