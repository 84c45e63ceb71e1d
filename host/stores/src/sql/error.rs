//! Failures of stores. Each engine converts them to faults that name it.

use std::time::Duration;

use gatehouse_core::outcome::Fault;

pub(crate) type Result<T, E = StoreError> = std::result::Result<T, E>;

#[derive(Debug, thiserror::Error)]
pub(crate) enum StoreError {
    #[error("schema version {found} is newer than {known}, the latest that this gatehouse supports")]
    NewerSchema { found: i64, known: i64 },
    #[error("schema version {found} is from before gatehouse 0.1.0, and is not read")]
    OlderSchema { found: i64 },
    /// A stored value cannot be decoded.
    #[error("invalid stored value: {0}")]
    InvalidValue(String),
    /// A write must run again without other writers of its domain.
    #[error("another write is in the way")]
    NotAlone,
    /// A fault that is not about the database.
    #[error(transparent)]
    Fault(#[from] Fault),

    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
    #[error("cannot create the directory: {0}")]
    Directory(std::io::Error),
    #[error("cannot replace the file: {0}")]
    SetAside(std::io::Error),
    #[error("cannot create its key file: {0}")]
    KeyFile(std::io::Error),
    #[error("cannot create the file: {0}")]
    File(std::io::Error),
    #[error("the file is empty, so its database is lost")]
    Empty,
    #[error("closed, because the host is stopping")]
    Closed,
    #[error("`gatehouse restore` is replacing it")]
    Restoring,
    #[error("the file is in use")]
    InUse,
    #[error("cannot use its lock file: {0}")]
    Lock(std::io::Error),
    /// An integrity check failed.
    #[error("integrity check failed: {0}")]
    NotIntact(String),
    #[error("cannot start its writer thread: {0}")]
    Writer(std::io::Error),

    /// The server rejected the statement or cannot be reached.
    #[cfg(feature = "postgres")]
    #[error(transparent)]
    Server(#[from] tokio_postgres::Error),
    #[error("no answer within {} s", .0.as_secs_f64())]
    Timeout(Duration),
    #[error("all {connections} connections have been in use for {} s", .waited.as_secs_f64())]
    PoolExhausted { connections: usize, waited: Duration },
    #[error("the database encoding is {0}; expected UTF8")]
    Encoding(String),
    #[error("{0}")]
    Tls(String),
    #[error("its tables no longer exist")]
    TablesMissing,
    /// The existing tables of another program cannot be used.
    #[error("{0}")]
    UnsupportedTables(String),
}

impl StoreError {
    pub(crate) fn invalid(error: impl ToString) -> Self {
        Self::InvalidValue(error.to_string())
    }

    /// Returns true if the disk of the database is full, so that the caller can free space.
    pub(crate) fn is_full(&self) -> bool {
        match self {
            Self::Sqlite(error) => error.sqlite_error_code() == Some(rusqlite::ErrorCode::DiskFull),
            Self::File(error) => error.kind() == std::io::ErrorKind::StorageFull,
            #[cfg(feature = "postgres")]
            Self::Server(error) => error.code() == Some(&tokio_postgres::error::SqlState::DISK_FULL),
            _ => false,
        }
    }
}
