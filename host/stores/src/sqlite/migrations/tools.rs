//! Schema of the tool catalog.

use super::MigrationSteps;

/// Everything here except reviews can be requested from the servers again.
pub(in crate::sqlite) const TOOLS: MigrationSteps = &[
    // 1: servers, their tools, and vectors as in the other databases. An item has the number of its tool.
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
        vector_state!(),
    ),
    // 2: promises of tools when they were accepted, which outlive a temporary absence. Tools quarantined at that time
    // had been accepted with another spec, so they promise nothing.
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
    // 3: reviewed definitions of quarantined servers. Definitions now cover more fields, so this recomputes all
    // digests. Quarantined tools stay quarantined; everything else counts as reviewed.
    "
    ALTER TABLE server ADD COLUMN quarantine INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE listing_state ADD COLUMN lost INTEGER NOT NULL DEFAULT 0;
    CREATE TABLE reviewed (
        server     TEXT NOT NULL REFERENCES server ON DELETE CASCADE,
        kind       TEXT NOT NULL,
        name       TEXT NOT NULL,
        digest     TEXT NOT NULL,
        definition TEXT NOT NULL,
        PRIMARY KEY (server, kind, name)
    ) STRICT;
    INSERT INTO reviewed SELECT server, 'tool', name, CASE WHEN approved IS NULL THEN tool_digest(spec) ELSE '' END,
            coalesce(approved, tool_definition(spec))
        FROM tool WHERE server IN (SELECT server FROM tool WHERE approved IS NOT NULL);
    UPDATE tool SET digest = tool_digest(spec);
    UPDATE item SET version = (SELECT digest FROM tool WHERE tool.number = item.number)
        WHERE number IN (SELECT number FROM tool);
    UPDATE promise SET accepted = json_set(accepted, '$.open_world', json(coalesce(
        (SELECT spec -> '$.open_world' FROM tool WHERE tool.server = promise.server AND tool.name = promise.name), 'true')));
    ALTER TABLE tool DROP COLUMN approved;
    UPDATE listing_state SET generation = generation + 1;
    ",
    // 4: how servers were last connected, as the host describes it.
    "
    CREATE TABLE connection (
        server TEXT PRIMARY KEY,
        start  TEXT NOT NULL
    ) STRICT;
    ",
];
