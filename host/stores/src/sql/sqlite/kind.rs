//! Kinds of database files.

use super::db::DatabaseProfile;
use crate::sql::schema::Steps;

/// A kind of database file: its place, its schema, and how it is opened.
#[derive(Debug)]
pub(crate) struct FileKind {
    /// Name in the data directory.
    pub(crate) name: &'static str,
    /// Name for faults.
    pub(crate) subject: &'static str,
    /// Corpus of the items to embed. Empty if there are none.
    pub(crate) corpus: &'static str,
    pub(crate) steps: Steps,
    pub(crate) profile: DatabaseProfile,
    /// True if an operator replaces the file to stop something at once.
    pub(crate) is_replaceable: bool,
}

impl FileKind {
    pub(crate) const fn new(name: &'static str, subject: &'static str, steps: Steps) -> Self {
        Self { name, subject, corpus: "", steps, profile: DatabaseProfile::Default, is_replaceable: false }
    }
}
