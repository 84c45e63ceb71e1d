//! Requests of one client that are not answered yet. When the client is gone, or the host is to end, they
//! are what is still waited for; the protocol library would also wait for subscriptions, which never end.

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

/// What is not answered.
#[derive(Default)]
pub(super) struct Pending {
    ids: Mutex<HashSet<RequestId>>,
    answered: Notify,
    /// Cancelled when the client will ask for nothing more.
    gone: CancellationToken,
}

impl Pending {
    fn ids(&self) -> MutexGuard<'_, HashSet<RequestId>> {
        gatehouse_core::lock(&self.ids)
    }

    fn remove(&self, id: &RequestId) {
        let mut ids = self.ids();
        if ids.remove(id) && ids.is_empty() {
            self.answered.notify_waiters();
        }
    }

    /// Waits until the client is gone or `stop` is cancelled, and then until everything is answered, for as
    /// long as `grace`.
    pub(super) async fn over(&self, stop: &CancellationToken, grace: Duration) {
        tokio::select! {
            () = self.gone.cancelled() => {}
            () = stop.cancelled() => {}
        }
        if timeout(grace, self.all_answered()).await.is_err() {
            tracing::warn!("ended with calls that still ran");
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

    fn heard(&self, message: &RxJsonRpcMessage<RoleServer>) {
        match message {
            JsonRpcMessage::Request(request) => {
                if !matches!(request.request, ClientRequest::SubscriptionsListenRequest(_)) {
                    self.ids().insert(request.id.clone());
                }
            }
            // A request that was given up is not answered.
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

/// A transport whose requests are counted.
pub(super) struct Counted<T> {
    transport: T,
    pending: Arc<Pending>,
}

impl<T> Counted<T> {
    pub(super) fn new(transport: T, pending: Arc<Pending>) -> Self {
        Self { transport, pending }
    }
}

impl<T: Transport<RoleServer>> Transport<RoleServer> for Counted<T> {
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
            Some(message) => self.pending.heard(message),
            None => self.pending.gone.cancel(),
        }
        message
    }

    async fn close(&mut self) -> Result<(), T::Error> {
        self.transport.close().await
    }
}
