//! Tool calls of a host with one client: each begins on the thread that read its line, and most are answered there,
//! before the next line is read. To hand a call to a task and its reply back costs more than a short call does.
//!
//! Their replies are written together, as soon as there is no further line to go on with: a write, and the client that
//! it wakes, cost as much as a short call too.
//!
//! Lists and reads of resources, and prompts, are taken as calls are, for guests run for them too.
//!
//! What has to wait goes on beside the others, and on threads of its own once it computes for long; everything else that a
//! client asks is the protocol library's.

mod waiting;

use std::{
    collections::{HashMap, VecDeque},
    future::ready,
    panic::AssertUnwindSafe,
    pin::Pin,
    sync::{Arc, OnceLock},
    task::Poll,
    time::{Duration, Instant},
};

use futures_util::{FutureExt, poll};
use rmcp::{
    ErrorData, RoleServer, Service,
    model::{
        ClientNotification, ClientRequest, GetExtensions, GetMeta, JsonRpcMessage, JsonRpcRequest, RequestId,
    },
    service::{Peer, RequestContext, RxJsonRpcMessage, TxJsonRpcMessage},
    transport::Transport,
};
use tokio::task::{JoinSet, coop::unconstrained};
use tokio_util::sync::CancellationToken;

use self::waiting::{CallFuture, CallStep, InterleavedCall, MAX_INLINE_POLL};
use super::{handler::Handler, stdio_framing::LargeRequest, workers::Workers};

/// Replies that may wait for one another. The client works on the first ones while the next ones are made.
const MAX_BATCHED_REPLIES: usize = 16;

/// How long a reply may wait for those that are made behind it.
const MAX_REPLY_DELAY: Duration = Duration::from_millis(1);

/// A client as calls see it; there is one once the opening of the connection is over.
pub(super) type ClientPeer = Arc<OnceLock<Peer<RoleServer>>>;

/// A transport that answers calls by itself.
pub(super) struct InlineCalls<T: Transport<RoleServer>> {
    transport: T,
    handler: Arc<Handler>,
    client: ClientPeer,
    /// Calls that were not answered at once.
    running: JoinSet<CallStep>,
    /// What ends each of them.
    cancels: HashMap<RequestId, CancellationToken>,
    replies: ReplyBatch<T::Error>,
    /// Whether the client will say nothing more.
    ended: bool,
    workers: Workers,
}

impl<T: Transport<RoleServer>> InlineCalls<T> {
    /// Calls that compute for long run on `workers`, which their owner ends.
    pub(super) fn new(transport: T, handler: Handler, client: ClientPeer, workers: Workers) -> Self {
        Self {
            transport,
            handler: Arc::new(handler),
            client,
            running: JoinSet::new(),
            cancels: HashMap::new(),
            replies: ReplyBatch::default(),
            ended: false,
            workers,
        }
    }

    /// Runs a call, here if it is soon done.
    async fn call(&mut self, peer: Peer<RoleServer>, call: JsonRpcRequest<ClientRequest>) {
        let JsonRpcRequest { id, mut request, .. } = call;
        let mut context = RequestContext::new(id.clone(), peer);
        context.meta = std::mem::take(request.get_meta_mut());
        // Also once it is answered: what it left running ends.
        let cancel = context.ct.clone();
        let is_large = request.extensions().get::<LargeRequest>().is_some();
        let handler = Arc::clone(&self.handler);
        let reply_to = id.clone();
        let mut work: CallFuture = Box::pin(async move {
            // A panic here would leave the client without an answer for ever, and without any other.
            let result = AssertUnwindSafe(handler.handle_request(request, context)).catch_unwind().await;
            match result {
                Ok(Ok(result)) => JsonRpcMessage::response(result, reply_to),
                Ok(Err(error)) => JsonRpcMessage::error(error, Some(reply_to)),
                Err(_) => {
                    let error = ErrorData::internal_error("The host failed on this call", None);
                    JsonRpcMessage::error(error, Some(reply_to))
                }
            }
        });
        if is_large {
            self.cancels.insert(id, cancel);
            return self.spawn_call(work);
        }
        // Among many calls one would have to wait for no other reason than that the ones before it did not.
        let began = Instant::now();
        match poll!(unconstrained(work.as_mut())) {
            Poll::Ready(reply) => {
                cancel.cancel();
                self.queue_reply(reply);
            }
            Poll::Pending => {
                self.cancels.insert(id, cancel);
                if began.elapsed() < MAX_INLINE_POLL {
                    self.running.spawn(InterleavedCall::new(work));
                } else {
                    self.spawn_call(work);
                }
            }
        }
    }

