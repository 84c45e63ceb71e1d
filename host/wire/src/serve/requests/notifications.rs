//! Progress and log messages of a running call. They go to the request that currently waits for the call, which changes
//! if the client resumes it.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use gatehouse_core::{call::ProgressSink, lock, names::quoted, ports::client::MessageLevel};
use rmcp::{
    RoleServer,
    model::{
        CustomNotification, ProgressNotification, ProgressNotificationParam, ProgressToken, RequestId,
        ServerNotification,
    },
    service::{OriginatingRequestId, Peer, RequestContext},
};
use serde_json::{Value, json};
use tokio::{
    sync::{mpsc, oneshot},
    task::JoinSet,
};

/// Maximum queued messages. More are dropped, because the client is too slow for them.
const MAX_QUEUED: usize = 16;

/// Maximum characters of a message that is kept for clients that poll.
const MAX_LAST_PROGRESS: usize = 500;

/// Maximum time that a reply waits for queued messages.
const MAX_FLUSH_TIME: Duration = Duration::from_secs(1);

enum QueuedNotification {
    Send(Box<ServerNotification>),
    /// Signals that all earlier ones have been written.
    Flush(oneshot::Sender<()>),
}

/// Sending side, held by the call.
#[derive(Default)]
pub(crate) struct NotificationSender {
    /// `None` while no request waits for the call.
    request: Mutex<Option<WaitingRequest>>,
    last_progress: Mutex<Option<String>>,
}

/// The request that waits for the call.
struct WaitingRequest {
    id: RequestId,
    token: Option<ProgressToken>,
    queue: mpsc::Sender<QueuedNotification>,
}

impl NotificationSender {
    /// Waits until queued messages have been written, so that a question does not overtake them.
    pub(crate) async fn flush(&self) {
        let queue = lock(&self.request).as_ref().map(|request| request.queue.clone());
        if let Some(queue) = queue {
            let (mark, written) = oneshot::channel();
            let _ = queue.send(QueuedNotification::Flush(mark)).await;
            let _ = written.await;
        }
    }

    /// Returns the last progress of the call, for a client that polls.
    pub(crate) fn last_progress(&self) -> Option<String> {
        lock(&self.last_progress).clone()
    }

    pub(crate) fn send_log(&self, level: MessageLevel, logger: &str, data: Value) {
        if let Some(request) = &*lock(&self.request) {
            let params = json!({"level": level, "logger": logger, "data": data});
            let mut message = CustomNotification::new("notifications/message", Some(params));
            message.extensions.insert(OriginatingRequestId(request.id.clone()));
            request.send(ServerNotification::CustomNotification(message));
        }
    }
}

impl WaitingRequest {
    fn send(&self, notification: ServerNotification) {
        let _ = self.queue.try_send(QueuedNotification::Send(Box::new(notification)));
    }
}

impl ProgressSink for NotificationSender {
    fn report(&self, done: f64, total: Option<f64>, message: Option<String>) {
        let count = || total.map_or_else(|| done.to_string(), |total| format!("{done} of {total}"));
        let last = message.as_deref().map_or_else(count, |message| quoted(message, MAX_LAST_PROGRESS));
        *lock(&self.last_progress) = Some(last);
        let request = lock(&self.request);
        let Some((request, token)) =
            request.as_ref().and_then(|request| Some((request, request.token.clone()?)))
        else {
            return;
        };
        let mut params = ProgressNotificationParam::new(token, done);
        (params.total, params.message) = (total, message);
        request.send(ServerNotification::ProgressNotification(ProgressNotification::new(params)));
    }
}

/// Receiving side, held by the request.
pub(crate) struct NotificationRoute {
    notifications: Arc<NotificationSender>,
    writer: JoinSet<()>,
}

impl NotificationRoute {
    /// Routes messages of the call to this request. `None` if its client wants neither progress nor log messages.
    pub(crate) fn open(
        notifications: &Arc<NotificationSender>,
        context: &RequestContext<RoleServer>,
        messages: bool,
    ) -> Option<Self> {
        let token = context.meta.get_progress_token();
        if token.is_none() && !messages {
            return None;
        }
        let (queue, receiver) = mpsc::channel(MAX_QUEUED);
        let mut writer = JoinSet::new();
        writer.spawn(write(context.peer.clone(), receiver));
        *lock(&notifications.request) = Some(WaitingRequest { id: context.id.clone(), token, queue });
        Some(Self { notifications: Arc::clone(notifications), writer })
    }

    /// Waits until queued messages have been written, so that none follows the reply.
    pub(crate) async fn finish(mut self) {
        drop(lock(&self.notifications.request).take());
        let _ = tokio::time::timeout(MAX_FLUSH_TIME, self.writer.join_next()).await;
    }
}

async fn write(peer: Peer<RoleServer>, mut queue: mpsc::Receiver<QueuedNotification>) {
    while let Some(queued) = queue.recv().await {
        match queued {
            QueuedNotification::Send(notification) => {
                if peer.send_notification(*notification).await.is_err() {
                    return;
                }
            }
            QueuedNotification::Flush(mark) => drop(mark.send(())),
        }
    }
}
