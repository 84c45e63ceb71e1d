//! What an index run did, and how far it is.

use std::collections::BTreeMap;

/// Paths that are named for each thing that is said of them; the others are counted.
const MAX_NAMED_PATHS: usize = 100;

/// How far a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndexProgress {
    /// Files that are stored, or found unchanged, or left out.
    pub done: usize,
    /// Files in all.
    pub total: usize,
}

/// Hears how far a run is.
pub type OnIndexProgress<'a> = &'a (dyn Fn(IndexProgress) + Send + Sync);

/// Files that something is said of.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileNotes {
    /// How many, by what is said of them.
    pub counts: BTreeMap<String, usize>,
    /// The first hundred of them with what is said of each.
    pub named: Vec<(String, String)>,
}

impl FileNotes {
    /// How many there are.
    pub fn total(&self) -> usize {
        self.counts.values().sum()
    }

    pub(crate) fn add(&mut self, path: String, why: impl Into<String>) {
        let why = why.into();
        *self.counts.entry(why.clone()).or_default() += 1;
        if self.named.len() < MAX_NAMED_PATHS {
            self.named.push((path, why));
        }
    }
}

/// What became of the navigation guide.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum GuideOutcome {
    /// The one that is stored still holds, or none was asked for.
    #[default]
    Unchanged,
    /// It was written, by what the text says: a model, or from the content alone.
    Written {
        /// Its last line.
        by: String,
    },
}

/// What an index run did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IndexRunReport {
    /// Files that are new.
    pub added: usize,
    /// Files that changed.
    pub updated: usize,
    /// Files that are as they were.
    pub unchanged: usize,
    /// Files that are not there any more.
    pub removed: usize,
    /// Files that were left out, and why.
    pub skipped: FileNotes,
    /// Files that were read, and what to know of how: in another encoding, cut, made of something else.
    pub noted: FileNotes,
    /// Bytes of text that were stored.
    pub bytes: u64,
    /// Tokens (o200k_base) of what was stored.
    pub tokens: u64,
    /// The guide.
    pub guide: GuideOutcome,
    /// Whether the run was ended before it was done; what it stored is whole, and the next run goes on there.
    pub cancelled: bool,
}
