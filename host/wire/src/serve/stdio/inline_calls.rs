//! Tool calls over stdio, run on the thread that reads input.
//!
//! Most calls finish before the next line is read, because moving a call to a task and its reply back takes longer than
//! a short call. Replies are written in batches when no more input is ready, because a write and waking the client also
//! take as long. Requests for resources, prompts and completions are handled in the same way, since guests run for them
//! too.
//!
//! Calls that wait run concurrently, and calls that compute for long move to other threads. rmcp handles all other
//! requests.

use std::{
    collections::{HashMap, VecDeque},
    future::{poll_fn, ready},
    pin::Pin,
    sync::{Arc, OnceLock},
    task::Poll,
    time::{Duration, Instant},
};

use futures_util::{FutureExt, poll};
use rmcp::{
    RoleServer,
    model::{ClientRequest, GetExtensions, JsonRpcMessage, JsonRpcRequest, RequestId},
    service::{Peer, RxJsonRpcMessage, TxJsonRpcMessage},
    transport::Transport,
};
use tokio::task::{JoinSet, coop::unconstrained};
use tokio_util::sync::CancellationToken;

use super::framing::LargeRequest;
use crate::{
    peer_requests::{answered_request, cancelled_request},
    serve::{
        call_future::{CallFuture, call_future},
        handler::Handler,
        workers::Workers,
    },
};

/// Maximum replies in a batch. The client processes it while the next one is built.
const MAX_BATCHED_REPLIES: usize = 16;

/// Maximum delay of a reply in a batch.
const MAX_REPLY_DELAY: Duration = Duration::from_millis(1);

/// Maximum time of a step on the thread that reads input.
const MAX_INLINE_POLL: Duration = Duration::from_millis(1);

enum CallStep {
    Done(Box<TxJsonRpcMessage<RoleServer>>),
    /// The call computes for long and must move to another thread.
    Busy(CallFuture),
}

/// Polls a call on the thread that reads input, until a step takes long. Waking another thread takes longer than most
/// steps.
fn interleave(work: CallFuture) -> impl Future<Output = CallStep> + Send {
    let mut work = Some(work);
    poll_fn(move |cx| {
        let Some(current) = work.as_mut() else { return Poll::Pending };
        let began = Instant::now();
        match current.as_mut().poll(cx) {
            Poll::Ready(reply) => Poll::Ready(CallStep::Done(Box::new(reply))),
            Poll::Pending if began.elapsed() >= MAX_INLINE_POLL => {
                work.take().map_or(Poll::Pending, |work| Poll::Ready(CallStep::Busy(work)))
            }
            Poll::Pending => Poll::Pending,
        }
    })
}

/// Peer of the client. Unset until the handshake is over.
pub(crate) type ClientPeer = Arc<OnceLock<Peer<RoleServer>>>;

/// A transport that answers calls itself.
pub(crate) struct InlineCalls<T: Transport<RoleServer>> {
    transport: T,
    handler: Arc<Handler>,
    client: ClientPeer,
    /// Calls that did not finish on their first poll.
    running: JoinSet<CallStep>,
    cancels: HashMap<RequestId, CancellationToken>,
    replies: ReplyBatch<T::Error>,
    ended: bool,
    workers: Workers,
}

impl<T: Transport<RoleServer>> InlineCalls<T> {
    /// `workers` runs CPU-intensive calls. The caller must end it.
    pub(crate) fn new(transport: T, handler: Handler, client: ClientPeer, workers: Workers) -> Self {
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

    /// Runs a call, inline if it finishes on its first poll.
    async fn call(&mut self, peer: Peer<RoleServer>, call: JsonRpcRequest<ClientRequest>) {
        let id = call.id.clone();
        let is_large = call.request.extensions().get::<LargeRequest>().is_some();
        let (mut work, cancel) = call_future(Arc::clone(&self.handler), peer, call);
        if is_large {
            self.cancels.insert(id, cancel);
            return self.spawn_call(work);
        }
        // Poll without the task budget, so that earlier calls do not force this one to yield.
        let began = Instant::now();
        match poll!(unconstrained(work.as_mut())) {
            Poll::Ready(reply) => {
                cancel.cancel();
                self.queue_reply(reply);
            }
            Poll::Pending => {
                self.cancels.insert(id, cancel);
                if began.elapsed() < MAX_INLINE_POLL {
                    self.running.spawn(interleave(work));
                } else {
                    self.spawn_call(work);
                }
            }
        }
    }

    fn spawn_call(&mut self, work: CallFuture) {
        let work = async move { CallStep::Done(Box::new(work.await)) };
        match self.workers.handle() {
            Some(workers) => self.running.spawn_on(work, &workers),
            None => self.running.spawn(work),
        };
    }

    fn queue_reply(&mut self, reply: TxJsonRpcMessage<RoleServer>) {
        self.replies.push(self.transport.send(reply));
    }

    /// Sends the reply of a concurrent call, unless the client cancelled it.
    fn finish_call(&mut self, reply: TxJsonRpcMessage<RoleServer>) {
        if let Some(cancel) = answered_request(&reply).and_then(|id| self.cancels.remove(id)) {
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

/// True for requests that may run a guest. Requests that rmcp cannot parse arrive as custom requests.
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

/// Replies that are not written yet, in order.
struct ReplyBatch<E> {
    sending: VecDeque<SendFuture<E>>,
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

    /// True if the batch must be written before the next line is read.
    fn is_due(&self) -> bool {
        self.sending.len() >= MAX_BATCHED_REPLIES
            || self.since.is_some_and(|since| since.elapsed() >= MAX_REPLY_DELAY)
    }

    /// Writes the batch. Spawns a task for the part that the pipe does not accept now.
    fn write(&mut self) {
        self.since = None;
        let sending = std::mem::take(&mut self.sending);
        let mut all = Box::pin(async move {
            for one in sending {
                // The read of the next line reports a write failure.
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
