//! Neo4j client over Bolt. Statements are constant Cypher; values are passed only as parameters.
//!
//! Connections are opened on demand and pooled, and every statement has a timeout. Work runs in a detached task, so
//! that a dropped caller cannot interrupt it between the page and its file.

mod read;
mod rows;
mod schema;
mod transaction;
mod vectors;
mod words;
mod write;

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use gatehouse_core::{Fault, http::Redactor, lock};
use gatehouse_net::{install_crypto, plain_cause};
use neo4rs::{ConfigBuilder, Graph, Neo4jErrorKind, Row};

pub(super) use schema::SCHEMA;
use transaction::{CypherStatement, Neo4jTransaction, cypher};
pub(super) use words::PageFilter;

use super::config::{RemoteTimeouts, WeaviateNeo4jConfig};
use crate::{
    remote::RemoteServer,
    worker::{back_off, run_detached},
};

const MAX_CONNECTIONS: usize = 8;

/// Maximum retries of a transaction that conflicts with another writer.
const MAX_ATTEMPTS: u64 = 16;

pub(super) struct Neo4jClient {
    remote: RemoteServer,
    settings: neo4rs::Config,
    timing: RemoteTimeouts,
    graph: Mutex<Option<Graph>>,
    /// Set once the schema is up to date.
    ready: tokio::sync::OnceCell<()>,
    /// Serializes the writes of this host, which would only conflict.
    writing: tokio::sync::Mutex<()>,
}

/// A failure within a transaction.
#[derive(Debug, thiserror::Error)]
pub(super) enum Neo4jError {
    #[error(transparent)]
    Neo4j(#[from] neo4rs::Error),
    #[error("no answer within {0:?}")]
    Slow(Duration),
    #[error("cannot read a stored page: {0}")]
    Damaged(String),
    /// A fault that did not come from Neo4j.
    #[error(transparent)]
    Fault(#[from] Fault),
}

impl From<neo4rs::DeError> for Neo4jError {
    fn from(error: neo4rs::DeError) -> Self {
        Self::invalid(error)
    }
}

impl Neo4jClient {
    /// Creates a client without connecting. Fails if the address is invalid.
    pub(super) fn new(config: &WeaviateNeo4jConfig) -> Result<Self, Fault> {
        let address = config.neo4j()?;
        let settings = ConfigBuilder::new()
            .uri(address.as_str())
            .user(&config.neo4j_user)
            .password(config.neo4j_password.reveal())
            .connection_timeout(config.timing.connect.max(config.timing.statement))
            .max_connections(MAX_CONNECTIONS);
        let settings = match &config.neo4j_database {
            Some(name) => settings.db(name.as_str()),
            None => settings,
        };
        let settings = settings.build().map_err(|error| Fault::invalid(format!("NEO4J_URI: {error}")))?;
        let display_address = config.neo4j_address()?;
        let hint = "Start Neo4j, or correct NEO4J_URI; the next call tries again.";
        let redactor = Redactor::new([&config.neo4j_password]);
        let pauses = (config.timing.first_pause, config.timing.longest_pause);
        Ok(Self {
            remote: RemoteServer::new(("knowledge engine 'neo4j'", display_address, hint), redactor, pauses),
            settings,
            timing: config.timing,
            graph: Mutex::default(),
            ready: tokio::sync::OnceCell::new(),
            writing: tokio::sync::Mutex::default(),
        })
    }

    pub(super) fn address(&self) -> &str {
        self.remote.address()
    }

    async fn begin(&self) -> Result<Neo4jTransaction, Fault> {
        self.remote.check()?;
        let limit = self.timing.connect;
        let start = async { Ok(self.graph()?.start_txn().await?) };
        match tokio::time::timeout(limit, start).await.unwrap_or(Err(Neo4jError::Slow(limit))) {
            Ok(inner) => {
                self.remote.record_success();
                Ok(Neo4jTransaction::new(inner, self.timing.statement))
            }
            Err(error) => Err(self.fault(error)),
        }
    }

    fn graph(&self) -> Result<Graph, Neo4jError> {
        let mut graph = lock(&self.graph);
        if let Some(graph) = &*graph {
            return Ok(graph.clone());
        }
        install_crypto();
        Ok(graph.insert(Graph::connect(self.settings.clone())?).clone())
    }

    /// Runs read-only work in a transaction.
    async fn reading<T: Send + 'static, F>(
        self: &Arc<Self>,
        work: impl FnOnce(Neo4jTransaction) -> F + Send + 'static,
    ) -> Result<T, Fault>
    where
        F: Future<Output = Result<T, Neo4jError>> + Send,
    {
        let me = Arc::clone(self);
        run_detached(async move {
            let transaction = me.begin().await?;
            work(transaction).await.map_err(|error| me.fault(error))
        })
        .await
    }

    async fn query_rows<T: Send + 'static>(
        self: &Arc<Self>,
        statement: CypherStatement,
        one: fn(&Row) -> Result<T, Neo4jError>,
    ) -> Result<Vec<T>, Fault> {
        self.reading(move |mut transaction| async move {
            let rows = transaction.rows(statement).await?;
            transaction.rollback().await;
            rows.iter().map(one).collect()
        })
        .await
    }

