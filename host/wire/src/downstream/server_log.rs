//! The last lines that a server wrote to its standard error, also those of processes that have ended.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};

use gatehouse_core::lock;

const MAX_LINES: usize = 20;

#[derive(Clone, Default)]
pub(super) struct ServerLog(Arc<Mutex<VecDeque<String>>>);

impl ServerLog {
    /// Adds a line that is short and has no secrets.
    pub(super) fn add(&self, line: String) {
        let mut lines = lock(&self.0);
        if lines.len() == MAX_LINES {
            lines.pop_front();
        }
        lines.push_back(line);
    }

    pub(super) fn lines(&self) -> Vec<String> {
        lock(&self.0).iter().cloned().collect()
    }
}
