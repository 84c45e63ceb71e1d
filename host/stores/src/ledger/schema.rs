//! Schema of the call ledger.

#[cfg(feature = "postgres")]
use crate::sql::postgres::SchemaPart;
use crate::sql::{
    schema::{SchemaStep, Steps},
    sqlite::{DatabaseProfile, FileKind},
};

/// The file of this domain.
pub(crate) const FILE: FileKind =
    FileKind { profile: DatabaseProfile::Counters, ..FileKind::new("ledger.db", "the ledger", SCHEMA) };

/// The tables of this domain.
#[cfg(feature = "postgres")]
pub(crate) const PART: SchemaPart = SchemaPart {
    // A host that comes back has many entries to write.
    write_timeout: Some(std::time::Duration::from_secs(30)),
    ..SchemaPart::new("ledger", 7, SCHEMA)
};

pub(crate) const SCHEMA: Steps = &[
    SchemaStep {
        // 1: individual calls temporarily, daily totals permanently. Times are in Unix milliseconds, days in UTC days since
        // 1970. `ending` is a code of `ledger/write.rs`; `last_failed` is time * 16 + ending, 0 if no call failed.
        both: "
    CREATE TABLE ledger_tool (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        kind   TEXT NOT NULL,
        source TEXT NOT NULL,
        name   TEXT NOT NULL,
        UNIQUE (kind, source, name)
    ) STRICT;

    CREATE TABLE ledger_call (
        number        INTEGER PRIMARY KEY AUTOINCREMENT,
        at            INTEGER NOT NULL,
        tool          INTEGER NOT NULL,
        caller        INTEGER NOT NULL,
        preset        TEXT NOT NULL,
        ending        INTEGER NOT NULL,
        took_us       INTEGER NOT NULL,
        connecting_us INTEGER NOT NULL,
        tokens_in     INTEGER NOT NULL,
        tokens_out    INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX ledger_call_at ON ledger_call (at);
    CREATE INDEX ledger_call_tool ON ledger_call (tool, at, caller);
    CREATE INDEX ledger_call_caller ON ledger_call (caller, at, tool);

    CREATE TABLE ledger_day (
        tool             INTEGER NOT NULL,
        day              INTEGER NOT NULL,
        calls            INTEGER NOT NULL,
        tool_errors      INTEGER NOT NULL,
        transport_errors INTEGER NOT NULL,
        took_us          INTEGER NOT NULL,
        connecting_us    INTEGER NOT NULL,
        tokens_in        INTEGER NOT NULL,
        tokens_out       INTEGER NOT NULL,
        last_called      INTEGER NOT NULL,
        last_failed      INTEGER NOT NULL,
        PRIMARY KEY (tool, day)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE ledger_latency (
        tool   INTEGER NOT NULL,
        day    INTEGER NOT NULL,
        bucket INTEGER NOT NULL,
        calls  INTEGER NOT NULL,
        PRIMARY KEY (tool, day, bucket)
    ) STRICT, WITHOUT ROWID;

    -- Callers of each tool, retained as long as individual calls.
    CREATE TABLE ledger_caller (
        caller INTEGER NOT NULL,
        tool   INTEGER NOT NULL,
        last   INTEGER NOT NULL,
        PRIMARY KEY (caller, tool)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX ledger_caller_tool ON ledger_caller (tool, last);
    CREATE INDEX ledger_caller_last ON ledger_caller (last);

    -- Text of the last failure of each tool, retained as long as individual calls.
    CREATE TABLE ledger_failure (
        tool INTEGER PRIMARY KEY,
        at   INTEGER NOT NULL,
        text TEXT NOT NULL
    ) STRICT;
",
        sqlite: "",
        postgres: "
    -- Ids of written batches, by which one whose end was unknown is not written again.
    CREATE TABLE ledger_batch (id text PRIMARY KEY, day bigint NOT NULL);

    -- Key of the pseudonyms of callers, which a file has its own file for.
    CREATE TABLE ledger_key (key text NOT NULL);
    INSERT INTO ledger_key VALUES (replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''));
",
    },
    SchemaStep {
        // 2: details of single calls. A refused call is in no index that statistics use.
        both: "
    ALTER TABLE ledger_call ADD COLUMN id TEXT NOT NULL DEFAULT '';
    ALTER TABLE ledger_call ADD COLUMN principal TEXT NOT NULL DEFAULT '';
    ALTER TABLE ledger_call ADD COLUMN client TEXT NOT NULL DEFAULT '';
    ALTER TABLE ledger_call ADD COLUMN refused INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE ledger_call ADD COLUMN rule TEXT;
    ALTER TABLE ledger_call ADD COLUMN approval TEXT;
    ALTER TABLE ledger_call ADD COLUMN total_us INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE ledger_call ADD COLUMN waited_us INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE ledger_call ADD COLUMN tokens_before INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE ledger_call ADD COLUMN trace TEXT;
    ALTER TABLE ledger_call ADD COLUMN error TEXT;
    DROP INDEX ledger_call_tool;
    DROP INDEX ledger_call_caller;
    CREATE INDEX ledger_call_tool ON ledger_call (tool, at, caller) WHERE refused = 0;
    CREATE INDEX ledger_call_caller ON ledger_call (caller, at, tool) WHERE refused = 0;
",
        sqlite: "",
        postgres: "",
    },
    SchemaStep {
        // 3: arguments and replies, if the configuration says so, with their bytes.
        both: "
    ALTER TABLE ledger_call ADD COLUMN body_bytes INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE ledger_call ADD COLUMN arguments TEXT;
    ALTER TABLE ledger_call ADD COLUMN reply TEXT;
    CREATE INDEX ledger_call_bodies ON ledger_call (number, body_bytes) WHERE body_bytes > 0;
",
        sqlite: "",
        postgres: "",
    },
];
