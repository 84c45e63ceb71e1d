//! What can go wrong in the database, and the one place where it becomes a fault that people read.

use std::path::Path;

use gatehouse_core::outcome::Fault;
use rusqlite::ErrorCode;

/// A failure inside a piece of work on the database.
#[derive(Debug, thiserror::Error)]
pub(super) enum StoreError {
    /// The database could not do it.
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
    /// The folder of the database could not be made.
    #[error("the folder cannot be made: {0}")]
    Folder(std::io::Error),
    /// The file of the database could not be made.
    #[error("the file cannot be made: {0}")]
    File(std::io::Error),
    /// The file holds nothing, not even an empty database.
    #[error("the file is empty, so the database that was there is lost")]
    Empty,
    /// A newer gatehouse wrote the database.
    #[error("its schema has version {found}, newer than {known}, the newest that this gatehouse knows")]
    Newer {
        /// Of the database.
        found: i64,
        /// Of this binary.
        known: i64,
    },
    /// The host is stopping.
    #[error("it is closed, because the host is stopping")]
    Closed,
    /// A restore is replacing the file.
    #[error("a `gatehouse restore` is replacing it")]
    Restoring,
    /// Hosts or commands have it open.
    #[error("it is in use")]
    InUse,
    /// It may not be locked.
    #[error("its lock file cannot be used: {0}")]
    Lock(std::io::Error),
    /// The database itself says so.
    #[error("it is not intact: {0}")]
    NotIntact(String),
    /// The thread that writes could not be started.
    #[error("its writer cannot be started: {0}")]
    Writer(std::io::Error),
    /// A stored value is not what was stored.
    #[error("something stored cannot be read: {0}")]
    Damaged(String),
    /// It is not the database's failure.
    #[error(transparent)]
    Fault(#[from] Fault),
}

impl StoreError {
    /// Whether there is no room on the disk.
    pub(super) fn is_full(&self) -> bool {
        match self {
            Self::Sqlite(error) => error.sqlite_error_code() == Some(ErrorCode::DiskFull),
            Self::File(error) => error.kind() == std::io::ErrorKind::StorageFull,
            _ => false,
        }
    }

    /// Whether another process was faster, and it may go well the next time.
    pub(super) fn is_busy(&self) -> bool {
        let busy = [Some(ErrorCode::DatabaseBusy), Some(ErrorCode::DatabaseLocked)];
        matches!(self, Self::Sqlite(error) if busy.contains(&error.sqlite_error_code()))
    }

    /// Whether the file itself may be of no use, and not only its place, its rights or the moment.
    pub(super) fn may_be_damage(&self) -> bool {
        use ErrorCode as Code;
        match self {
            Self::Sqlite(error) => !matches!(
                error.sqlite_error_code(),
                Some(
                    Code::DiskFull
                        | Code::ReadOnly
                        | Code::PermissionDenied
                        | Code::DatabaseBusy
                        | Code::DatabaseLocked
                        | Code::CannotOpen
                        | Code::SystemIoFailure
                        | Code::OutOfMemory
                        | Code::FileLockingProtocolFailed
                        | Code::OperationInterrupted
                )
            ),
            Self::Newer { .. } | Self::NotIntact(_) | Self::Damaged(_) | Self::Empty => true,
            _ => false,
        }
    }

    /// What people read. `subject` says whose database it is, `knowledge engine 'sqlite'` for example.
    pub(super) fn into_fault(self, subject: &str, path: &Path) -> Fault {
        let (hint, retryable) = match &self {
            Self::Fault(_) => ("", false),
            Self::Newer { .. } => {
                ("Update gatehouse, or name another data folder in GATEHOUSE_STATE.", false)
            }
            Self::Closed => ("Start the host again, and call again.", true),
            Self::Restoring => ("Try again in a moment.", true),
            Self::InUse => ("End the hosts and commands that use this data folder first.", true),
            Self::NotIntact(_) => ("Restore a backup that is intact.", false),
            Self::Empty => ("Restore a backup, or remove the file to begin with a new database.", false),
            Self::File(_) if self.is_full() => ("Free some space; nothing was changed.", true),
            Self::Folder(_) | Self::File(_) | Self::Lock(_) => {
                ("Name a data folder that you may write to in GATEHOUSE_STATE.", true)
            }
            Self::Writer(_) | Self::Damaged(_) => ("Run `gatehouse doctor`.", true),
            Self::Sqlite(error) => (explain(error.sqlite_error_code()).1, true),
        };
        let cause = match self {
            Self::Fault(fault) => return fault,
            Self::Sqlite(error) => match explain(error.sqlite_error_code()).0 {
                Some(words) => format!("{words} ({error})"),
                None => error.to_string(),
            },
            other => other.to_string(),
        };
        Fault {
            retryable,
            ..Fault::unavailable(format!("{subject} at {}: {cause}", path.display())).hint(hint)
        }
    }
}

/// Plain words for the failures that people meet, and what to do about them.
fn explain(code: Option<ErrorCode>) -> (Option<&'static str>, &'static str) {
    match code {
        Some(ErrorCode::DiskFull) => (Some("the disk is full"), "Free some space; nothing was changed."),
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => (
            Some("the file or its folder is read-only"),
            "Make both writable, or name another data folder in GATEHOUSE_STATE.",
        ),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => (
            Some("another process is writing"),
            "Try again; if it stays so, another host holds this data folder for long.",
        ),
        Some(ErrorCode::CannotOpen) => {
            (Some("the file cannot be opened"), "Check that its folder exists and that you may write to it.")
        }
        Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => (
            Some("the file is not an intact database"),
            "Move it away and a new one is made; pages and documents come back when they are indexed again.",
        ),
        Some(ErrorCode::SystemIoFailure) => (None, "Look at the disk and its free space."),
        _ => (None, "Run `gatehouse doctor`."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gatehouse_core::outcome::FaultKind;
    use rusqlite::ffi;

    #[test]
    fn common_failures_are_said_in_plain_words() {
        for (code, words) in [
            (ffi::SQLITE_FULL, "the disk is full"),
            (ffi::SQLITE_READONLY, "read-only"),
            (ffi::SQLITE_BUSY, "another process"),
            (ffi::SQLITE_NOTADB, "not an intact database"),
        ] {
            let error = StoreError::from(rusqlite::Error::SqliteFailure(ffi::Error::new(code), None));
            let fault = error.into_fault("knowledge engine 'sqlite'", Path::new("/x/y.db"));
            assert_eq!(fault.kind, FaultKind::Unavailable);
            assert!(fault.message.starts_with("knowledge engine 'sqlite' at /x/y.db: "), "{}", fault.message);
            assert!(fault.message.contains(words) && fault.hint.is_some(), "{}", fault.message);
        }
    }
}
