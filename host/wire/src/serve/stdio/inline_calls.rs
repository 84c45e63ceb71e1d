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
    collections::HashMap,
    future::ready,
    pin::{Pin, pin},
    sync::{Arc, OnceLock},
    task::{Context, Poll},
    time::{Duration, Instant},
};

use futures_util::{FutureExt, StreamExt, poll, stream::FuturesUnordered};
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
        direct_calls::{CallFuture, call_future},
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

/// A call that is polled on the thread that reads input. Waking another thread takes longer than most steps.
struct InlineCall(Option<RunningCall>);

struct RunningCall {
    id: RequestId,
    work: CallFuture,
    cancel: CancellationToken,
}

enum CallStep {
    Done(Box<TxJsonRpcMessage<RoleServer>>, CancellationToken),
    /// The call computes for long and must move to another thread.
    Busy(RunningCall),
}

impl Future for InlineCall {
    type Output = CallStep;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<CallStep> {
        let Some(call) = self.0.as_mut() else { return Poll::Pending };
        let began = Instant::now();
        // Without the task budget, so that earlier calls do not force this one to yield.
        let polled = pin!(unconstrained(call.work.as_mut())).poll(cx);
        match (polled, self.0.take()) {
            (Poll::Ready(reply), Some(call)) => Poll::Ready(CallStep::Done(Box::new(reply), call.cancel)),
            (Poll::Pending, Some(call)) if began.elapsed() >= MAX_INLINE_POLL => {
                Poll::Ready(CallStep::Busy(call))
            }
            (_, call) => {
                self.0 = call;
                Poll::Pending
            }
        }
    }
}

/// Peer of the client. Unset until the handshake is over.
pub(crate) type ClientPeer = Arc<OnceLock<Peer<RoleServer>>>;

pub(crate) struct InlineCalls<T: Transport<RoleServer>> {
    transport: T,
    handler: Arc<Handler>,
    client: ClientPeer,
    running: FuturesUnordered<InlineCall>,
    /// Calls that were moved to other threads.
    moved: JoinSet<(Box<TxJsonRpcMessage<RoleServer>>, CancellationToken)>,
    moved_cancels: HashMap<RequestId, CancellationToken>,
    /// Replies that are not written yet, in order.
    replies: Vec<SendFuture<T::Error>>,
    /// Time of the first of them.
    replies_since: Option<Instant>,
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
            running: FuturesUnordered::new(),
            moved: JoinSet::new(),
            moved_cancels: HashMap::new(),
            replies: Vec::new(),
            replies_since: None,
            ended: false,
            workers,
        }
    }

    /// Runs a call, inline if it finishes on its first poll.
    async fn call(&mut self, peer: Peer<RoleServer>, call: JsonRpcRequest<ClientRequest>) {
        let id = call.id.clone();
        let is_large = call.request.extensions().get::<LargeRequest>().is_some();
        let (work, cancel) = call_future(Arc::clone(&self.handler), peer, call);
        let call = RunningCall { id, work, cancel };
        if is_large {
            return self.move_call(call);
        }
        self.running.push(InlineCall(Some(call)));
        if let Poll::Ready(Some(step)) = poll!(self.running.next()) {
            self.finish_step(step);
        }
    }

    fn move_call(&mut self, call: RunningCall) {
        let RunningCall { id, work, cancel } = call;
        self.moved_cancels.insert(id, cancel.clone());
        let work = async move { (Box::new(work.await), cancel) };
        match self.workers.handle() {
            Some(workers) => self.moved.spawn_on(work, &workers),
            None => self.moved.spawn(work),
        };
    }

    fn finish_step(&mut self, step: CallStep) {
        match step {
            CallStep::Done(reply, cancel) => self.finish_call(*reply, &cancel),
            CallStep::Busy(call) => self.move_call(call),
        }
    }

    /// Cancels a request of the client, which then gets no reply.
    fn cancel_call(&mut self, id: &RequestId) {
        if let Some(cancel) = self.moved_cancels.remove(id) {
            cancel.cancel();
        }
        for call in self.running.iter().filter_map(|call| call.0.as_ref()) {
            if call.id == *id {
                call.cancel.cancel();
            }
        }
    }

    /// Sends the reply of a call, unless the client cancelled it, and stops its background work.
    fn finish_call(&mut self, reply: TxJsonRpcMessage<RoleServer>, cancel: &CancellationToken) {
        if !cancel.is_cancelled() {
            cancel.cancel();
            self.replies_since.get_or_insert_with(Instant::now);
            self.replies.push(Box::pin(self.transport.send(reply)));
        }
    }

    /// True if the replies must be written before the next line is read.
    fn is_due(&self) -> bool {
        self.replies.len() >= MAX_BATCHED_REPLIES
            || self.replies_since.is_some_and(|since| since.elapsed() >= MAX_REPLY_DELAY)
    }

    /// Writes the replies. Spawns a task for the part that the pipe does not accept now.
    fn write_replies(&mut self) {
        self.replies_since = None;
        let sending = std::mem::take(&mut self.replies);
        let mut delivery = Box::pin(async move {
            for reply in sending {
                // The read of the next line reports a write failure.
                let _ = reply.await;
            }
        });
        if delivery.as_mut().now_or_never().is_none() {
            tokio::spawn(delivery);
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
                () = ready(()), if self.is_due() => {
                    self.write_replies();
                    continue;
                }
                Some(step) = self.running.next() => {
                    self.finish_step(step);
                    continue;
                }
                Some(done) = self.moved.join_next() => {
                    if let Ok((reply, cancel)) = done {
                        if let Some(id) = answered_request(&reply) {
                            self.moved_cancels.remove(id);
                        }
                        self.finish_call(*reply, &cancel);
                    }
                    continue;
                }
                message = self.transport.receive(), if !self.ended && !self.is_due() => message,
                () = ready(()), if !self.replies.is_empty() => {
                    self.write_replies();
                    continue;
                }
                else => return None,
            };
            match (message, self.client.get().cloned()) {
                (Some(JsonRpcMessage::Request(call)), Some(peer)) if is_call(&call.request) => {
                    self.call(peer, call).await;
                }
                (Some(message), _) => {
                    if let Some(id) = cancelled_request(&message) {
                        self.cancel_call(id);
                    }
                    return Some(message);
                }
                (None, _) => self.ended = true,
            }
        }
    }

    async fn close(&mut self) -> Result<(), T::Error> {
        self.write_replies();
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

type SendFuture<E> = Pin<Box<dyn Future<Output = Result<(), E>> + Send>>;

#[cfg(test)]
mod tests;
