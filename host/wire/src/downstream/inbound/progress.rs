//! Progress of calls, reported in order and before the result.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex},
};

use gatehouse_core::{call::ProgressSink, lock};
use rmcp::model::{ProgressNotificationParam, ProgressToken};

/// Reports to buffer for calls without a watcher: a report may arrive before the sender of the call registers.
const MAX_EARLY_REPORTS: usize = 64;

#[derive(Clone, Default)]
pub(in crate::downstream) struct ProgressWatchers(Arc<Mutex<Inner>>);

#[derive(Default)]
struct Inner {
    by_token: HashMap<ProgressToken, Arc<dyn ProgressSink>>,
    early: VecDeque<ProgressNotificationParam>,
}

impl ProgressWatchers {
    /// Registers a watcher, and passes the buffered reports to it.
    pub(in crate::downstream) fn add(&self, token: ProgressToken, sink: Arc<dyn ProgressSink>) {
        let mut inner = lock(&self.0);
        inner.early.retain(|early| {
            let is_its = early.progress_token == token;
            if is_its {
                report(&*sink, early);
            }
            !is_its
        });
        inner.by_token.insert(token, sink);
    }

    pub(in crate::downstream) fn remove(&self, token: &ProgressToken) {
        lock(&self.0).by_token.remove(token);
    }

    pub(super) fn take(&self, progress: ProgressNotificationParam) {
        let mut inner = lock(&self.0);
        match inner.by_token.get(&progress.progress_token) {
            Some(sink) => report(&**sink, &progress),
            None => {
                if inner.early.len() == MAX_EARLY_REPORTS {
                    inner.early.pop_front();
                }
                inner.early.push_back(progress);
            }
        }
    }
}

fn report(sink: &dyn ProgressSink, progress: &ProgressNotificationParam) {
    let whole = |number: f64| number.max(0.0) as u64;
    sink.report(whole(progress.progress), progress.total.map(whole), progress.message.clone());
}