    /// Returns the number `n` of a counting statement.
    async fn count(self: &Arc<Self>, statement: CypherStatement) -> Result<u32, Fault> {
        let counted = self.query_rows(statement, |row| Ok(row.get::<u32>("n")?)).await?;
        Ok(counted.first().copied().unwrap_or_default())
    }

    /// Runs work that writes and commits. Retries it after a conflict with another writer.
    async fn writes<T: Send + 'static, F>(
        self: &Arc<Self>,
        work: impl Fn(Neo4jTransaction) -> F + Send + 'static,
    ) -> Result<T, Fault>
    where
        F: Future<Output = Result<T, Neo4jError>> + Send,
    {
        let me = Arc::clone(self);
        run_detached(async move {
            me.prepare().await?;
            let _one = me.writing.lock().await;
            let mut attempt = 0;
            loop {
                back_off(attempt).await;
                let transaction = me.begin().await?;
                match work(transaction).await {
                    Err(error) if attempt < MAX_ATTEMPTS && error.is_conflict() => attempt += 1,
                    done => return done.map_err(|error| me.fault(error)),
                }
            }
        })
        .await
    }

    fn fault(&self, error: Neo4jError) -> Fault {
        let login = "Set NEO4J_USER and NEO4J_PASSWORD to an existing account.";
        match error {
            Neo4jError::Fault(fault) => fault,
            Neo4jError::Slow(_) => self.remote.record_failure(&error.to_string()),
            Neo4jError::Damaged(_) => {
                let hint = "Index the wiki again with kg_index and clear_existing.";
                self.remote.refused(&error.to_string(), hint)
            }
            Neo4jError::Neo4j(error) => match &error {
                neo4rs::Error::AuthenticationError(said) => {
                    let failed = self.remote.record_failure(&format!("login failed: {said}"));
                    Fault { retryable: false, hint: Some(login.to_owned()), ..failed }
                }
                neo4rs::Error::Neo4j(said) => match said.kind() {
                    Neo4jErrorKind::Client(neo4rs::Neo4jClientErrorKind::Security(_)) => {
                        self.remote.refused(&format!("{}: {}", said.code(), said.message()), login)
                    }
                    _ => self.remote.unavailable(&format!("{}: {}", said.code(), said.message())),
                },
                other => self.remote.record_failure(&plain_cause(other)),
            },
        }
    }
}

impl Neo4jError {
    fn invalid(error: impl ToString) -> Self {
        Self::Damaged(error.to_string())
    }

    /// Returns `true` if another transaction caused the failure and a retry can succeed.
    fn is_conflict(&self) -> bool {
        match self {
            Self::Neo4j(neo4rs::Error::Neo4j(error)) => {
                error.kind() == Neo4jErrorKind::Transient && !error.code().contains("OutOfMemory")
                    || error.code().contains("ConstraintValidationFailed")
            }
            _ => false,
        }
    }
}
