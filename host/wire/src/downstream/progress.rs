//! Progress of calls, told in the order in which it comes: before the answer to the call. The protocol library hands
//! notifications to tasks of their own, which may run when the call is long over; so they are taken out on the way in.

use std::{
    borrow::Cow,
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex},
};

use gatehouse_core::{call::ProgressSink, lock};
use rmcp::{
    RoleClient,
    model::{JsonRpcMessage, ProgressNotificationParam, ProgressToken, ServerNotification},
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::Transport,
};

/// Reports that are kept of calls nobody has asked to watch yet: a server may be quicker than whoever sent the call.
const EARLY: usize = 64;

/// Whom the progress of the calls on one connection goes to.
#[derive(Clone, Default)]
pub(super) struct Watchers(Arc<Mutex<Inner>>);

#[derive(Default)]
struct Inner {
    by_token: HashMap<ProgressToken, Arc<dyn ProgressSink>>,
    early: VecDeque<ProgressNotificationParam>,
}

impl Watchers {
    /// From now on the progress of this call goes there, what came already first.
    pub(super) fn add(&self, token: ProgressToken, sink: Arc<dyn ProgressSink>) {
        let mut inner = lock(&self.0);
        inner.early.retain(|early| {
            let is_its = early.progress_token == token;
            if is_its {
                report(&*sink, early);
            }
            !is_its
        });
        inner.by_token.insert(token, sink);
    }

    /// The call is over.
    pub(super) fn remove(&self, token: &ProgressToken) {
        lock(&self.0).by_token.remove(token);
    }

    fn take(&self, progress: ProgressNotificationParam) {
        let mut inner = lock(&self.0);
        match inner.by_token.get(&progress.progress_token) {
            Some(sink) => report(&**sink, &progress),
            None => {
                if inner.early.len() == EARLY {
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

/// A transport whose progress notifications go to whoever watches, and nowhere else.
pub(super) struct InOrder<T> {
    inner: T,
    watchers: Watchers,
}

impl<T> InOrder<T> {
    pub(super) fn new(inner: T, watchers: Watchers) -> Self {
        Self { inner, watchers }
    }
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for InOrder<T> {
    type Error = T::Error;

    fn name() -> Cow<'static, str> {
        T::name()
    }

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.inner.send(item)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            let message = self.inner.receive().await?;
            match message {
                JsonRpcMessage::Notification(told) => match told.notification {
                    ServerNotification::ProgressNotification(progress) => self.watchers.take(progress.params),
                    notification => {
                        return Some(JsonRpcMessage::Notification(rmcp::model::JsonRpcNotification {
                            jsonrpc: told.jsonrpc,
                            notification,
                        }));
                    }
                },
                other => return Some(other),
            }
        }
    }

    fn close(&mut self) -> impl Future<Output = Result<(), Self::Error>> + Send {
        self.inner.close()
    }
}
