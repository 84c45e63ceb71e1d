//! Progress and log messages of a running call. They go to the request that currently waits for the call, which changes
//! if the client resumes it.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use gatehouse_core::{call::ProgressSink, lock, ports::client::MessageLevel};
use rmcp::{
    RoleServer,
    model::{CustomNotification, ProgressNotificationParam, ProgressToken, RequestId, ServerNotification},
    service::{OriginatingRequestId, Peer, RequestContext, ServiceError},
};
use serde_json::{Value, json};
use tokio::{
    sync::{mpsc, oneshot},
    task::JoinSet,
};

/// Maximum queued messages. More are dropped, because the client is too slow for them.
const MAX_QUEUED: usize = 16;

/// Maximum time that a reply waits for queued messages.
const MAX_FLUSH_TIME: Duration = Duration::from_secs(1);

enum Notification {
    Progress(u64, Option<u64>, Option<String>),
    Message(MessageLevel, String, Value),
    /// Signals that all earlier messages have been written.
    Flush(oneshot::Sender<()>),
}

/// Sending side, held by the call. `None` while no request waits for the call.
#[derive(Default)]
pub(crate) struct NotificationSender(Mutex<Option<mpsc::Sender<Notification>>>);

impl NotificationSender {
    fn send(&self, notification: Notification) {
        if let Some(sender) = &*lock(&self.0) {
            let _ = sender.try_send(notification);
        }
    }

    /// Waits until queued messages have been written, so that a question does not overtake them.
    pub(crate) async fn flush(&self) {
        let sender = lock(&self.0).clone();
        if let Some(sender) = sender {
            let (mark, written) = oneshot::channel();
            let _ = sender.send(Notification::Flush(mark)).await;
            let _ = written.await;
        }
    }

    pub(crate) fn send_log(&self, level: MessageLevel, logger: &str, data: Value) {
        self.send(Notification::Message(level, logger.to_owned(), data));
    }
}

impl ProgressSink for NotificationSender {
    fn report(&self, done: u64, total: Option<u64>, message: Option<String>) {
        self.send(Notification::Progress(done, total, message));
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
        let (sender, receiver) = mpsc::channel(MAX_QUEUED);
        let mut writer = JoinSet::new();
        writer.spawn(write(context.peer.clone(), context.id.clone(), token, receiver));
        *lock(&notifications.0) = Some(sender);
        Some(Self { notifications: Arc::clone(notifications), writer })
    }

    /// Waits until queued messages have been written, so that none follows the reply.
    pub(crate) async fn finish(mut self) {
        drop(lock(&self.notifications.0).take());
        let _ = tokio::time::timeout(MAX_FLUSH_TIME, self.writer.join_next()).await;
    }
}

async fn write(
    peer: Peer<RoleServer>,
    request: RequestId,
    token: Option<ProgressToken>,
    mut all: mpsc::Receiver<Notification>,
) {
    while let Some(notification) = all.recv().await {
        let written = match notification {
            Notification::Progress(done, total, message) => match &token {
                Some(token) => report(&peer, token.clone(), done, total, message).await,
                None => Ok(()),
            },
            Notification::Flush(mark) => {
                let _ = mark.send(());
                Ok(())
            }
            Notification::Message(level, logger, data) => {
                let params = json!({"level": level, "logger": logger, "data": data});
                let mut message = CustomNotification::new("notifications/message", Some(params));
                message.extensions.insert(OriginatingRequestId(request.clone()));
                peer.send_notification(ServerNotification::CustomNotification(message)).await
            }
        };
        if written.is_err() {
            return;
        }
    }
}

async fn report(
    peer: &Peer<RoleServer>,
    token: ProgressToken,
    done: u64,
    total: Option<u64>,
    message: Option<String>,
) -> Result<(), ServiceError> {
    let mut params = ProgressNotificationParam::new(token, done as f64);
    params.total = total.map(|total| total as f64);
    params.message = message;
    peer.notify_progress(params).await
}
