//! The steps of the database of servers' tools.

use super::Steps;

/// What is known of the tools of servers. It can be learned again by asking them, but for what was approved.
pub(in crate::sqlite) const TOOLS: Steps = &[
    // 1: servers with what they say of themselves, their tools, and vectors as in the other databases. The number of an
    // item is that of its tool.
    concat!(
        "
    CREATE TABLE server (
        name        TEXT PRIMARY KEY,
        about       TEXT NOT NULL,
        last_change INTEGER
    ) STRICT;
    CREATE TABLE item (
        number  INTEGER PRIMARY KEY,
        corpus  TEXT NOT NULL,
        key     TEXT NOT NULL,
        version TEXT NOT NULL,
        UNIQUE (corpus, key)
    ) STRICT;
    CREATE TABLE tool (
        number      INTEGER PRIMARY KEY REFERENCES item ON DELETE CASCADE,
        server      TEXT NOT NULL REFERENCES server ON DELETE CASCADE,
        name        TEXT NOT NULL,
        place       INTEGER NOT NULL,
        digest      TEXT NOT NULL,
        category    TEXT NOT NULL,
        last_change INTEGER,
        approved    TEXT,
        spec        TEXT NOT NULL,
        UNIQUE (server, name)
    ) STRICT;
    CREATE TABLE listing_state (
        one        INTEGER PRIMARY KEY CHECK (one = 1),
        generation INTEGER NOT NULL
    ) STRICT;
    INSERT INTO listing_state VALUES (1, 0);
",
        vector_tables!(),
        "
    CREATE TABLE vector_state (
        one        INTEGER PRIMARY KEY CHECK (one = 1),
        generation INTEGER NOT NULL,
        removed    INTEGER NOT NULL
    ) STRICT;
    INSERT INTO vector_state VALUES (1, 0, 0);
    CREATE TRIGGER vector_removed AFTER DELETE ON vector BEGIN
        UPDATE vector_state SET generation = generation + 1, removed = generation + 1;
    END;
    "
    ),
    // 2: what tools promised when they were accepted. It outlives a tool that is not listed for a while. What was held back
    // then had been accepted as something else, which its spec does not say.
    r#"
    CREATE TABLE promise (
        server   TEXT NOT NULL REFERENCES server ON DELETE CASCADE,
        name     TEXT NOT NULL,
        accepted TEXT NOT NULL,
        PRIMARY KEY (server, name)
    ) STRICT;
    INSERT INTO promise SELECT server, name, CASE WHEN approved IS NULL
        THEN json_object('effect', json_extract(spec, '$.effect'),
            'additive', json(coalesce(spec -> '$.additive', 'false')),
            'idempotent', json(coalesce(spec -> '$.idempotent', 'false')))
        ELSE '{"effect":"external-exec","additive":false,"idempotent":false}' END FROM tool;
    "#,
];
