//! SQL that runs on every engine: one unit of work, its statements, values and rows.
//!
//! Statements are written once, in a common form that a [`Session`] translates:
//!
//! | written | SQLite | PostgreSQL |
//! |---|---|---|
//! | `?1` | `?1` | `$1` |
//! | `@numbers(?1)`, `@texts(?1)` | rows of a JSON list | rows of an array |
//! | `@json(?1)` | elements of a JSON list, of which `value ->> 0` is a part | the same |
//! | `@sqlite(INDEXED BY i)` | `INDEXED BY i` | nothing |
//! | `@max(a, b)` | `max(a, b)` | `greatest(a, b)` |
//! | `instr(a, b)` | the same | `strpos(a, b)` |
//! | `@lock(FOR UPDATE)` | nothing, as one transaction writes at a time | `FOR UPDATE` |
//!
//! A list and tables are joined by `CROSS JOIN`, which SQLite does not reorder. In another order it reads the whole list
//! for each row of a table.

pub(crate) mod batch;
pub(crate) mod database;
pub(crate) mod error;
#[cfg(feature = "postgres")]
pub(crate) mod postgres;
pub(crate) mod schema;
pub(crate) mod session;
pub(crate) mod sqlite;
pub(crate) mod value;
pub(crate) mod vectors;

pub(crate) use self::{
    database::{Commit, Database, Turn, complete},
    error::{Result, StoreError},
    session::Session,
    value::{SqlRow, SqlValue, values},
};
