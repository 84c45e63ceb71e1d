//! Stores on SQLite, in files in the data directory.

pub(crate) mod artifacts;
pub(crate) mod audit;
pub(crate) mod copy;
mod db;
pub(crate) mod documents;
mod error;
pub(crate) mod keys;
pub(crate) mod knowledge;
pub(crate) mod kv;
pub(crate) mod ledger;
pub(crate) mod lock;
mod migrations;
mod query;
#[cfg(any(test, fuzzing))]
pub(crate) use query::fuzz_question;
mod statements;
pub(crate) mod tools;
mod vector_cache;
mod vectors;
mod words;
