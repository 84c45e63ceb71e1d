//! Transport between a server and rmcp. It handles notifications in order: rmcp would spawn a task for each, which may
//! run after the call has ended, or never if there are too many.

use std::{
    borrow::Cow,
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex},
};

use gatehouse_core::{call::ProgressSink, lock};
use rmcp::{
    RoleClient,
    model::{
        ClientRequest, GetMeta as _, JsonRpcMessage, ProgressNotificationParam, ProgressToken, RequestId,
        ServerNotification, ServerResult,
    },
    service::{InboundStreamOrigin, TxJsonRpcMessage},
    transport::Transport,
};
use tokio::sync::Semaphore;

use super::ServerMessage;
use crate::{
    OnDrop,
    downstream::host_client::HostClient,
    peer_requests::{answered_request, cancelled_request},
};

/// Maximum requests of a server without an answer. Reading pauses at the limit.
const MAX_UNANSWERED: usize = 32;

/// Reports to buffer for calls without a watcher: a report may arrive before the sender of the call registers.
const MAX_EARLY_REPORTS: usize = 64;

/// Method of a request that stays in rmcp's table of pending requests and is not sent.
pub(in crate::downstream) const UNSENT_REQUEST: &str = "gatehouse/unsent";

pub(in crate::downstream) struct GuardedTransport<T> {
    inner: T,
    host: HostClient,
    unanswered: Arc<Semaphore>,
    probe: DiscoveryProbe,
}

/// The request that shows whether a server has discovery. A slow server answers it after `initialize` was sent instead;
/// rmcp would take that for the answer to `initialize`.
#[derive(Default)]
enum DiscoveryProbe {
    #[default]
    NotSent,
    Sent(RequestId),
    Abandoned(RequestId),
}

impl<T> Drop for GuardedTransport<T> {
    fn drop(&mut self) {
        self.host.inbound.pending.close();
    }
}

impl<T> GuardedTransport<T> {
    pub(in crate::downstream) fn new(inner: T, host: &HostClient) -> Self {
        let unanswered = Arc::new(Semaphore::new(MAX_UNANSWERED));
        let probe = DiscoveryProbe::default();
        Self { inner, host: host.clone(), unanswered, probe }
    }

    /// Handles a notification. Returns it if rmcp has to handle it, as part of a subscription or the lifecycle.
    fn handle_notification(&self, notification: ServerNotification) -> Option<ServerNotification> {
        if notification.get_meta().subscription_id().is_some() {
            return Some(notification);
        }
        match notification {
            ServerNotification::ProgressNotification(progress) => self.host.watchers.take(progress.params),
            ServerNotification::ResourceUpdatedNotification(updated) => {
                self.host.subscriptions.changed(&updated.params.uri)
            }
            ServerNotification::ToolListChangedNotification(_)
            | ServerNotification::PromptListChangedNotification(_)
            | ServerNotification::ResourceListChangedNotification(_) => {
                if let Some(changed) = &self.host.context.changed {
                    changed();
                }
            }
            ServerNotification::LoggingMessageNotification(message) => {
                let origin = message.extensions.get::<InboundStreamOrigin>().cloned();
                self.host.log(origin, message.params);
            }
            ServerNotification::CustomNotification(_) => {}
            other => return Some(other),
        }
        None
    }
}

fn is_unsent(message: &TxJsonRpcMessage<RoleClient>) -> bool {
    let JsonRpcMessage::Request(request) = message else { return false };
    matches!(&request.request, ClientRequest::CustomRequest(custom) if custom.method == UNSENT_REQUEST)
}

/// True if rmcp itself sent the request, so that no session takes the recorded response.
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
        let is_sent = !is_unsent(&item);
        if let JsonRpcMessage::Request(request) = &item
            && is_sent
        {
            let is_call = matches!(request.request, ClientRequest::CallToolRequest(_));
            self.host.inbound.register_request(&request.id, is_call);
            self.probe = match (&request.request, std::mem::take(&mut self.probe)) {
                (ClientRequest::DiscoverRequest(_), _) => DiscoveryProbe::Sent(request.id.clone()),
                (ClientRequest::InitializeRequest(_), DiscoveryProbe::Sent(id)) => {
                    DiscoveryProbe::Abandoned(id)
                }
                (_, probe) => probe,
            };
        } else if let Some(id) = cancelled_request(&item) {
            self.host.inbound.pending.forget(id);
        }
        let is_answer = matches!(item, JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_));
        let answered = is_answer.then(|| Arc::clone(&self.unanswered));
        let sending = is_sent.then(|| self.inner.send(item));
        async move {
            let Some(sending) = sending else { return Ok(()) };
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
                () = self.host.inbound.ending.cancelled() => None,
                message = self.inner.receive() => message,
            };
            let Some(message) = message else {
                // Nobody reads the answers of later calls.
                self.host.inbound.pending.close();
                return None;
            };
            if let DiscoveryProbe::Abandoned(probe) = &self.probe
                && answered_request(&message) == Some(probe)
            {
                self.host.inbound.pending.forget(probe);
                continue;
            }
            match &message {
                JsonRpcMessage::Request(_) => {
                    if let Ok(place) = self.unanswered.try_acquire() {
                        place.forget();
                    }
                }
                JsonRpcMessage::Response(response)
                    if is_negotiation(&response.result)
                        && !self.host.inbound.pending.is_call(&response.id) =>
                {
                    self.host.inbound.pending.forget(&response.id);
                }
                _ => {}
            }
            let JsonRpcMessage::Notification(mut message) = message else {
                match self.host.inbound.deliver_direct(message) {
                    Some(message) => return Some(message),
                    None => continue,
                }
            };
            self.host.inbound.count_unrequested();
            if let Some(notification) = self.handle_notification(message.notification) {
                message.notification = notification;
                return Some(JsonRpcMessage::Notification(message));
            }
        }
    }

    fn close(&mut self) -> impl Future<Output = Result<(), Self::Error>> + Send {
        self.host.inbound.pending.close();
        self.inner.close()
    }
}

/// Progress of calls, reported in order and before the result.
#[derive(Clone, Default)]
pub(in crate::downstream) struct ProgressWatchers(Arc<Mutex<ProgressState>>);

#[derive(Default)]
struct ProgressState {
    by_token: HashMap<ProgressToken, Arc<dyn ProgressSink>>,
    early: VecDeque<ProgressNotificationParam>,
}

impl ProgressWatchers {
    /// Registers a watcher until the guard is dropped, and passes the buffered reports to it.
    pub(in crate::downstream) fn watch(
        &self,
        token: ProgressToken,
        sink: Arc<dyn ProgressSink>,
    ) -> OnDrop<impl FnOnce()> {
        let mut inner = lock(&self.0);
        inner.early.retain(|early| {
            let is_its = early.progress_token == token;
            if is_its {
                report(&*sink, early);
            }
            !is_its
        });
        inner.by_token.insert(token.clone(), sink);
        drop(inner);
        OnDrop::new(move || drop(lock(&self.0).by_token.remove(&token)))
    }

    fn take(&self, progress: ProgressNotificationParam) {
        let mut inner = lock(&self.0);
        match inner.by_token.get(&progress.progress_token) {
            Some(sink) => report(&**sink, &progress),
            None => {
                if inner.early.len() == MAX_EARLY_REPORTS {
                    inner.early.pop_front();
                }
                inner.early.push_back(progress);
            }
        }
    }
}

fn report(sink: &dyn ProgressSink, progress: &ProgressNotificationParam) {
    let whole = |number: f64| number.max(0.0) as u64;
    sink.report(whole(progress.progress), progress.total.map(whole), progress.message.clone());
}
