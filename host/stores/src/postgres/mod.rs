//! Storage on a PostgreSQL server, for several hosts or large graphs.
//!
//! The first call that needs a connection opens it. While the server is unreachable, calls fail immediately with the
//! last error, and connecting is retried with backoff. A restart is not needed.

mod address;
pub(crate) mod documents;
mod error;
mod migrations;
mod server;
mod session;
mod terms;
mod tls;
mod transactions;
mod vectors;
mod words;

pub use address::{PostgresConfig, PostgresTimeouts};
pub use documents::{DocumentTables, PostgresDocumentsConfig};
pub(crate) use error::column;
pub(crate) use migrations::{ARTIFACTS, KEYS, KNOWLEDGE, KV};
pub(crate) use server::{PostgresServer, ServerTables};
pub(crate) use session::{PostgresSession, SqlValues};
pub(crate) use terms::{IndexTerms, with_variants};
pub(crate) use vectors::{PgvectorQuery, PostgresVectors, VectorSearch};
pub(crate) use words::{
    MAX_NAME_ROWS, QueryForm, WEIGHTED_FORMS_SQL, WeightedForms, forms, forms_cte, name_range, score_sql,
    total_score_sql,
};
