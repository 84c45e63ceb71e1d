//! Requests to a server that have no response yet, and what is known of the responses that came.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use gatehouse_core::{json::MessageSize, lock};
use rmcp::model::{RequestId, ServerResult};
use tokio::sync::OwnedSemaphorePermit;

/// Memory that a message takes of its server's share, given back when it is dropped.
#[derive(Default)]
pub(in crate::downstream) struct MessageMemory {
    pub(super) bytes: usize,
    pub(super) size: MessageSize,
    pub(super) _permit: Option<OwnedSemaphorePermit>,
}

impl MessageMemory {
    /// Returns the bytes of the message's text; zero for a small one.
    pub(in crate::downstream) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the size of the message; zero for a small one.
    pub(in crate::downstream) fn size(&self) -> MessageSize {
        self.size
    }

    /// Whether the message is large enough to be counted.
    pub(in crate::downstream) fn is_counted(&self) -> bool {
        self._permit.is_some()
    }
}

/// A response, as far as the protocol library does not have it.
#[derive(Default)]
pub(in crate::downstream) struct ReceivedResponse {
    pub(in crate::downstream) memory: MessageMemory,
    /// The result, if the library was given an empty one.
    pub(in crate::downstream) result: Option<ServerResult>,
    /// Why the response was not read.
    pub(in crate::downstream) refused: Option<String>,
}

/// The requests of one connection.
#[derive(Clone, Default)]
pub(super) struct PendingResponses(Arc<Mutex<HashMap<RequestId, Option<ReceivedResponse>>>>);

/// Returns the id as the host sent it: some servers answer `"7"` to 7, and the library accepts it.
fn sent_id(id: &RequestId) -> RequestId {
    match id {
        RequestId::String(text) => text.parse().map_or_else(|_| id.clone(), RequestId::Number),
        RequestId::Number(_) => id.clone(),
    }
}

impl PendingResponses {
    /// A request is sent.
    pub(super) fn register(&self, id: &RequestId) {
        lock(&self.0).insert(id.clone(), None);
    }

    /// Nobody waits for the response any more.
    pub(super) fn forget(&self, id: &RequestId) {
        lock(&self.0).remove(id);
    }

    /// Notes that a response came. Returns `false` if nobody waits for it, or it is the second one.
    pub(super) fn record_arrival(&self, id: &RequestId, memory: MessageMemory) -> bool {
        self.record_response(id, ReceivedResponse { memory, ..ReceivedResponse::default() })
    }

    /// Notes that a response is not read.
    pub(super) fn record_refusal(&self, id: &RequestId, why: &str) {
        self.record_response(
            id,
            ReceivedResponse { refused: Some(why.to_owned()), ..ReceivedResponse::default() },
        );
    }

    fn record_response(&self, id: &RequestId, arrival: ReceivedResponse) -> bool {
        match lock(&self.0).get_mut(&sent_id(id)) {
            Some(slot @ None) => {
                *slot = Some(arrival);
                true
            }
            _ => false,
        }
    }

    pub(super) fn keep_result(&self, id: &RequestId, result: ServerResult) {
        if let Some(Some(arrival)) = lock(&self.0).get_mut(&sent_id(id)) {
            arrival.result = Some(result);
        }
    }

    pub(super) fn take(&self, id: &RequestId) -> ReceivedResponse {
        lock(&self.0).remove(&sent_id(id)).flatten().unwrap_or_default()
    }
}
