//! Report and progress of an index run.

use std::collections::BTreeMap;

const MAX_NAMED_PATHS: usize = 100;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndexProgress {
    /// Files that were stored, unchanged or skipped.
    pub done: usize,
    pub total: usize,
}

pub type OnIndexProgress<'a> = &'a (dyn Fn(IndexProgress) + Send + Sync);

/// Files with a remark each.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileNotes {
    /// Number of files per remark.
    pub counts: BTreeMap<String, usize>,
    /// First 100 files, as (path, remark).
    pub named: Vec<(String, String)>,
}

impl FileNotes {
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

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum GuideOutcome {
    /// The stored guide is current, or none was requested.
    #[default]
    Unchanged,
    Written {
        by: String,
    },
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IndexRunReport {
    pub added: usize,
    pub updated: usize,
    pub unchanged: usize,
    pub removed: usize,
    pub skipped: FileNotes,
    /// Files that were read with a caveat, such as another encoding.
    pub noted: FileNotes,
    pub bytes: u64,
    /// In o200k_base tokens.
    pub tokens: u64,
    pub guide: GuideOutcome,
    /// True if the run was cancelled. The next run resumes after the stored batches.
    pub cancelled: bool,
}