    /// Lets a call go on where nobody waits for its thread.
    fn spawn_call(&mut self, work: CallFuture) {
        let work = async move { CallStep::Done(Box::new(work.await)) };
        match self.workers.handle() {
            Some(workers) => self.running.spawn_on(work, &workers),
            None => self.running.spawn(work),
        };
    }

    /// Lets a reply go out with those that wait.
    fn queue_reply(&mut self, reply: TxJsonRpcMessage<RoleServer>) {
        self.replies.push(self.transport.send(reply));
    }

    /// Sends the reply of a call that took its time, unless the client has given it up.
    fn finish_call(&mut self, reply: TxJsonRpcMessage<RoleServer>) {
        let id = match &reply {
            JsonRpcMessage::Response(response) => Some(&response.id),
            JsonRpcMessage::Error(error) => error.id.as_ref(),
            _ => None,
        };
        if let Some(cancel) = id.and_then(|id| self.cancels.remove(id)) {
            cancel.cancel();
            self.queue_reply(reply);
        }
    }
}

impl<T: Transport<RoleServer>> Transport<RoleServer> for InlineCalls<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), T::Error>> + Send + 'static {
        self.transport.send(message)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            let message = tokio::select! {
                biased;
                Some(done) = self.running.join_next() => {
                    match done {
                        Ok(CallStep::Done(reply)) => self.finish_call(*reply),
                        Ok(CallStep::Busy(work)) => self.spawn_call(work),
                        Err(_) => {}
                    }
                    continue;
                }
                message = self.transport.receive(), if !self.ended && !self.replies.is_due() => message,
                () = ready(()), if !self.replies.is_empty() => {
                    self.replies.write();
                    continue;
                }
                else => return None,
            };
            match (message, self.client.get().cloned()) {
                (Some(JsonRpcMessage::Request(call)), Some(peer)) if is_call(&call.request) => {
                    self.call(peer, call).await;
                }
                (Some(message), _) => {
                    if let Some(cancel) = cancelled_request(&message).and_then(|id| self.cancels.remove(id)) {
                        cancel.cancel();
                    }
                    return Some(message);
                }
                (None, _) => self.ended = true,
            }
        }
    }

    async fn close(&mut self) -> Result<(), T::Error> {
        self.replies.write();
        self.transport.close().await
    }
}

/// Whether a guest may run for it, as for a call; one whose parameters the protocol library cannot read is a custom request
/// to it.
fn is_call(request: &ClientRequest) -> bool {
    matches!(
        request,
        ClientRequest::CallToolRequest(_)
            | ClientRequest::CompleteRequest(_)
            | ClientRequest::CustomRequest(_)
            | ClientRequest::GetPromptRequest(_)
            | ClientRequest::ListResourcesRequest(_)
            | ClientRequest::ReadResourceRequest(_)
    )
}

/// The request that the client does not wait for any more.
fn cancelled_request(message: &RxJsonRpcMessage<RoleServer>) -> Option<&RequestId> {
    let JsonRpcMessage::Notification(notification) = message else { return None };
    let ClientNotification::CancelledNotification(cancelled) = &notification.notification else {
        return None;
    };
    cancelled.params.request_id.as_ref()
}

/// Replies that are not written yet, in the order in which they were made.
struct ReplyBatch<E> {
    sending: VecDeque<SendFuture<E>>,
    /// When the first of them was made.
    since: Option<Instant>,
}

type SendFuture<E> = Pin<Box<dyn Future<Output = Result<(), E>> + Send>>;

impl<E> Default for ReplyBatch<E> {
    fn default() -> Self {
        Self { sending: VecDeque::new(), since: None }
    }
}

impl<E: 'static> ReplyBatch<E> {
    fn push(&mut self, sending: impl Future<Output = Result<(), E>> + Send + 'static) {
        self.since.get_or_insert_with(Instant::now);
        self.sending.push_back(Box::pin(sending));
    }

    fn is_empty(&self) -> bool {
        self.sending.is_empty()
    }

    /// Whether they are to be written before another line is read.
    fn is_due(&self) -> bool {
        self.sending.len() >= MAX_BATCHED_REPLIES
            || self.since.is_some_and(|since| since.elapsed() >= MAX_REPLY_DELAY)
    }

    /// Writes them; what the pipe does not take now is written beside what follows.
    fn write(&mut self) {
        self.since = None;
        let sending = std::mem::take(&mut self.sending);
        let mut all = Box::pin(async move {
            for one in sending {
                // What cannot be written is noticed where the next line is read.
                let _ = one.await;
            }
        });
        if all.as_mut().now_or_never().is_none() {
            tokio::spawn(all);
        }
    }
}

#[cfg(test)]
mod tests;
