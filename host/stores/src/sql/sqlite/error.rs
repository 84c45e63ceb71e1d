//! Database errors, and their conversion to faults.

use std::path::Path;

use gatehouse_core::outcome::Fault;
use rusqlite::ErrorCode;

pub(super) use crate::sql::error::{Result, StoreError};

impl StoreError {
    /// Returns true if the file may be readable although it cannot be opened for writing.
    pub(crate) fn is_unwritable(&self) -> bool {
        use ErrorCode as Code;
        match self {
            Self::Sqlite(error) => matches!(
                error.sqlite_error_code(),
                Some(
                    Code::DiskFull
                        | Code::ReadOnly
                        | Code::CannotOpen
                        | Code::SystemIoFailure
                        | Code::PermissionDenied
                )
            ),
            Self::Directory(_) | Self::File(_) | Self::Lock(_) => true,
            _ => false,
        }
    }

    /// Returns true if another process held a lock, so a retry may succeed.
    pub(crate) fn is_busy(&self) -> bool {
        let busy = [Some(ErrorCode::DatabaseBusy), Some(ErrorCode::DatabaseLocked)];
        matches!(self, Self::Sqlite(error) if busy.contains(&error.sqlite_error_code()))
    }

    /// Returns true if the file itself may be unusable, rather than its location, permissions or timing.
    pub(crate) fn may_be_damage(&self) -> bool {
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
            // One from before 0.1.0 stays as it is, for its own build.
            Self::NewerSchema { .. } | Self::NotIntact(_) | Self::InvalidValue(_) | Self::Empty => true,
            _ => false,
        }
    }

    /// Converts the error to a fault of a file. `subject` names the database, such as `knowledge engine 'sqlite'`.
    pub(crate) fn into_fault(self, subject: &str, path: &Path) -> Fault {
        let (hint, retryable) = match &self {
            Self::Fault(_) => ("", false),
            Self::NewerSchema { .. } => {
                ("Update gatehouse, or set GATEHOUSE_STATE to another directory.", false)
            }
            Self::OlderSchema { .. } => (OLDER_SCHEMA_HINT, false),
            Self::Closed => ("Restart the host and call again.", true),
            Self::Restoring => ("Try again in a moment.", true),
            Self::InUse => ("Stop the hosts and commands that use this data directory first.", true),
            Self::NotIntact(_) => ("Restore an intact backup.", false),
            Self::Empty => ("Restore a backup, or remove the file to start with a new database.", false),
            Self::File(_) if self.is_full() => ("Nothing was changed. Free some space.", true),
            Self::Directory(_) | Self::SetAside(_) | Self::KeyFile(_) | Self::File(_) | Self::Lock(_) => {
                ("Set GATEHOUSE_STATE to a writable directory.", true)
            }
            Self::Sqlite(error) => (explain(error.sqlite_error_code()).1, true),
            _ => ("Run `gatehouse doctor`.", true),
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

const OLDER_SCHEMA_HINT: &str = "Keep this directory for the older gatehouse. Set GATEHOUSE_STATE to an empty directory, \
                                 and index pages and documents again.";

/// Returns a description of common errors, and a hint.
fn explain(code: Option<ErrorCode>) -> (Option<&'static str>, &'static str) {
    match code {
        Some(ErrorCode::DiskFull) => (Some("the disk is full"), "Nothing was changed. Free some space."),
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => (
            Some("the file or its directory is read-only"),
            "Make both writable, or set GATEHOUSE_STATE to another directory.",
        ),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => (
            Some("another process is writing"),
            "Try again. If this persists, another host keeps this data directory locked.",
        ),
        Some(ErrorCode::CannotOpen) => {
            (Some("the file cannot be opened"), "Check that its directory exists and is writable.")
        }
        Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => (
            Some("the file is not an intact database"),
            "Move the file away to have a new one created, then index pages and documents again.",
        ),
        Some(ErrorCode::SystemIoFailure) => (None, "Check the disk and its free space."),
        _ => (None, "Run `gatehouse doctor`."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gatehouse_core::outcome::FaultKind;
    use rusqlite::ffi;

    #[test]
    fn common_failures_have_plain_messages() {
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
