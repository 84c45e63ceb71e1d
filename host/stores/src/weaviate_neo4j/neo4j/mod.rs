//! The server that keeps the pages: Neo4j over Bolt, spoken to in plain Cypher with parameters. Nothing that a
//! caller wrote ever becomes part of a statement.
//!
//! Connections are made when they are needed and kept; every statement has a time. Work runs in a task of its
//! own: it comes to its end even where nobody waits for it any more, so a page and its file never part.

mod outbox;
mod read;
mod rows;
mod schema;
mod transaction;
mod vectors;
mod write;

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use gatehouse_core::{Fault, http::Redactor, lock};
use gatehouse_net::{install_crypto, plain_cause};
use neo4rs::{ConfigBuilder, Graph, Neo4jErrorKind, Row};

pub(super) use outbox::{PendingPage, State};
pub(super) use schema::SCHEMA;
use transaction::{CypherStatement, Neo4jTransaction, cypher};

use super::{
    config::{RemoteTimeouts, WeaviateNeo4jConfig},
    remote::RemoteServer,
};
use crate::worker::back_off;

/// Connections to Neo4j at the same time.
const MAX_CONNECTIONS: usize = 8;

/// How often a transaction that lost against another one is made again.
const MAX_ATTEMPTS: u64 = 16;

/// Neo4j.
pub(super) struct Neo4jClient {
    remote: RemoteServer,
    settings: neo4rs::Config,
    timing: RemoteTimeouts,
    graph: Mutex<Option<Graph>>,
    /// Whether the schema was found or made.
    ready: tokio::sync::OnceCell<()>,
    /// One write of this host at a time: writers only get in each other's way.
    writing: tokio::sync::Mutex<()>,
}

/// A failure inside a transaction.
#[derive(Debug)]
pub(super) enum Neo4jError {
    /// The client or the server said so.
    Neo4j(neo4rs::Error),
    /// There was no answer in this time.
    Slow(Duration),
    /// A stored value is not what was stored.
    Damaged(String),
    /// It is not Neo4j's failure.
    Fault(Fault),
}

impl From<neo4rs::Error> for Neo4jError {
    fn from(error: neo4rs::Error) -> Self {
        Self::Neo4j(error)
    }
}

impl From<neo4rs::DeError> for Neo4jError {
    fn from(error: neo4rs::DeError) -> Self {
        Self::Damaged(error.to_string())
    }
}

impl From<Fault> for Neo4jError {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl Neo4jClient {
    /// Opens nothing yet. Faults where the address cannot be used.
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
        let shown = config.neo4j_address()?;
        let hint = "Start Neo4j, or correct NEO4J_URI; the next call tries again.";
        let redactor = Redactor::new([&config.neo4j_password]);
        let pauses = (config.timing.first_pause, config.timing.longest_pause);
        Ok(Self {
            remote: RemoteServer::new(("neo4j", shown, hint), redactor, pauses),
            settings,
            timing: config.timing,
            graph: Mutex::default(),
            ready: tokio::sync::OnceCell::new(),
            writing: tokio::sync::Mutex::default(),
        })
    }

    /// Where it is, without credentials.
    pub(super) fn address(&self) -> &str {
        self.remote.address()
    }

    /// Begins a transaction, on a connection that may have to be made first.
    async fn begin(&self) -> Result<Neo4jTransaction, Fault> {
        self.remote.check()?;
        let limit = self.timing.connect;
        let begun = async { Ok(self.graph()?.start_txn().await?) };
        match tokio::time::timeout(limit, begun).await.unwrap_or(Err(Neo4jError::Slow(limit))) {
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

    /// Runs work in a task of its own.
    async fn run_detached<T: Send + 'static>(
        work: impl Future<Output = Result<T, Fault>> + Send + 'static,
    ) -> Result<T, Fault> {
        tokio::spawn(work).await.unwrap_or_else(|_| {
            Err(Fault::internal("knowledge engine 'neo4j': the work ended without an answer")
                .hint("This is a mistake in gatehouse or its Bolt client; the log on stderr says where."))
        })
    }

    /// Runs work that reads.
    async fn reading<T: Send + 'static, F>(
        self: &Arc<Self>,
        work: impl FnOnce(Neo4jTransaction) -> F + Send + 'static,
    ) -> Result<T, Fault>
    where
        F: Future<Output = Result<T, Neo4jError>> + Send,
    {
        let me = Arc::clone(self);
        Self::run_detached(async move {
            let transaction = me.begin().await?;
            work(transaction).await.map_err(|error| me.fault(error))
        })
        .await
    }

    /// Runs one statement that reads, and makes something of each row.
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

    /// One number that a statement counts.
    async fn count(self: &Arc<Self>, statement: CypherStatement) -> Result<u32, Fault> {
        let counted = self.query_rows(statement, |row| Ok(row.get::<u32>("n")?)).await?;
        Ok(counted.first().copied().unwrap_or_default())
    }

    /// Runs work that writes and commits, and runs it again where another writer was faster.
    async fn writes<T: Send + 'static, F>(
        self: &Arc<Self>,
        work: impl Fn(Neo4jTransaction) -> F + Send + 'static,
    ) -> Result<T, Fault>
    where
        F: Future<Output = Result<T, Neo4jError>> + Send,
    {
        let me = Arc::clone(self);
        Self::run_detached(async move {
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
        let login = "Set NEO4J_USER and NEO4J_PASSWORD to an account that the server knows.";
        match error {
            Neo4jError::Fault(fault) => fault,
            Neo4jError::Slow(limit) => self.remote.record_failure(&format!("no answer within {limit:?}")),
            Neo4jError::Damaged(what) => self.remote.refused(
                &format!("a stored page cannot be read: {what}"),
                "Index the wiki again with kg_index and clear_existing.",
            ),
            Neo4jError::Neo4j(error) => match &error {
                neo4rs::Error::AuthenticationError(said) => {
                    let failed = self.remote.record_failure(&format!("the login failed: {said}"));
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
    /// Whether another transaction was faster, and the same work may succeed now.
    fn is_conflict(&self) -> bool {
        match self {
            Self::Neo4j(neo4rs::Error::Neo4j(error)) => {
                error.kind() == Neo4jErrorKind::Transient
                    || error.code().contains("ConstraintValidationFailed")
            }
            _ => false,
        }
    }
}
