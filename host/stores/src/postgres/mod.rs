//! Everything that is kept on a PostgreSQL server: for houses with more than one host, or with more pages than
//! a file should hold.
//!
//! Nothing is opened before the first call that needs it. A server that cannot be reached is asked again
//! after a while, and in between every call says at once why; no restart is needed.

mod address;
pub(crate) mod artifacts;
pub(crate) mod documents;
mod error;
pub(crate) mod knowledge;
mod migrations;
mod server;
mod session;
mod terms;
mod tls;
mod vectors;
mod words;

pub use address::{PostgresConfig, PostgresTimeouts};
pub use documents::{DocumentTables, PostgresDocumentsConfig};
