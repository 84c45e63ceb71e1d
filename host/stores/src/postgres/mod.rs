//! Everything that is kept on a PostgreSQL server: for houses with more than one host, or with more pages than
//! a file should hold.
//!
//! Nothing is opened before the first call that needs it. A server that cannot be reached is asked again
//! after a while, and in between every call says at once why; no restart is needed.

mod address;
mod error;
pub(crate) mod knowledge;
mod migrations;
mod server;
mod session;
mod tls;
mod vectors;

pub use address::{PostgresConfig, Times};
