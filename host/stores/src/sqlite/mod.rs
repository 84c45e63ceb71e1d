//! Stores on SQLite, in files in the data directory.

pub(crate) mod copy;
mod db;
mod error;
pub(crate) mod lock;
mod migrations;
mod query;
mod session;
#[cfg(any(test, fuzzing))]
pub(crate) use query::fuzz_question;
mod statements;
pub(crate) mod tools;
mod vector_cache;
pub(crate) mod vectors;
mod words;

pub(crate) use self::{
    copy::DataFile,
    db::{Database as SqliteDatabase, DatabaseProfile, identity},
    migrations::{separated, vector_state, vector_tables, with_variants},
    query::list,
    session::SqliteSession,
    statements::CachedStatements,
    vector_cache::VectorCache,
    words::{RowFilter, WordIndex, best, search as search_words, search_prefixes},
};
#[cfg(test)]
pub(crate) use self::{migrations::migrate, words::match_sql};
