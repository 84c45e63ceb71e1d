//! Labels of the lines of the log that belong to one call.

use std::sync::{Arc, OnceLock};

use tokio::task::futures::TaskLocalFuture;
use uuid::Uuid;

use crate::Trace;

tokio::task_local! {
    static CALL: Arc<CallLabels>;
}

/// The call that a line belongs to.
pub struct CallLabels {
    pub call: Uuid,
    /// Pseudonym of the principal, once it is known.
    pub principal: OnceLock<Arc<str>>,
    pub trace: Trace,
}

/// Returns `work`, whose lines get these labels.
pub fn with_call_labels<F: Future>(labels: Arc<CallLabels>, work: F) -> TaskLocalFuture<Arc<CallLabels>, F> {
    CALL.scope(labels, work)
}

/// Returns the labels of the call that this task works for. `None` outside of calls.
pub fn call_labels() -> Option<Arc<CallLabels>> {
    CALL.try_with(Arc::clone).ok()
}
