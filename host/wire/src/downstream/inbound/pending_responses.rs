//! Requests without a response, and the parts of responses that bypass rmcp.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use gatehouse_core::{json::MessageSize, lock};
use rmcp::model::{RequestId, ServerResult};
use tokio::sync::OwnedSemaphorePermit;

#[derive(Default)]
pub(in crate::downstream) struct MessageMemory {
    /// Bytes of the message. Zero if it is too small to be counted.
    pub(in crate::downstream) bytes: usize,
    pub(in crate::downstream) size: MessageSize,
    pub(super) _permit: Option<OwnedSemaphorePermit>,
}

impl MessageMemory {
    pub(in crate::downstream) fn is_counted(&self) -> bool {
        self._permit.is_some()
    }
}

/// Parts of a response that bypass rmcp.
#[derive(Default)]
pub(in crate::downstream) struct ReceivedResponse {
    pub(in crate::downstream) memory: MessageMemory,
    /// Result, if rmcp got an empty one.
    pub(in crate::downstream) result: Option<ServerResult>,
    pub(in crate::downstream) refused: Option<String>,
}

/// Pending requests of one connection. `None` until the response arrives.
#[derive(Clone, Default)]
pub(super) struct PendingResponses(Arc<Mutex<HashMap<RequestId, Option<ReceivedResponse>>>>);

/// Normalizes a response ID: some servers answer `"7"` to 7, and rmcp accepts it.
fn sent_id(id: &RequestId) -> RequestId {
    match id {
        RequestId::String(text) => text.parse().map_or_else(|_| id.clone(), RequestId::Number),
        RequestId::Number(_) => id.clone(),
    }
}

impl PendingResponses {
    pub(super) fn register(&self, id: &RequestId) {
        lock(&self.0).insert(id.clone(), None);
    }

    pub(super) fn forget(&self, id: &RequestId) {
        lock(&self.0).remove(id);
    }

    /// Records a response. Returns `false` if no request waits for it, or if it is a duplicate.
    pub(super) fn record(&self, id: &RequestId, response: ReceivedResponse) -> bool {
        match lock(&self.0).get_mut(&sent_id(id)) {
            Some(slot @ None) => {
                *slot = Some(response);
                true
            }
            _ => false,
        }
    }

    pub(super) fn detach_result(&self, id: &RequestId, result: ServerResult) {
        if let Some(Some(arrival)) = lock(&self.0).get_mut(&sent_id(id)) {
            arrival.result = Some(result);
        }
    }

    pub(super) fn take(&self, id: &RequestId) -> ReceivedResponse {
        lock(&self.0).remove(&sent_id(id)).flatten().unwrap_or_default()
    }
}
