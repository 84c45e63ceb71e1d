//! Subscriptions since MCP 2026-07-28: a request `subscriptions/listen` that stays open while the server reports
//! changes. Earlier servers report changes of lists unasked.

use std::{sync::Arc, time::Duration};

use gatehouse_net::Backoff;
use serde_json::{Map, Value, json};
use tokio::{
    sync::oneshot,
    task::JoinHandle,
    time::{Instant, sleep},
};

use super::{CallFailure, Peer, ReceivedResult, Request};
use crate::{OnDrop, downstream::connection::ListChanged};

const LISTEN: &str = "subscriptions/listen";

const METHOD_NOT_FOUND: i32 = -32601;

/// Pauses before a subscription that ended is opened again.
const LISTEN_AGAIN: Backoff = Backoff { first: Duration::from_secs(1), longest: Duration::from_secs(300) };

/// Lifetime after which the end of a subscription is not a failure: some proxies close streams after a minute.
const STABLE_SUBSCRIPTION: Duration = Duration::from_secs(30);

/// Lists whose changes a server can report.
const LISTS: [&str; 3] = ["tools", "prompts", "resources"];

/// A subscription that the server accepted. Dropping it ends the subscription.
pub(in crate::downstream) struct Subscription {
    /// Changes that the server reports.
    pub(in crate::downstream) accepted: Map<String, Value>,
    listening: JoinHandle<Result<ReceivedResult, CallFailure>>,
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

impl Subscription {
    /// Waits until the server ends it.
    pub(in crate::downstream) async fn ended(&mut self) {
        let _ = (&mut self.listening).await;
    }
}

impl Peer {
    /// Subscribes to changes.
    pub(in crate::downstream) async fn listen(
        self: &Arc<Self>,
        filter: Value,
    ) -> Result<Subscription, CallFailure> {
        let (sender, acknowledged) = oneshot::channel();
        let this = Arc::clone(self);
        let mut listening = self.runtime.spawn(async move {
            let request = Request::new(LISTEN, json!({"notifications": filter}));
            this.request_acknowledged(request, Some(sender)).await
        });
        let abort = listening.abort_handle();
        let abandoned = OnDrop::new(|| abort.abort());
        let ended = |ended| match ended {
            Ok(Err(failure)) => failure,
            _ => CallFailure::Transport("it ended the subscription at once".into()),
        };
        let accepted = tokio::select! {
            biased;
            Ok(accepted) = acknowledged => Ok(accepted),
            answer = &mut listening => Err(ended(answer)),
        };
        abandoned.disarm();
        accepted.map(|accepted| Subscription { accepted, listening })
    }

    /// Fails the request of a subscription that the server cancels.
    pub(super) fn end_subscription(&self, id: Option<u64>) {
        if let Some(id) = id.filter(|id| self.pending.method(*id) == Some(LISTEN)) {
            self.pending.answer(Some(id), Err(CallFailure::Transport("it ended the subscription".into())));
        }
    }

    /// Follows what the server may change: its lists, and the roots that it has read.
    pub(super) fn follow_changes(self: &Arc<Self>) {
        let Some(changed) = self.context.changed.clone() else { return };
        if self.is_since_2026() {
            self.follow_lists(changed);
        } else if self.context.declared.roots {
            self.forward_roots_changes();
        }
    }

    /// Subscribes to changes of lists, which servers send only to subscribers since 2026-07-28.
    fn follow_lists(self: &Arc<Self>, changed: ListChanged) {
        let reported =
            LISTS.iter().filter(|list| self.info().is_some_and(|info| info.has_option(list, "listChanged")));
        let filter: Map<_, _> = reported.map(|list| (format!("{list}ListChanged"), true.into())).collect();
        if filter.is_empty() {
            return;
        }
        let this = Arc::clone(self);
        let follow = async move {
            let (mut is_first, mut failures) = (true, 0);
            loop {
                let began = Instant::now();
                match this.listen(Value::Object(filter.clone())).await {
                    Ok(mut subscription) => {
                        if !std::mem::take(&mut is_first) {
                            // A change may have been missed.
                            changed();
                        }
                        subscription.ended().await;
                    }
                    // The server declares changes but has no subscriptions.
                    Err(CallFailure::Refused { code: METHOD_NOT_FOUND, .. }) => return,
                    Err(_) => {}
                }
                failures = if began.elapsed() >= STABLE_SUBSCRIPTION { 1 } else { failures + 1 };
                sleep(LISTEN_AGAIN.pause(failures)).await;
            }
        };
        self.run_until_closed(follow);
    }

    /// Notifies the server of changed roots of clients.
    fn forward_roots_changes(self: &Arc<Self>) {
        let mut changes = self.context.clients.roots_changes();
        let this = Arc::clone(self);
        self.run_until_closed(async move {
            while changes.changed().await.is_ok() {
                this.notify("notifications/roots/list_changed", json!({}));
            }
        });
    }

    /// Runs a task that ends with the connection.
    pub(in crate::downstream) fn run_until_closed(&self, task: impl Future<Output = ()> + Send + 'static) {
        let closing = self.closing().clone();
        self.runtime.spawn(async move { closing.run_until_cancelled(task).await });
    }
}
