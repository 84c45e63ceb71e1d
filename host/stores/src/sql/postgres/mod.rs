//! Storage on a PostgreSQL server, for several hosts or large graphs.
//!
//! The first call that needs a connection opens it. While the server is unreachable, calls fail immediately with the
//! last error, and connecting is retried with backoff. A restart is not needed.

mod address;
pub(crate) mod error;
mod migrations;
mod server;
mod session;
mod terms;
mod tls;
mod transactions;
mod vectors;
mod words;

pub use address::{PostgresConfig, PostgresTimeouts};
pub(crate) use error::{column, count as to_count};
pub(crate) use migrations::{ITEMS, SchemaPart};
pub(crate) use server::{PostgresServer, ServerTables};
pub(crate) use session::{PostgresSession, SqlValues};
pub(crate) use terms::{IndexTerms, index_form, with_variants};
pub(crate) use vectors::{PgvectorQuery, PostgresVectors, VectorSearch};
pub(crate) use words::{
    MAX_NAME_ROWS, QueryForm, WEIGHTED_FORMS_SQL, WeightedForms, bm25, forms, forms_cte,
    inverse_document_frequency, name_range, occurrences_sql, prefix_forms, score_sql, total_score_sql,
};
