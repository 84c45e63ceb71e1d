//! Schema of the API keys.

use crate::sql::schema::{SchemaStep, Steps};

pub(in crate::sqlite) const AUTH: Steps = &[SchemaStep::sqlite(
    // 1: keys and their secrets. Times are in Unix milliseconds; lists are JSON. Triggers count changes, so that no
    // statement can forget it. The use of a secret is not a change.
    "
    CREATE TABLE key (
        name       TEXT PRIMARY KEY,
        groups     TEXT NOT NULL,
        presets    TEXT,
        created_at INTEGER NOT NULL,
        expires_at INTEGER
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE secret (
        id           TEXT PRIMARY KEY,
        key          TEXT NOT NULL REFERENCES key ON DELETE CASCADE,
        hash         BLOB NOT NULL CHECK (length(hash) = 32),
        created_at   INTEGER NOT NULL,
        expires_at   INTEGER,
        last_used_at INTEGER
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX secret_key ON secret (key);
    CREATE TABLE auth_state (
        one     INTEGER PRIMARY KEY CHECK (one = 1),
        version INTEGER NOT NULL
    ) STRICT;
    INSERT INTO auth_state VALUES (1, 1);
    CREATE TRIGGER key_removed AFTER DELETE ON key BEGIN
        UPDATE auth_state SET version = version + 1;
    END;
    CREATE TRIGGER key_changed AFTER UPDATE ON key BEGIN
        UPDATE auth_state SET version = version + 1;
    END;
    CREATE TRIGGER secret_added AFTER INSERT ON secret BEGIN
        UPDATE auth_state SET version = version + 1;
    END;
    CREATE TRIGGER secret_removed AFTER DELETE ON secret BEGIN
        UPDATE auth_state SET version = version + 1;
    END;
    CREATE TRIGGER secret_changed AFTER UPDATE OF id, key, hash, expires_at ON secret BEGIN
        UPDATE auth_state SET version = version + 1;
    END;
    ",
)];
