//! Unanswered requests of one client. Shutdown waits for them. rmcp would also wait for subscriptions, which never end.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use rmcp::{
    RoleServer,
    model::{ClientNotification, ClientRequest, JsonRpcMessage, RequestId},
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::Transport,
};
use tokio::{sync::Notify, time::timeout};
use tokio_util::sync::CancellationToken;

use crate::serve::{
    MAX_LAST_CALLS,
    shutdown::{Drain, Shutdown},
};

#[derive(Default)]
pub(crate) struct InFlightRequests {
    ids: Mutex<HashSet<RequestId>>,
    answered: Notify,
    gone: CancellationToken,
}

impl InFlightRequests {
    fn ids(&self) -> MutexGuard<'_, HashSet<RequestId>> {
        gatehouse_core::lock(&self.ids)
    }

    fn remove(&self, id: &RequestId) {
        let mut ids = self.ids();
        if ids.remove(id) && ids.is_empty() {
            self.answered.notify_waiters();
        }
    }

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
        loop {
            let answered = self.answered.notified();
            if self.ids().is_empty() {
                return;
            }
            answered.await;
        }
    }

    fn record_message(&self, message: &RxJsonRpcMessage<RoleServer>) {
        match message {
            JsonRpcMessage::Request(request) => {
                if !matches!(request.request, ClientRequest::SubscriptionsListenRequest(_)) {
                    self.ids().insert(request.id.clone());
                }
            }
            // A cancelled request gets no reply.
            JsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) = &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    self.remove(id);
                }
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {}
        }
    }
}

pub(crate) struct CountingTransport<T> {
    transport: T,
    pending: Arc<InFlightRequests>,
}

impl<T> CountingTransport<T> {
    pub(crate) fn new(transport: T, pending: Arc<InFlightRequests>) -> Self {
        Self { transport, pending }
    }
}

impl<T: Transport<RoleServer>> Transport<RoleServer> for CountingTransport<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), T::Error>> + Send + 'static {
        let answered = match &message {
            JsonRpcMessage::Response(response) => Some(response.id.clone()),
            JsonRpcMessage::Error(error) => error.id.clone(),
            _ => None,
        };
        let (sent, pending) = (self.transport.send(message), Arc::clone(&self.pending));
        async move {
            let sent = sent.await;
            if let Some(id) = answered {
                pending.remove(&id);
            }
            sent
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        let message = self.transport.receive().await;
        match &message {
            Some(message) => self.pending.record_message(message),
            None => self.pending.gone.cancel(),
        }
        message
    }

    async fn close(&mut self) -> Result<(), T::Error> {
        self.transport.close().await
    }
}
