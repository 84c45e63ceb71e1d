//! Requests without a response, and the parts of responses that bypass rmcp.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use gatehouse_core::{json::MessageSize, lock};
use rmcp::model::{ErrorData, RequestId, ServerResult};
use tokio::sync::{OwnedSemaphorePermit, oneshot};

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

#[derive(Clone, Default)]
pub(super) struct PendingResponses(Arc<Mutex<PendingTable>>);

#[derive(Default)]
struct PendingTable {
    by_id: HashMap<RequestId, PendingResponse>,
    is_closed: bool,
}

struct PendingResponse {
    is_call: bool,
    /// `None` if rmcp waits for the response.
    direct: Option<oneshot::Sender<DirectAnswer>>,
    /// `None` until it arrives.
    received: Option<ReceivedResponse>,
}

/// Answer to a call that rmcp does not know of.
pub(in crate::downstream) type DirectAnswer = Result<ServerResult, ErrorData>;

/// Normalizes a response ID: some servers answer `"7"` to 7, and rmcp accepts it.
fn sent_id(id: &RequestId) -> RequestId {
    match id {
        RequestId::String(text) => text.parse().map_or_else(|_| id.clone(), RequestId::Number),
        RequestId::Number(_) => id.clone(),
    }
}

impl PendingResponses {
    /// Registers a request of rmcp. `is_call` if it calls a tool.
    pub(super) fn register(&self, id: &RequestId, is_call: bool) {
        let pending = PendingResponse { is_call, direct: None, received: None };
        lock(&self.0).by_id.insert(id.clone(), pending);
    }

    /// Registers a tool call whose answer bypasses rmcp. `None` if the connection has ended.
    pub(super) fn register_direct(&self, id: &RequestId) -> Option<oneshot::Receiver<DirectAnswer>> {
        let (sender, answer) = oneshot::channel();
        let pending = PendingResponse { is_call: true, direct: Some(sender), received: None };
        let mut table = lock(&self.0);
        if table.is_closed {
            return None;
        }
        table.by_id.insert(id.clone(), pending);
        Some(answer)
    }

    /// Returns the channel of a direct call. `None` if the answer is for rmcp.
    pub(super) fn take_direct(&self, id: &RequestId) -> Option<oneshot::Sender<DirectAnswer>> {
        lock(&self.0).by_id.get_mut(&sent_id(id))?.direct.take()
    }

    /// Fails all direct calls, also later ones.
    pub(super) fn close(&self) {
        let mut table = lock(&self.0);
        table.is_closed = true;
        for pending in table.by_id.values_mut() {
            pending.direct = None;
        }
    }

    /// Whether a response to a tool call is awaited.
    pub(super) fn awaits_calls(&self) -> bool {
        lock(&self.0).by_id.values().any(|pending| pending.is_call)
    }

    pub(super) fn is_call(&self, id: &RequestId) -> bool {
        lock(&self.0).by_id.get(&sent_id(id)).is_some_and(|pending| pending.is_call)
    }

    pub(super) fn forget(&self, id: &RequestId) {
        lock(&self.0).by_id.remove(id);
    }

    /// Records a response. Returns `false` if no request waits for it, or if it is a duplicate.
    pub(super) fn record(&self, id: &RequestId, response: ReceivedResponse) -> bool {
        match lock(&self.0).by_id.get_mut(&sent_id(id)) {
            Some(pending) if pending.received.is_none() => {
                pending.received = Some(response);
                true
            }
            _ => false,
        }
    }

    pub(super) fn detach_result(&self, id: &RequestId, result: ServerResult) {
        let mut table = lock(&self.0);
        if let Some(arrival) = table.by_id.get_mut(&sent_id(id)).and_then(|pending| pending.received.as_mut())
        {
            arrival.result = Some(result);
        }
    }

    pub(super) fn take(&self, id: &RequestId) -> ReceivedResponse {
        lock(&self.0).by_id.remove(&sent_id(id)).and_then(|pending| pending.received).unwrap_or_default()
    }
}
