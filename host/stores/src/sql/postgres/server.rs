//! A lazily connected PostgreSQL server with one connection pool. Its certificate is always verified.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use deadpool_postgres::{
    Client, Hook, HookError, Manager, ManagerConfig, Pool, PoolError, RecyclingMethod, Runtime, TimeoutType,
};
use gatehouse_core::{lock, outcome::Fault};
use gatehouse_net::{Backoff, CircuitBreaker};
use tokio::time::{Instant, timeout, timeout_at};
use tokio_postgres::error::SqlState;
use tokio_postgres_rustls::MakeRustlsConnect;

use super::{
    PostgresConfig, error::StoreError, migrations::SchemaPart, session::PostgresSession, tls::tls_connector,
};
use crate::worker::run_blocking;

const MAX_CONNECTIONS: usize = 8;

/// Pause before the next look for a connection, if the server accepts no more.
const REFUSED_PAUSE: Duration = Duration::from_millis(25);

/// Ownership of the tables on a server.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ServerTables {
    /// Tables of gatehouse, migrated before use.
    Own(SchemaPart),
    /// Tables of another program. Sessions are read-only.
    Foreign,
}

/// A connection pool and the migrations of its tables.
pub(crate) struct PostgresServer {
    subject: &'static str,
    pub(super) config: PostgresConfig,
    pub(super) tables: ServerTables,
    connections: Mutex<Option<ConnectionPool>>,
    breaker: CircuitBreaker<Fault>,
    /// True if migrations have run.
    pub(super) ready: AtomicBool,
    migrating: tokio::sync::Mutex<()>,
    /// Held by the caller that waits for a connection because the server accepts no more.
    waiting: tokio::sync::Mutex<()>,
}

#[derive(Clone)]
struct ConnectionPool {
    pool: Pool,
    tls: MakeRustlsConnect,
}

impl PostgresServer {
    pub(crate) fn new(subject: &'static str, config: PostgresConfig, tables: ServerTables) -> Arc<Self> {
        let backoff = Backoff { first: config.times.first_pause, longest: config.times.longest_pause };
        Arc::new(Self {
            subject,
            config,
            tables,
            connections: Mutex::default(),
            breaker: CircuitBreaker::new(backoff),
            ready: AtomicBool::new(false),
            migrating: tokio::sync::Mutex::default(),
            waiting: tokio::sync::Mutex::default(),
        })
    }

    pub(crate) fn address(&self) -> &str {
        &self.config.address
    }

    /// Returns a connection without migrating or checking the tables.
    pub(super) async fn session(self: &Arc<Self>) -> Result<PostgresSession, Fault> {
        self.breaker.check().map_err(|(fault, wait)| {
            let message = format!("{}; next try in {:.1} s", fault.message, wait.as_secs_f64());
            Fault { message, ..fault }
        })?;
        let ConnectionPool { pool, .. } = self.get_or_connect().await?;
        match self.client(&pool).await {
            Ok(client) => {
                self.breaker.record_success();
                Ok(PostgresSession::new(client, Arc::clone(self)))
            }
            Err(error) => Err(self.connection_fault(error)),
        }
    }

    /// Takes a connection. If the server refuses a new one because it has too many, waits for one that the pool has.
    async fn client(&self, pool: &Pool) -> Result<Client, PoolError> {
        let first = pool.get().await;
        if !first.as_ref().is_err_and(is_refused) {
            return first;
        }
        let deadline = Instant::now() + self.config.times.wait;
        // One caller asks the server again, and the others queue.
        let Ok(_turn) = timeout_at(deadline, self.waiting.lock()).await else { return first };
        loop {
            let next = pool.get().await;
            if !next.as_ref().is_err_and(is_refused) || Instant::now() >= deadline {
                return next;
            }
            tokio::time::sleep(REFUSED_PAUSE).await;
        }
    }

    /// Runs pending migrations on first use.
    pub(super) async fn migrate_once(self: &Arc<Self>) -> Result<(), Fault> {
        let ServerTables::Own(part) = self.tables else { return Ok(()) };
        if self.ready.load(Ordering::Acquire) {
            return Ok(());
        }
        let turn = timeout(self.config.times.wait, self.migrating.lock()).await;
        let _turn = turn.map_err(|_| self.fault(StoreError::Timeout(self.config.times.wait)))?;
        if self.ready.load(Ordering::Acquire) {
            return Ok(());
        }
        let session = self.session().await?.with_migration_timeout();
        let work = async {
            let encoding: String = session.value("SHOW server_encoding", &[]).await?;
            if encoding != "UTF8" {
                return Err(StoreError::Encoding(encoding));
            }
            // Refuses other versions before it changes anything.
            part.checked_version(&session).await?;
            for part in part.all() {
                part.migrate(&session, None).await?;
            }
            Ok(())
        };
        let result = work.await;
        session.finish(result).await?;
        self.ready.store(true, Ordering::Release);
        Ok(())
    }

