//! A request that is being answered.

use std::sync::Arc;

use gatehouse_core::{Caller, Principal, fair_semaphore::FairPermit};
use tokio_util::task::task_tracker::TaskTrackerToken;

use super::{
    client_address::ClientAddress,
    connection::{ConnectionPhase, HttpConnection},
};

/// A request that is being answered, with the resources it holds.
pub(super) struct ActiveRequest {
    pub(super) connection: Arc<HttpConnection>,
    /// The peer, until the headers are read.
    pub(super) client: ClientAddress,
    _memory: Option<FairPermit>,
    /// Delays shutdown until dropped.
    running: Option<TaskTrackerToken>,
    /// `None` before authentication.
    pub(super) caller: Option<Arc<Caller>>,
}

impl ActiveRequest {
    /// Starts a request.
    pub(super) fn new(connection: &Arc<HttpConnection>) -> Self {
        connection.enter(ConnectionPhase::Working);
        Self {
            connection: Arc::clone(connection),
            client: ClientAddress(connection.peer.ip()),
            _memory: None,
            running: None,
            caller: None,
        }
    }

    /// Admits an authenticated request, and charges the connection to `sharer`. Returns false if calls run on too many
    /// connections of it, and others need room.
    #[must_use]
    pub(super) fn charge(&mut self, caller: Arc<Caller>, sharer: &Principal) -> bool {
        let table = self.connection.connections();
        let has_room = table.is_none_or(|table| table.charge(&self.connection, sharer));
        self.caller = Some(caller);
        has_room
    }

    pub(super) fn track_running(&mut self, token: TaskTrackerToken) {
        self.running = Some(token);
    }

    pub(super) fn mark_last(&self) {
        self.connection.mark_last();
    }

    /// Waits for a place if this connection lacks one. Returns false if calls go on running on all other connections.
    pub(super) async fn wait_for_place(&self) -> bool {
        match self.connection.connections() {
            Some(connections) => connections.wait_for_place(&self.connection).await,
            None => true,
        }
    }

    pub(super) fn is_crowded(&self) -> bool {
        self.connection.connections().is_some_and(|connections| connections.is_crowded())
    }

    pub(super) fn enter_body(&self) {
        self.connection.enter(ConnectionPhase::Body);
    }

    /// Records that the body has been read. `memory` is reserved until the request ends.
    pub(super) fn enter_working(&mut self, memory: Option<FairPermit>) {
        self._memory = memory;
        self.connection.enter(ConnectionPhase::Working);
    }

    /// Records that the response is a stream of changes. Shutdown does not wait for it.
    pub(super) fn enter_listening(&mut self) {
        self.running = None;
        self.connection.enter(ConnectionPhase::Listening);
    }
}

impl Drop for ActiveRequest {
    fn drop(&mut self) {
        self.connection.enter(ConnectionPhase::Flushing);
    }
}
