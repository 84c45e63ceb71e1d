//! The schema of each database, as numbered steps. A step that was released is never edited; a change is a new step.
//!
//! Each step is one transaction, so a crash leaves the database at a version that exists. A database
//! that is newer than this binary is refused and not touched.

use rusqlite::{Connection, TransactionBehavior};

use super::error::StoreError;

/// The steps of one kind of database; its version is how many of them it has seen (`PRAGMA user_version`).
pub(super) type Steps = &'static [&'static str];

/// The knowledge graph.
pub(super) const KNOWLEDGE: Steps = &[
    // 1: pages, their domains and links, and the words they are found by.
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

    -- The long texts stand apart, so that looking at many pages does not read them.
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

    -- edge and target as declared; kept and inverse say what they mean; target_key is compared with page.key,
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
    ",
    // 2: search by name, by meaning and in other scripts. The functions are those of `functions.rs`.
    "
    -- Title, id and the id without its type, in the form in which names are compared.
    CREATE TABLE page_name (
        key  TEXT NOT NULL,
        page INTEGER NOT NULL REFERENCES page ON DELETE CASCADE,
        PRIMARY KEY (key, page)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX page_name_page ON page_name (page);
    INSERT OR IGNORE INTO page_name SELECT name_key(title), number FROM page;
    INSERT OR IGNORE INTO page_name SELECT name_key(id), number FROM page;
    INSERT OR IGNORE INTO page_name SELECT name_key(substr(id, instr(id, '/') + 1)), number FROM page;

    -- Pieces of words in other scripts than Latin; pages that have none have no row.
    CREATE VIRTUAL TABLE page_grams USING fts5 (
        title, overview, domains, content, content = '', contentless_delete = 1, tokenize = 'ascii'
    );
    INSERT INTO page_grams (rowid, title, overview, domains, content)
        SELECT number, grams(title), grams(overview), grams(domains), grams(content)
        FROM page JOIN page_body ON page_body.page = page.number
        WHERE grams(title || overview || domains || content) <> '';

    -- Latin words are now parted from scripts without spaces.
    DELETE FROM page_text;
    INSERT INTO page_text (rowid, title, overview, domains, content)
        SELECT number, with_variants(title), with_variants(overview), separated(domains), separated(content)
        FROM page JOIN page_body ON page_body.page = page.number;

    CREATE TABLE model (
        number INTEGER PRIMARY KEY,
        name   TEXT NOT NULL UNIQUE,
        used   INTEGER NOT NULL
    ) STRICT;

    -- value: 32-bit floats, little-endian; NULL where the model has nothing to say about the page. changed: the
    -- generation that wrote it.
    CREATE TABLE vector (
        page    INTEGER NOT NULL REFERENCES page ON DELETE CASCADE,
        model   INTEGER NOT NULL REFERENCES model ON DELETE CASCADE,
        changed INTEGER NOT NULL,
        value   BLOB,
        PRIMARY KEY (page, model)
    ) STRICT;
    CREATE INDEX vector_changed ON vector (model, changed);

    -- By this every process knows whether what it holds of the vectors is what is stored.
    CREATE TABLE vector_state (
        one        INTEGER PRIMARY KEY CHECK (one = 1),
        generation INTEGER NOT NULL,
        removed    INTEGER NOT NULL
    ) STRICT;
    INSERT INTO vector_state VALUES (1, 0, 0);
    CREATE TRIGGER vector_removed AFTER DELETE ON vector BEGIN
        UPDATE vector_state SET generation = generation + 1, removed = generation + 1;
    END;
    ",
    // 3: vectors by corpus and key. An item's number is that of the page; until it changes, the page's hash stands for
    // what was embedded.
    "
    CREATE TABLE item (
        number  INTEGER PRIMARY KEY,
        corpus  TEXT NOT NULL,
        key     TEXT NOT NULL,
        version TEXT NOT NULL,
        UNIQUE (corpus, key)
    ) STRICT;
    INSERT INTO item (number, corpus, key, version) SELECT number, 'page', key, hash FROM page;

    CREATE TABLE item_vector (
        item    INTEGER NOT NULL REFERENCES item ON DELETE CASCADE,
        model   INTEGER NOT NULL REFERENCES model ON DELETE CASCADE,
        changed INTEGER NOT NULL,
        value   BLOB,
        PRIMARY KEY (item, model)
    ) STRICT;
    INSERT INTO item_vector (item, model, changed, value) SELECT page, model, changed, value FROM vector;
    DROP TABLE vector;
    ALTER TABLE item_vector RENAME TO vector;
    CREATE INDEX vector_changed ON vector (model, changed);
    CREATE TRIGGER vector_removed AFTER DELETE ON vector BEGIN
        UPDATE vector_state SET generation = generation + 1, removed = generation + 1;
    END;
    ",
];

/// What gates keep.
pub(super) const KV: Steps = &[
    // 1: values under keys, by gate. The long column comes last, so that looking at the others does not read
    // it, and what a gate holds in all is summed over an index.
    "
    CREATE TABLE entry (
        gate       TEXT NOT NULL,
        key        TEXT NOT NULL,
        size       INTEGER NOT NULL,
        expires_at INTEGER,
        value      BLOB NOT NULL,
        PRIMARY KEY (gate, key)
    ) STRICT;
    CREATE INDEX entry_size ON entry (gate, size);
    CREATE INDEX entry_expiry ON entry (expires_at) WHERE expires_at IS NOT NULL;
    ",
];

/// The version of a database that has seen every step.
pub(super) const fn latest(steps: Steps) -> i64 {
    steps.len() as i64
}

/// The version of a database.
pub(super) fn version(connection: &Connection) -> Result<i64, StoreError> {
    Ok(connection.query_row("PRAGMA user_version", [], |row| row.get(0))?)
}

/// Refuses a database that is newer than this binary.
pub(super) fn check(connection: &Connection, steps: Steps) -> Result<(), StoreError> {
    match version(connection)? {
        found if found > latest(steps) => Err(StoreError::Newer { found, known: latest(steps) }),
        _ => Ok(()),
    }
}

/// Brings a database up to date.
pub(super) fn migrate(connection: &mut Connection, steps: Steps) -> Result<(), StoreError> {
    run(connection, steps)
}

fn run(connection: &mut Connection, steps: &[&str]) -> Result<(), StoreError> {
    let known = steps.len() as i64;
    loop {
        // Asked inside the transaction: another process may be doing the same.
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let found = version(&transaction)?;
        if found > known {
            return Err(StoreError::Newer { found, known });
        }
        let Some(step) = usize::try_from(found).ok().and_then(|done| steps.get(done)) else {
            return Ok(());
        };
        transaction.execute_batch(step)?;
        transaction.pragma_update(None, "user_version", found + 1)?;
        transaction.commit()?;
    }
}

#[cfg(test)]
mod tests;
