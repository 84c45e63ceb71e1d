//! What a call says while it runs: how far it is, and messages beside the reply. It goes to the client by the request that
//! the client waits for; a call that is asked for again by another request goes on speaking there.

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

/// Messages that may wait; what comes while the queue is full is dropped, the client is slow enough.
const MAX_QUEUED: usize = 16;

/// How long the reply waits for the last messages to be written.
const MAX_FLUSH_TIME: Duration = Duration::from_secs(1);

enum Notification {
    Progress(u64, Option<u64>, Option<String>),
    Message(MessageLevel, String, Value),
    /// Everything before it is written.
    Flush(oneshot::Sender<()>),
}

/// The call's end of the way to the client; there is one only while a request waits for the call.
#[derive(Default)]
pub(super) struct NotificationSender(Mutex<Option<mpsc::Sender<Notification>>>);

impl NotificationSender {
    fn send(&self, said: Notification) {
        if let Some(way) = &*lock(&self.0) {
            let _ = way.try_send(said);
        }
    }

    /// Waits until what was said is written, so that a question does not overtake it.
    pub(super) async fn flush(&self) {
        let way = lock(&self.0).clone();
        if let Some(way) = way {
            let (mark, written) = oneshot::channel();
            let _ = way.send(Notification::Flush(mark)).await;
            let _ = written.await;
        }
    }

    /// Tells the client something in the name of `logger`.
    pub(super) fn send_log(&self, level: MessageLevel, logger: &str, data: Value) {
        self.send(Notification::Message(level, logger.to_owned(), data));
    }
}

impl ProgressSink for NotificationSender {
    fn report(&self, done: u64, total: Option<u64>, message: Option<String>) {
        self.send(Notification::Progress(done, total, message));
    }
}

/// The request's end.
pub(super) struct NotificationRoute {
    line: Arc<NotificationSender>,
    /// Aborted when dropped.
    writer: JoinSet<()>,
}

impl NotificationRoute {
    /// Leads what the call says to this request from now on, where its client wants to hear of any of it.
    pub(super) fn open(
        line: &Arc<NotificationSender>,
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
        *lock(&line.0) = Some(sender);
        Some(Self { line: Arc::clone(line), writer })
    }

    /// Waits until what was said is written, so that no message comes after the answer.
    pub(super) async fn finish(mut self) {
        drop(lock(&self.line.0).take());
        let _ = tokio::time::timeout(MAX_FLUSH_TIME, self.writer.join_next()).await;
    }
}

async fn write(
    peer: Peer<RoleServer>,
    request: RequestId,
    token: Option<ProgressToken>,
    mut all: mpsc::Receiver<Notification>,
) {
    while let Some(said) = all.recv().await {
        let written = match said {
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
