//! Requests without an answer, and the calls that they belong to. A question or report of a server is for one of these
//! calls, and no client may answer for another.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use gatehouse_core::{CallContext, Fault, lock};
use serde_json::{Map, Value};
use tokio::{sync::oneshot, time::Instant};
use tokio_util::sync::CancellationToken;

use super::{message::Answer, progress::ProgressLimit};
use crate::OnDrop;

#[derive(Default)]
pub(super) struct PendingRequests(Mutex<PendingTable>);

#[derive(Default)]
struct PendingTable {
    by_id: HashMap<u64, PendingRequest>,
    is_closed: bool,
}

struct PendingRequest {
    method: &'static str,
    answer: Option<oneshot::Sender<Answer>>,
    /// The call that the request belongs to, if a client made it.
    caller: Option<ActiveCaller>,
    progress: ProgressLimit,
    is_subscription: bool,
    /// Waits for the server to accept a subscription.
    acknowledged: Option<oneshot::Sender<Map<String, Value>>>,
}

/// A call that waits for an answer.
#[derive(Clone)]
pub(super) struct ActiveCaller {
    pub(super) context: Arc<CallContext>,
    ended: CancellationToken,
}

impl ActiveCaller {
    /// Waits for an answer of the client, until the call ends.
    pub(super) async fn answer<T>(
        &self,
        answer: impl Future<Output = Result<T, Fault>>,
    ) -> Result<T, String> {
        tokio::select! {
            // The server may quote a fault in its reply.
            answer = answer => answer.map_err(|fault| fault.in_one_line()),
            () = self.ended.cancelled() => Err("the call has ended".into()),
        }
    }
}

/// The call that a message of a server is for.
pub(super) enum MessageCaller {
    Call(ActiveCaller),
    /// No call is running.
    NoCall,
    /// Calls of several clients are running, or the call has ended. The text says which.
    Unknown(&'static str),
}

impl PendingRequests {
    /// Registers a request until the guard is dropped. `None` if the connection has ended.
    pub(super) fn register(
        &self,
        id: u64,
        method: &'static str,
        context: Option<&Arc<CallContext>>,
        acknowledged: Option<oneshot::Sender<Map<String, Value>>>,
    ) -> Option<(oneshot::Receiver<Answer>, OnDrop<impl FnOnce()>)> {
        let (sender, answer) = oneshot::channel();
        let ended = CancellationToken::new();
        let caller =
            context.map(|context| ActiveCaller { context: Arc::clone(context), ended: ended.clone() });
        let progress = ProgressLimit::default();
        let is_subscription = acknowledged.is_some();
        let answer_to = Some(sender);
        let request =
            PendingRequest { method, answer: answer_to, caller, progress, is_subscription, acknowledged };
        let mut table = lock(&self.0);
        if table.is_closed {
            return None;
        }
        table.by_id.insert(id, request);
        let forget = OnDrop::new(move || {
            self.forget(id);
            ended.cancel();
        });
        Some((answer, forget))
    }

    /// Removes a request. Reports the progress that was held back, because no more will come.
    fn forget(&self, id: u64) {
        let request = lock(&self.0).by_id.remove(&id);
        if let Some(PendingRequest { caller: Some(caller), mut progress, .. }) = request
            && let Some(sink) = &caller.context.progress
        {
            progress.flush(&**sink);
        }
    }

    pub(super) fn method(&self, id: u64) -> Option<&'static str> {
        lock(&self.0).by_id.get(&id).map(|request| request.method)
    }

    /// Passes an answer to its request. Returns `false` if none waits for it.
    pub(super) fn answer(&self, id: Option<u64>, answer: Answer) -> bool {
        let sender = {
            let mut table = lock(&self.0);
            // Servers that cannot tell which request was wrong answer with a null ID.
            let id = id.or_else(|| {
                let mut waiting = table.by_id.iter().filter(|(_, request)| !request.is_subscription);
                let (id, _) = waiting.next().filter(|_| answer.is_err())?;
                waiting.next().is_none().then_some(*id)
            });
            id.and_then(|id| table.by_id.get_mut(&id)?.answer.take())
        };
        // The caller may be gone.
        sender.is_some_and(|sender| sender.send(answer).is_ok())
    }

    /// Records that the server accepted a subscription. Returns `false` if none waits for it.
    pub(super) fn acknowledge(&self, id: u64, accepted: Map<String, Value>) -> bool {
        let sender = lock(&self.0).by_id.get_mut(&id).and_then(|request| request.acknowledged.take());
        sender.is_some_and(|sender| sender.send(accepted).is_ok())
    }

    /// Reports the progress of a call. Returns `false` if no call has this token.
    pub(super) fn report(&self, token: u64, params: &Map<String, Value>) -> bool {
        let mut table = lock(&self.0);
        let Some(request) = table.by_id.get_mut(&token) else { return false };
        if let Some(ActiveCaller { context, .. }) = &request.caller {
            context.record_progress();
            if let Some(sink) = &context.progress {
                request.progress.report(Instant::now(), params, &**sink);
            }
        }
        true
    }

    /// Returns the number of calls of clients.
    pub(super) fn calls(&self) -> usize {
        lock(&self.0).by_id.values().filter(|request| request.caller.is_some()).count()
    }

    /// Fails all requests, also later ones.
    pub(super) fn close(&self) {
        let mut table = lock(&self.0);
        table.is_closed = true;
        for request in table.by_id.values_mut() {
            (request.answer, request.acknowledged) = (None, None);
        }
    }

    /// Returns the caller that a message is for. `origin` is the request on whose stream it arrived. On pipes it is
    /// unknown, and the caller must be unambiguous.
    pub(super) fn caller(&self, origin: Option<u64>) -> MessageCaller {
        let table = lock(&self.0);
        if let Some(id) = origin {
            let caller = table.by_id.get(&id).and_then(|request| request.caller.clone());
            return caller.map_or(MessageCaller::Unknown("that call has ended"), MessageCaller::Call);
        }
        let mut callers = table.by_id.values().filter_map(|request| request.caller.as_ref());
        let Some(first) = callers.next() else { return MessageCaller::NoCall };
        let identity = first.context.client.identity();
        if callers.any(|other| identity.is_none() || other.context.client.identity() != identity) {
            return MessageCaller::Unknown(
                "cannot find the client to ask: calls of several clients are running",
            );
        }
        MessageCaller::Call(first.clone())
    }
}
