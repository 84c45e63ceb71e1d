//! Schema of the audit and of the use of quotas.

use crate::sql::schema::{SchemaStep, Steps};

pub(in crate::sqlite) const AUDIT: Steps = &[SchemaStep::sqlite(
    // 1: entries in a chain of digests, keys of principals, and the use of quotas. Times are in Unix milliseconds.
    "
    -- Key of the HMAC over arguments.
    CREATE TABLE secret (
        one INTEGER PRIMARY KEY CHECK (one = 1),
        key BLOB NOT NULL
    ) STRICT;
    INSERT INTO secret VALUES (1, randomblob(32));

    -- The only place with names. Deleting a row makes the entries of that principal anonymous.
    CREATE TABLE principal (
        name      TEXT PRIMARY KEY,
        key       BLOB NOT NULL,
        pseudonym BLOB NOT NULL UNIQUE,
        first     INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;

    -- sealed: credential, client and address, encrypted with the key of the principal.
    CREATE TABLE entry (
        seq        INTEGER PRIMARY KEY,
        at         INTEGER NOT NULL,
        kind       TEXT NOT NULL,
        principal  BLOB NOT NULL,
        sealed     BLOB NOT NULL,
        preset     TEXT,
        tool       TEXT,
        rule       TEXT,
        approval   TEXT,
        outcome    TEXT NOT NULL,
        took_us    INTEGER NOT NULL,
        tokens_in  INTEGER NOT NULL,
        tokens_out INTEGER NOT NULL,
        arguments  BLOB,
        details    TEXT,
        digest     BLOB NOT NULL
    ) STRICT;
    CREATE INDEX entry_principal ON entry (principal, seq);
    CREATE INDEX entry_at ON entry (at);

    -- The last deleted entry, where the chain begins.
    CREATE TABLE anchor (
        one    INTEGER PRIMARY KEY CHECK (one = 1),
        seq    INTEGER NOT NULL,
        digest BLOB NOT NULL
    ) STRICT;
    INSERT INTO anchor VALUES (1, 0, zeroblob(32));

    -- The last entry, so that a cut end is noticed.
    CREATE TABLE head (
        one    INTEGER PRIMARY KEY CHECK (one = 1),
        seq    INTEGER NOT NULL,
        digest BLOB NOT NULL
    ) STRICT;
    INSERT INTO head VALUES (1, 0, zeroblob(32));

    CREATE TRIGGER entry_is_fixed BEFORE UPDATE ON entry BEGIN
        SELECT RAISE(ABORT, 'audit entries cannot be changed');
    END;
    CREATE TRIGGER entry_stays BEFORE DELETE ON entry WHEN OLD.seq > (SELECT seq FROM anchor) BEGIN
        SELECT RAISE(ABORT, 'audit entries cannot be deleted');
    END;
    CREATE TRIGGER anchor_moves_on BEFORE UPDATE ON anchor WHEN NEW.seq < OLD.seq BEGIN
        SELECT RAISE(ABORT, 'the anchor of the audit cannot move back');
    END;
    CREATE TRIGGER head_moves_on BEFORE UPDATE ON head WHEN NEW.seq <= OLD.seq BEGIN
        SELECT RAISE(ABORT, 'the head of the audit cannot move back');
    END;

    CREATE TABLE quota_usage (
        principal    TEXT NOT NULL,
        quota        TEXT NOT NULL,
        calls_start  INTEGER NOT NULL,
        calls        INTEGER NOT NULL,
        tokens_start INTEGER NOT NULL,
        tokens       INTEGER NOT NULL,
        PRIMARY KEY (principal, quota)
    ) STRICT, WITHOUT ROWID;

    -- Names cannot be exchanged.
    CREATE TRIGGER principal_is_fixed BEFORE UPDATE ON principal BEGIN
        SELECT RAISE(ABORT, 'principals of the audit cannot be changed');
    END;
    ",
)];
