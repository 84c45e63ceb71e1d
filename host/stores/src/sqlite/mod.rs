//! Everything that is kept in SQLite, in files below the data folder. No server, nothing to set up.

pub(crate) mod claim;
pub(crate) mod copy;
mod db;
mod error;
mod functions;
pub(crate) mod knowledge;
pub(crate) mod kv;
mod migrations;
