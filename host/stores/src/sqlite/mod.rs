//! Everything that is kept in SQLite, in one file below the data folder. No server, nothing to set up.

mod db;
mod error;
pub(crate) mod knowledge;
mod migrations;
