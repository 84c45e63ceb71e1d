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

/// Pending requests of one connection.
#[derive(Clone, Default)]
pub(super) struct PendingResponses(Arc<Mutex<HashMap<RequestId, PendingResponse>>>);

struct PendingResponse {
    is_call: bool,
    /// `None` until it arrives.
    received: Option<ReceivedResponse>,
}

/// Normalizes a response ID: some servers answer `"7"` to 7, and rmcp accepts it.
fn sent_id(id: &RequestId) -> RequestId {
    match id {
        RequestId::String(text) => text.parse().map_or_else(|_| id.clone(), RequestId::Number),
        RequestId::Number(_) => id.clone(),
    }
}

impl PendingResponses {
    /// Registers a request. `is_call` if it calls a tool.
    pub(super) fn register(&self, id: &RequestId, is_call: bool) {
        lock(&self.0).insert(id.clone(), PendingResponse { is_call, received: None });
    }

    /// Whether a response to a tool call is awaited.
    pub(super) fn awaits_calls(&self) -> bool {
        lock(&self.0).values().any(|pending| pending.is_call)
    }

    /// Whether this request calls a tool.
    pub(super) fn is_call(&self, id: &RequestId) -> bool {
        lock(&self.0).get(&sent_id(id)).is_some_and(|pending| pending.is_call)
    }

    pub(super) fn forget(&self, id: &RequestId) {
        lock(&self.0).remove(id);
    }

    /// Records a response. Returns `false` if no request waits for it, or if it is a duplicate.
    pub(super) fn record(&self, id: &RequestId, response: ReceivedResponse) -> bool {
        match lock(&self.0).get_mut(&sent_id(id)) {
            Some(pending) if pending.received.is_none() => {
                pending.received = Some(response);
                true
            }
            _ => false,
        }
    }

    pub(super) fn detach_result(&self, id: &RequestId, result: ServerResult) {
        let mut all = lock(&self.0);
        if let Some(arrival) = all.get_mut(&sent_id(id)).and_then(|pending| pending.received.as_mut()) {
            arrival.result = Some(result);
        }
    }

    pub(super) fn take(&self, id: &RequestId) -> ReceivedResponse {
        lock(&self.0).remove(&sent_id(id)).and_then(|pending| pending.received).unwrap_or_default()
    }
}