    pub(crate) fn fault(&self, error: StoreError) -> Fault {
        let lacks_rights = error.is_denied();
        let fault = error.into_server_fault(self.subject, &self.config.address);
        match self.tables {
            ServerTables::Foreign if lacks_rights => {
                fault.hint("Grant the user SELECT on the tables 'repositories' and 'repository_files'.")
            }
            _ => fault,
        }
    }

    pub(super) fn close_idle(&self) {
        if let Some(ConnectionPool { pool, .. }) = &*lock(&self.connections) {
            pool.retain(|_, _| false);
        }
    }

    /// Repeats the migration check before the next use.
    pub(super) fn recheck_schema(&self) {
        self.ready.store(false, Ordering::Release);
    }

    pub(super) fn connector(&self) -> Option<MakeRustlsConnect> {
        lock(&self.connections).as_ref().map(|connections| connections.tls.clone())
    }

    async fn get_or_connect(&self) -> Result<ConnectionPool, Fault> {
        if let Some(connections) = &*lock(&self.connections) {
            return Ok(connections.clone());
        }
        let tls = self.config.tls.clone();
        let tls = run_blocking(move || Ok(tls_connector(&tls))).await?.map_err(|error| self.fault(error))?;
        let pool = self.pool(tls.clone())?;
        // Two callers can race; use the first pool.
        Ok(lock(&self.connections).get_or_insert(ConnectionPool { pool, tls }).clone())
    }

    fn pool(&self, tls: MakeRustlsConnect) -> Result<Pool, Fault> {
        let times = self.config.times;
        let ms = |time: Duration| time.as_millis().max(1);
        // Server-side limits end statements, locks and sessions of dead hosts even if no client notices.
        let tables = match self.tables {
            ServerTables::Own(_) => "SET search_path = gatehouse; ",
            ServerTables::Foreign => "SET default_transaction_read_only = on; ",
        };
        let settings = format!(
            "{tables}SET statement_timeout = {}; SET lock_timeout = {}; \
             SET idle_in_transaction_session_timeout = {}; SET client_min_messages = error",
            ms(times.statement),
            ms(times.lock),
            ms(times.statement),
        );
        let settle = Hook::async_fn(move |client: &mut deadpool_postgres::ClientWrapper, _| {
            let settings = settings.clone();
            Box::pin(async move { client.batch_execute(&settings).await.map_err(HookError::Backend) })
        });
        let recycling = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let manager = Manager::from_config(self.config.client.clone(), tls, recycling);
        Pool::builder(manager)
            .max_size(MAX_CONNECTIONS)
            .runtime(Runtime::Tokio1)
            .wait_timeout(Some(times.wait))
            .create_timeout(Some(times.connect))
            .recycle_timeout(Some(times.connect))
            .post_create(settle)
            .build()
            .map_err(|error| Fault::internal(format!("cannot create the connection pool: {error}")))
    }

    /// Converts a pool error to a fault. A failure of the server opens the circuit breaker. A server that accepts no more
    /// connections still serves those that are open.
    fn connection_fault(&self, error: PoolError) -> Fault {
        let times = &self.config.times;
        let is_refused = is_refused(&error);
        let error = match error {
            PoolError::Timeout(TimeoutType::Wait) => {
                return self
                    .fault(StoreError::PoolExhausted { connections: MAX_CONNECTIONS, waited: times.wait });
            }
            PoolError::Timeout(_) => StoreError::Timeout(times.connect),
            PoolError::Backend(error) | PoolError::PostCreateHook(HookError::Backend(error)) => error.into(),
            other => return Fault::internal(format!("the connection pool failed: {other}")),
        };
        let fault = self.fault(error);
        if !is_refused {
            self.breaker.record_failure(fault.clone());
        }
        fault
    }
}

/// Returns true if the server has too many connections, of all its clients or of this user.
fn is_refused(error: &PoolError) -> bool {
    let (PoolError::Backend(error) | PoolError::PostCreateHook(HookError::Backend(error))) = error else {
        return false;
    };
    error.code() == Some(&SqlState::TOO_MANY_CONNECTIONS)
}
