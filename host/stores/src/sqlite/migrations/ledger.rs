//! Schema of the call ledger.

use crate::sql::schema::{SchemaStep, Steps};

pub(in crate::sqlite) const LEDGER: Steps = &[SchemaStep::sqlite(
    // 1: individual calls temporarily, daily totals permanently. Times are in Unix milliseconds, days in UTC days since
    // 1970. `ending` is a code of `ledger/write.rs`; `last_failed` is time * 16 + ending, 0 if no call failed.
    "
    CREATE TABLE tool (
        number INTEGER PRIMARY KEY,
        kind   TEXT NOT NULL,
        source TEXT NOT NULL,
        name   TEXT NOT NULL,
        UNIQUE (kind, source, name)
    ) STRICT;

    CREATE TABLE call (
        number        INTEGER PRIMARY KEY,
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
    CREATE INDEX call_at ON call (at);
    CREATE INDEX call_tool ON call (tool, at, caller);
    CREATE INDEX call_caller ON call (caller, at, tool);

    CREATE TABLE day (
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

    CREATE TABLE latency (
        tool   INTEGER NOT NULL,
        day    INTEGER NOT NULL,
        bucket INTEGER NOT NULL,
        calls  INTEGER NOT NULL,
        PRIMARY KEY (tool, day, bucket)
    ) STRICT, WITHOUT ROWID;

    -- Callers of each tool, retained as long as individual calls.
    CREATE TABLE caller (
        caller INTEGER NOT NULL,
        tool   INTEGER NOT NULL,
        last   INTEGER NOT NULL,
        PRIMARY KEY (caller, tool)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX caller_tool ON caller (tool, last);
    CREATE INDEX caller_last ON caller (last);

    -- Text of the last failure of each tool, retained as long as individual calls.
    CREATE TABLE failure (
        tool INTEGER PRIMARY KEY,
        at   INTEGER NOT NULL,
        text TEXT NOT NULL
    ) STRICT;
    ",
)];
