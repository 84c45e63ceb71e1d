//! SQLite: files of the data directory, their words and vectors.

pub(crate) mod db;
pub(crate) mod error;
mod kind;
mod lock;
pub(crate) mod maintenance;
pub(crate) mod migrations;
mod query;
mod session;
#[cfg(any(test, fuzzing))]
pub(crate) use query::fuzz_question;
mod statements;
mod vector_cache;
pub(crate) mod vectors;
mod words;

pub use self::lock::DatabaseLock;
pub(crate) use self::{
    db::{Database as SqliteDatabase, DatabaseProfile, identity},
    kind::FileKind,
    migrations::{separated, vector_state, vector_tables, with_variants},
    query::list,
    session::SqliteSession,
    statements::CachedStatements,
    vector_cache::VectorCache,
    words::{RowFilter, WordIndex, best, search as search_words, search_prefixes},
};
#[cfg(test)]
pub(crate) use self::{migrations::migrate, words::match_sql};
