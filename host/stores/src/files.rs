//! The database files of a data directory: one table of their kinds, their locks, copies and checks.

use std::path::Path;

use gatehouse_core::outcome::Fault;

use crate::{
    artifacts, audit, documents, keys, knowledge, kv, ledger,
    sql::sqlite::{DatabaseLock, FileKind, maintenance},
    tools,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DataFile {
    Knowledge,
    Kv,
    Documents,
    Artifacts,
    Tools,
    Ledger,
    Auth,
    Audit,
}

impl DataFile {
    pub const ALL: [Self; 8] = [
        Self::Knowledge,
        Self::Kv,
        Self::Documents,
        Self::Artifacts,
        Self::Tools,
        Self::Ledger,
        Self::Auth,
        Self::Audit,
    ];

    const fn kind(self) -> &'static FileKind {
        match self {
            Self::Knowledge => &knowledge::pages::schema::FILE,
            Self::Kv => &kv::FILE,
            Self::Documents => &documents::tables::schema::FILE,
            Self::Artifacts => &artifacts::schema::FILE,
            Self::Tools => &tools::FILE,
            Self::Ledger => &ledger::schema::FILE,
            Self::Auth => &keys::FILE,
            Self::Audit => &audit::schema::FILE,
        }
    }

    pub const fn file(self) -> &'static str {
        self.kind().name
    }

    /// Acquires a lock that other users share. Fails if another process is replacing the file.
    pub fn lock_shared(self, database: &Path) -> Result<DatabaseLock, Fault> {
        DatabaseLock::try_shared(database).map_err(|error| error.into_fault(self.kind().subject, database))
    }

    /// Acquires an exclusive lock: no other process has the database open or can open it. Its directory must exist.
    pub fn lock_exclusive(self, database: &Path) -> Result<DatabaseLock, Fault> {
        DatabaseLock::try_exclusive(database).map_err(|error| error.into_fault(self.kind().subject, database))
    }
}

/// Copies the databases of one directory into another, as of one moment, and checks the copies. Hosts may read and
/// write during the copy. Returns the schema versions. Blocks.
///
/// # Errors
/// `unavailable`, naming the file, if it cannot be read or written, is damaged, or is newer than this binary.
pub fn copy(from: &Path, to: &Path) -> Result<Vec<(DataFile, i64)>, Fault> {
    let existing_files = DataFile::ALL.into_iter().filter(|file| from.join(file.file()).exists());
    let mut open = Vec::new();
    for file in existing_files {
        let path = from.join(file.file());
        let source = maintenance::begin_copy(&path, file.kind().steps);
        let source = source.map_err(|error| error.into_fault(file.kind().subject, &path))?;
        open.push((file, source));
    }
    let mut copied = Vec::new();
    for (file, (source, _lock)) in open {
        let path = to.join(file.file());
        maintenance::copy_one(&source, &path)
            .map_err(|error| error.into_fault(file.kind().subject, &path))?;
        copied.push((file, check(file, &path)?));
    }
    Ok(copied)
}

/// Returns the schema version if the file is intact and this binary supports it. Blocks.
pub fn check(file: DataFile, path: &Path) -> Result<i64, Fault> {
    checked(file, path, "integrity_check")
}

/// Checks each existing database, which hosts may be using. Faster than [`check`], because it does not compare indexes
/// with their tables. Blocks.
pub fn check_all(state: &Path) -> Vec<(DataFile, Result<i64, Fault>)> {
    let existing_files = DataFile::ALL.into_iter().filter(|file| state.join(file.file()).exists());
    let check_one = |file: DataFile| {
        let path = state.join(file.file());
        let locked = file.lock_shared(&path);
        (file, locked.and_then(|_lock| checked(file, &path, "quick_check")))
    };
    existing_files.map(check_one).collect()
}

fn checked(file: DataFile, path: &Path, pragma: &str) -> Result<i64, Fault> {
    let FileKind { steps, subject, .. } = file.kind();
    maintenance::checked_version(path, steps, pragma).map_err(|error| error.into_fault(subject, path))
}
