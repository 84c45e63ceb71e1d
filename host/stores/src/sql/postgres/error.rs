//! Store errors and their conversion to faults for users. Faults never contain statements, values or credentials.

use gatehouse_core::outcome::Fault;
use gatehouse_net::root_cause;
use tokio_postgres::{Row, error::SqlState, types::FromSqlOwned};

pub(super) use crate::sql::error::{Result, StoreError};

impl StoreError {
    /// Returns `true` if the connection is unusable, and probably every other connection to this server.
    pub(super) fn is_lost(&self) -> bool {
        match self {
            Self::Timeout(_) => true,
            Self::Server(error) => error.is_closed() || error.code().is_none_or(ends_connection),
            _ => false,
        }
    }

    pub(super) fn is_missing(&self) -> bool {
        let missing = [SqlState::UNDEFINED_TABLE, SqlState::INVALID_SCHEMA_NAME];
        match self {
            Self::TablesMissing | Self::UnsupportedTables(_) => true,
            Self::Server(error) => error.code().is_some_and(|code| missing.contains(code)),
            _ => false,
        }
    }

    pub(super) fn is_denied(&self) -> bool {
        matches!(self, Self::Server(error) if error.code() == Some(&SqlState::INSUFFICIENT_PRIVILEGE))
    }

    /// Converts the error to a fault of a server. `subject` names the store, such as `knowledge engine 'postgres'`.
    pub(super) fn into_server_fault(self, subject: &str, address: &str) -> Fault {
        let (cause, hint, retryable) = match &self {
            Self::Fault(fault) => return fault.clone(),
            Self::NewerSchema { .. } => {
                (self.to_string(), "Update gatehouse, or set DATABASE_URL to another database.", false)
            }
            Self::OlderSchema { .. } => (
                self.to_string(),
                "Keep this database for the older gatehouse. Set DATABASE_URL to an empty database, and index pages and \
                documents again.",
                false,
            ),
            Self::Encoding(_) => {
                (self.to_string(), "Set DATABASE_URL to a database with the encoding UTF8.", false)
            }
            Self::Tls(_) => (self.to_string(), "Correct sslrootcert in DATABASE_URL.", false),
            Self::TablesMissing => (self.to_string(), "Try again; gatehouse recreates them.", true),
            Self::UnsupportedTables(_) => {
                (self.to_string(), "See docs/documents.md for the tables that gatehouse can read.", false)
            }
            Self::PoolExhausted { .. } => (self.to_string(), "Try again.", true),
            Self::Timeout(_) => {
                (self.to_string(), "Check the server and the network; nothing was changed.", true)
            }
            Self::Server(error) => explain_server_error(error),
            _ => (self.to_string(), "Run `gatehouse doctor`.", false),
        };
        let mut fault = Fault::unavailable(format!("{subject} at {address}: {cause}")).hint(hint);
        fault.retryable = retryable;
        fault
    }
}

fn ends_connection(code: &SqlState) -> bool {
    // Class 57P: the server shut down, crashed or is starting. Class 08: connection failure.
    code.code().starts_with("57P") || code.code().starts_with("08")
}

/// Returns the cause, a hint and whether a retry can succeed.
fn explain_server_error(error: &tokio_postgres::Error) -> (String, &'static str, bool) {
    let Some(server) = error.as_db_error() else { return explain_connection_error(error) };
    let code = server.code();
    let (words, hint, retryable) =
        if [SqlState::INVALID_PASSWORD, SqlState::INVALID_AUTHORIZATION_SPECIFICATION].contains(code) {
            // The server's own message would name the user.
            return (
                "the server rejected the user or password".into(),
                "Correct them in DATABASE_URL.",
                false,
            );
        } else if *code == SqlState::INVALID_CATALOG_NAME {
            ("the database does not exist", "Create it with `createdb`, or correct DATABASE_URL.", false)
        } else if *code == SqlState::INSUFFICIENT_PRIVILEGE {
            (
                "the user lacks a privilege",
                "Grant the user CREATE on the database, or make it the owner of the schema 'gatehouse'.",
                false,
            )
        } else if *code == SqlState::READ_ONLY_SQL_TRANSACTION {
            ("the server is read-only", "Set DATABASE_URL to the primary server; nothing was changed.", true)
        } else if *code == SqlState::DISK_FULL {
            ("the server's disk is full", "Free disk space on the server; nothing was changed.", true)
        } else if *code == SqlState::TOO_MANY_CONNECTIONS {
            ("the server has too many connections", "Raise its max_connections, or stop other clients.", true)
        } else if [SqlState::LOCK_NOT_AVAILABLE, SqlState::T_R_DEADLOCK_DETECTED].contains(code) {
            ("another host is writing", "Try again; nothing was changed.", true)
        } else if *code == SqlState::QUERY_CANCELED {
            ("the operation timed out on the server", "Try again; nothing was changed.", true)
        } else if *code == SqlState::PROGRAM_LIMIT_EXCEEDED {
            ("a text is longer than the server can index", "Split the page; nothing was changed.", false)
        } else if *code == SqlState::CHARACTER_NOT_IN_REPERTOIRE {
            (
                "a text contains a NUL character, which PostgreSQL cannot store",
                "Remove the character; nothing was changed.",
                false,
            )
        } else if ends_connection(code) {
            ("the server is stopping or starting", "Try again.", true)
        } else {
            return (
                bounded(server.message(), code.code()),
                "Run `gatehouse doctor`, and see the server's log.",
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

/// Shortens a server message to one line of at most 300 characters and appends the SQLSTATE.
fn bounded(message: &str, code: &str) -> String {
    let line: String = message.chars().take(300).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if code.is_empty() { line } else { format!("{line}, SQLSTATE {code}") }
}

pub(crate) fn column<T: FromSqlOwned>(row: &Row, at: usize) -> Result<T> {
    row.try_get(at).map_err(StoreError::invalid)
}

/// Decodes a count and saturates at `u32::MAX`.
pub(crate) fn count(row: &Row, at: usize) -> Result<u32> {
    Ok(u32::try_from(column::<i64>(row, at)?).unwrap_or(u32::MAX))
}
