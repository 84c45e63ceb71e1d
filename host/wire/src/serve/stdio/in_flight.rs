//! Unanswered requests of one client. Shutdown waits for them. rmcp would also wait for subscriptions, which never end.

use std::{collections::HashMap, sync::Mutex, time::Duration};

use gatehouse_core::lock;
use rmcp::{
    RoleServer,
    model::{ClientRequest, JsonRpcMessage, RequestId},
    service::RxJsonRpcMessage,
    transport::Transport,
};
use tokio::time::timeout;
use tokio_util::{
    sync::CancellationToken,
    task::{TaskTracker, task_tracker::TaskTrackerToken},
};

use crate::{
    peer_requests::cancelled_request,
    serve::{
        MAX_LAST_CALLS,
        shutdown::{Drain, Shutdown},
    },
};

#[derive(Default)]
pub(crate) struct InFlightRequests {
    requests: Mutex<HashMap<RequestId, TaskTrackerToken>>,
    unanswered: TaskTracker,
    gone: CancellationToken,
}

impl InFlightRequests {
    /// Waits until the client disconnects or `stop` is cancelled, and then until all requests are answered.
    ///
    /// Requests have [`MAX_LAST_CALLS`] to finish after a disconnect, and `drain` after `stop`. The rest gets an error
    /// reply.
    pub(crate) async fn wait_until_over(&self, stop: &CancellationToken, drain: Drain, shutdown: &Shutdown) {
        tokio::select! {
            () = self.gone.cancelled() => {}
            () = stop.cancelled() => self.drain(drain, shutdown).await,
        }
        let grace = if self.gone.is_cancelled() { MAX_LAST_CALLS } else { Duration::ZERO };
        if timeout(grace, self.all_answered()).await.is_err() {
            shutdown.abort();
            let _ = timeout(MAX_LAST_CALLS, self.all_answered()).await;
        }
    }

    /// Waits until all requests are answered, the client disconnects, or the time is over.
    async fn drain(&self, drain: Drain, shutdown: &Shutdown) {
        shutdown.announce(drain);
        let time = async {
            tokio::time::sleep(drain.open).await;
            shutdown.refuse();
            tokio::time::sleep(drain.closed).await;
        };
        tokio::select! {
            biased;
            () = self.all_answered() => {}
            () = self.gone.cancelled() => {}
            () = time => {}
        }
    }

    async fn all_answered(&self) {
        self.unanswered.close();
        self.unanswered.wait().await;
    }

    /// Receives a message and records its request.
    pub(super) async fn receive<T: Transport<RoleServer>>(
        &self,
        transport: &mut T,
    ) -> Option<RxJsonRpcMessage<RoleServer>> {
        let message = transport.receive().await;
        match &message {
            Some(JsonRpcMessage::Request(request))
                if !matches!(request.request, ClientRequest::SubscriptionsListenRequest(_)) =>
            {
                lock(&self.requests).insert(request.id.clone(), self.unanswered.token());
            }
            // A cancelled request gets no reply.
            Some(message) => self.remove(cancelled_request(message)),
            None => self.gone.cancel(),
        }
        message
    }

    /// Removes an answered or cancelled request.
    pub(super) fn remove(&self, id: Option<&RequestId>) {
        if let Some(id) = id {
            lock(&self.requests).remove(id);
        }
    }
}
