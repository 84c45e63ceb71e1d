//! What can go wrong on the server, and the one place where it becomes a fault that people read. Nothing here
//! repeats a statement, a value or a credential.

use std::time::Duration;

use gatehouse_core::outcome::Fault;
use gatehouse_net::root_cause;
use tokio_postgres::{Row, error::SqlState, types::FromSqlOwned};

/// A failure inside a piece of work on the server.
#[derive(Debug, thiserror::Error)]
pub(super) enum StoreError {
    /// The server could not do it, or is not there.
    #[error(transparent)]
    Server(#[from] tokio_postgres::Error),
    /// It did not answer in time.
    #[error("it has not answered for {} s", .0.as_secs_f64())]
    Silent(Duration),
    /// All connections are in use.
    #[error("all {connections} connections have been in use for {} s", .waited.as_secs_f64())]
    Busy {
        /// How many there are.
        connections: usize,
        /// How long one was waited for.
        waited: Duration,
    },
    /// A newer gatehouse made the tables.
    #[error("its schema has version {found}, newer than {known}, the newest that this gatehouse knows")]
    Newer {
        /// Of the tables.
        found: i64,
        /// Of this binary.
        known: i64,
    },
    /// The database cannot hold every text.
    #[error("the database has the encoding {0}, which cannot hold every text")]
    Encoding(String),
    /// The certificates cannot be used.
    #[error("{0}")]
    Tls(String),
    /// The tables were there, and are not any more.
    #[error("its tables are gone")]
    Gone,
    /// The tables are another program's, and not such as can be read here.
    #[error("{0}")]
    Unfit(String),
    /// A stored value is not what was stored.
    #[error("what is stored there cannot be read: {0}")]
    Damaged(String),
    /// It is not the server's failure.
    #[error(transparent)]
    Fault(#[from] Fault),
}

impl StoreError {
    /// Whether the connection, and probably every other to this server, is of no more use.
    pub(super) fn is_lost(&self) -> bool {
        match self {
            Self::Silent(_) => true,
            Self::Server(error) => error.is_closed() || error.code().is_none_or(ends_connection),
            _ => false,
        }
    }

    /// Whether the tables are not there (any more).
    pub(super) fn is_missing(&self) -> bool {
        let missing = [SqlState::UNDEFINED_TABLE, SqlState::INVALID_SCHEMA_NAME];
        match self {
            Self::Gone | Self::Unfit(_) => true,
            Self::Server(error) => error.code().is_some_and(|code| missing.contains(code)),
            _ => false,
        }
    }

    /// Whether the user may not do it.
    pub(super) fn is_denied(&self) -> bool {
        matches!(self, Self::Server(error) if error.code() == Some(&SqlState::INSUFFICIENT_PRIVILEGE))
    }

    /// Whether there is no room on the server's disk.
    pub(super) fn is_full(&self) -> bool {
        matches!(self, Self::Server(error) if error.code() == Some(&SqlState::DISK_FULL))
    }

    /// What people read. `subject` says whose server it is, `knowledge engine 'postgres'` for example.
    pub(super) fn into_fault(self, subject: &str, address: &str) -> Fault {
        let (cause, hint, retryable) = match &self {
            Self::Fault(fault) => return fault.clone(),
            Self::Newer { .. } => {
                (self.to_string(), "Update gatehouse, or name another database in DATABASE_URL.", false)
            }
            Self::Encoding(_) => {
                (self.to_string(), "Name a database with the encoding UTF8 in DATABASE_URL.", false)
            }
            Self::Tls(_) => (self.to_string(), "Correct sslrootcert in DATABASE_URL.", false),
            Self::Gone => (self.to_string(), "Try again: they are made anew.", true),
            Self::Unfit(_) => (self.to_string(), "docs/documents.md says what tables can be read.", false),
            Self::Damaged(_) => (self.to_string(), "Run `gatehouse doctor`.", false),
            Self::Busy { .. } => (self.to_string(), "Try again.", true),
            Self::Silent(_) => {
                (self.to_string(), "Check the server and the network; nothing was changed.", true)
            }
            Self::Server(error) => explain_server_error(error),
        };
        let mut fault = Fault::unavailable(format!("{subject} at {address}: {cause}")).hint(hint);
        fault.retryable = retryable;
        fault
    }
}

fn ends_connection(code: &SqlState) -> bool {
    // Class 57P: shut down, crashed, starting.
    code.code().starts_with("57P") || code.code().starts_with("08")
}

/// Plain words, what to do about it, and whether it passes by itself.
fn explain_server_error(error: &tokio_postgres::Error) -> (String, &'static str, bool) {
    let Some(server) = error.as_db_error() else { return explain_connection_error(error) };
    let code = server.code();
    let (words, hint, retryable) =
        if [SqlState::INVALID_PASSWORD, SqlState::INVALID_AUTHORIZATION_SPECIFICATION].contains(code) {
            // The server's own words would name the user.
            return ("user and password are refused".into(), "Correct them in DATABASE_URL.", false);
        } else if *code == SqlState::INVALID_CATALOG_NAME {
            ("there is no such database", "Make it (`createdb`), or correct DATABASE_URL.", false)
        } else if *code == SqlState::INSUFFICIENT_PRIVILEGE {
            (
                "the user may not do that",
                "Grant the user CREATE on the database, or make the schema 'gatehouse' its own.",
                false,
            )
        } else if *code == SqlState::READ_ONLY_SQL_TRANSACTION {
            ("the server is read-only", "Name the primary server in DATABASE_URL; nothing was changed.", true)
        } else if *code == SqlState::DISK_FULL {
            ("the server's disk is full", "Free some space there; nothing was changed.", true)
        } else if *code == SqlState::TOO_MANY_CONNECTIONS {
            ("the server has no connection left", "Raise its max_connections, or end other clients.", true)
        } else if *code == SqlState::LOCK_NOT_AVAILABLE {
            ("another host is writing", "Try again; nothing was changed.", true)
        } else if *code == SqlState::QUERY_CANCELED {
            ("the work took too long and was ended", "Try again; nothing was changed.", true)
        } else if *code == SqlState::PROGRAM_LIMIT_EXCEEDED {
            ("a text is longer than the server can index", "Split the page; nothing was changed.", false)
        } else if *code == SqlState::CHARACTER_NOT_IN_REPERTOIRE {
            (
                "a text holds a NUL character, which PostgreSQL cannot store",
                "Take it out; nothing was changed.",
                false,
            )
        } else if ends_connection(code) {
            ("the server is stopping or starting", "Try again.", true)
        } else {
            return (
                bounded(server.message(), code.code()),
                "Run `gatehouse doctor`; the server's log may say more.",
                true,
            );
        };
    (format!("{words} ({})", bounded(server.message(), code.code())), hint, retryable)
}

fn explain_connection_error(error: &tokio_postgres::Error) -> (String, &'static str, bool) {
    let hint = "Start the server, or correct DATABASE_URL.";
    if error.is_closed() {
        return ("the connection was lost".into(), "Try again; nothing was changed.", true);
    }
    (bounded(&root_cause(error), ""), hint, true)
}

/// A message of the server: one line, not endless.
fn bounded(message: &str, code: &str) -> String {
    let line: String = message.chars().take(300).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if code.is_empty() { line } else { format!("{line}, SQLSTATE {code}") }
}
/// A column of a row.
pub(super) fn column<T: FromSqlOwned>(row: &Row, at: usize) -> Result<T, StoreError> {
    row.try_get(at).map_err(|error| StoreError::Damaged(error.to_string()))
}

/// A count, which is never negative and never that large.
pub(super) fn count(row: &Row, at: usize) -> Result<u32, StoreError> {
    Ok(u32::try_from(column::<i64>(row, at)?).unwrap_or(u32::MAX))
}
