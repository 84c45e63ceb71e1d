//! Progress messages of one call, on their way to the client that asked for them.

use std::{sync::Arc, time::Duration};

use gatehouse_core::call::ProgressSink;
use rmcp::{
    RoleServer,
    model::{ProgressNotificationParam, ProgressToken},
    service::{Peer, RequestContext},
};
use tokio::{sync::mpsc, task::JoinSet};

/// Messages that may wait; what comes while the queue is full is dropped, the client is slow enough.
const QUEUE: usize = 16;

/// How long the reply waits for the last messages to be written.
const FLUSH: Duration = Duration::from_secs(1);

type Message = (u64, Option<u64>, Option<String>);

/// The way to the client while the call runs.
pub(super) struct Channel {
    sender: mpsc::Sender<Message>,
    /// Aborted when dropped.
    writer: JoinSet<()>,
}

/// Opens a channel if the client gave a progress token.
pub(super) fn channel(context: &RequestContext<RoleServer>) -> Option<Channel> {
    let token = context.meta.get_progress_token()?;
    let (sender, receiver) = mpsc::channel(QUEUE);
    let mut writer = JoinSet::new();
    writer.spawn(write(context.peer.clone(), token, receiver));
    Some(Channel { sender, writer })
}

impl Channel {
    pub(super) fn sink(&self) -> Arc<dyn ProgressSink> {
        Arc::new(Sink(self.sender.clone()))
    }

    /// Waits until what was reported is written, so that no message comes after the reply. Every sink
    /// must be gone.
    pub(super) async fn finish(self) {
        let Self { sender, mut writer } = self;
        drop(sender);
        let _ = tokio::time::timeout(FLUSH, writer.join_next()).await;
    }
}

struct Sink(mpsc::Sender<Message>);

impl ProgressSink for Sink {
    fn report(&self, done: u64, total: Option<u64>, message: Option<String>) {
        let _ = self.0.try_send((done, total, message));
    }
}

async fn write(peer: Peer<RoleServer>, token: ProgressToken, mut messages: mpsc::Receiver<Message>) {
    while let Some((done, total, message)) = messages.recv().await {
        let mut params = ProgressNotificationParam::new(token.clone(), done as f64);
        params.total = total.map(|total| total as f64);
        params.message = message;
        if peer.notify_progress(params).await.is_err() {
            return;
        }
    }
}
