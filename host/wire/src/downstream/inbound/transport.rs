//! The connection between a server and the protocol library. Notifications are handled here, in the order in which they come:
//! the library hands each to a task of its own, which may run when its call is long over, or never if there are too many.

use std::{borrow::Cow, sync::Arc};

use rmcp::{
    RoleClient,
    model::{ClientNotification, GetMeta as _, JsonRpcMessage, ServerNotification, ServerResult},
    service::TxJsonRpcMessage,
    transport::Transport,
};
use tokio::sync::Semaphore;

use super::{InboundReader, ProgressWatchers, ServerMessage};
use crate::downstream::{connection::ListChanged, upstream_subscriptions::UpstreamSubscriptions};

/// Requests of a server that may be without an answer. No more is read from a server that does not take answers.
const MAX_UNANSWERED: usize = 32;

/// A transport that bounds what the other side can make the host do.
pub(in crate::downstream) struct GuardedTransport<T> {
    inner: T,
    inbound: InboundReader,
    watchers: ProgressWatchers,
    followed: UpstreamSubscriptions,
    changed: ListChanged,
    unanswered: Arc<Semaphore>,
}

impl<T> GuardedTransport<T> {
    pub(in crate::downstream) fn new(
        inner: T,
        inbound: &InboundReader,
        watchers: &ProgressWatchers,
        followed: &UpstreamSubscriptions,
        changed: &ListChanged,
    ) -> Self {
        Self {
            inner,
            inbound: inbound.clone(),
            watchers: watchers.clone(),
            followed: followed.clone(),
            changed: Arc::clone(changed),
            unanswered: Arc::new(Semaphore::new(MAX_UNANSWERED)),
        }
    }

    /// Handles a notification. Returns one that the library has to handle: what belongs to a subscription, and what it
    /// negotiates with.
    fn handle_notification(&self, notification: ServerNotification) -> Option<ServerNotification> {
        if notification.get_meta().subscription_id().is_some() {
            return Some(notification);
        }
        match notification {
            ServerNotification::ProgressNotification(progress) => self.watchers.take(progress.params),
            ServerNotification::ResourceUpdatedNotification(updated) => {
                self.followed.changed(&updated.params.uri)
            }
            ServerNotification::ToolListChangedNotification(_)
            | ServerNotification::PromptListChangedNotification(_)
            | ServerNotification::ResourceListChangedNotification(_) => (self.changed)(),
            // Nobody reads these.
            ServerNotification::LoggingMessageNotification(_) | ServerNotification::CustomNotification(_) => {
            }
            other => return Some(other),
        }
        None
    }
}

/// Whether the library asked for this result, so that no session takes what is known of it.
fn is_negotiation(result: &ServerResult) -> bool {
    matches!(result, ServerResult::InitializeResult(_) | ServerResult::DiscoverResult(_))
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for GuardedTransport<T> {
    type Error = T::Error;

    fn name() -> Cow<'static, str> {
        T::name()
    }

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let mut answered = None;
        match &item {
            JsonRpcMessage::Request(request) => self.inbound.register_request(&request.id),
            JsonRpcMessage::Notification(sent) => {
                if let ClientNotification::CancelledNotification(cancelled) = &sent.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    self.inbound.awaited.forget(id);
                }
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {
                answered = Some(Arc::clone(&self.unanswered))
            }
        }
        let sending = self.inner.send(item);
        async move {
            let sent = sending.await;
            if let Some(unanswered) = answered {
                unanswered.add_permits(1);
            }
            sent
        }
    }

    async fn receive(&mut self) -> Option<ServerMessage> {
        loop {
            drop(self.unanswered.acquire().await);
            let message = tokio::select! {
                biased;
                () = self.inbound.ending.cancelled() => return None,
                message = self.inner.receive() => message?,
            };
            match message {
                JsonRpcMessage::Notification(mut message) => {
                    self.inbound.count_unrequested();
                    if let Some(notification) = self.handle_notification(message.notification) {
                        message.notification = notification;
                        return Some(JsonRpcMessage::Notification(message));
                    }
                }
                message @ JsonRpcMessage::Request(_) => {
                    if let Ok(place) = self.unanswered.try_acquire() {
                        place.forget();
                    }
                    return Some(message);
                }
                JsonRpcMessage::Response(response) => {
                    if is_negotiation(&response.result) {
                        self.inbound.awaited.forget(&response.id);
                    }
                    return Some(JsonRpcMessage::Response(response));
                }
                JsonRpcMessage::Error(error) => return Some(JsonRpcMessage::Error(error)),
            }
        }
    }

    fn close(&mut self) -> impl Future<Output = Result<(), Self::Error>> + Send {
        self.inner.close()
    }
}
