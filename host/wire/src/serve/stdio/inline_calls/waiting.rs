//! Concurrent calls. They stay on the thread that reads input while they wait, because waking another thread takes
//! longer than most of their steps. They move away when a step computes for long.

use std::{
    pin::Pin,
    task::{Context, Poll},
    time::{Duration, Instant},
};

use rmcp::{RoleServer, service::TxJsonRpcMessage};

/// Maximum time of a step on the thread that reads input.
pub(super) const MAX_INLINE_POLL: Duration = Duration::from_millis(1);

pub(super) type CallFuture = Pin<Box<dyn Future<Output = TxJsonRpcMessage<RoleServer>> + Send>>;

pub(super) enum CallStep {
    Done(Box<TxJsonRpcMessage<RoleServer>>),
    /// The call computes for long and must move to another thread.
    Busy(CallFuture),
}

/// A call that is polled on the thread that reads input.
pub(super) struct InterleavedCall(Option<CallFuture>);

impl InterleavedCall {
    pub(super) fn new(work: CallFuture) -> Self {
        Self(Some(work))
    }
}

impl Future for InterleavedCall {
    type Output = CallStep;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<CallStep> {
        let Some(work) = self.0.as_mut() else { return Poll::Pending };
        let began = Instant::now();
        match work.as_mut().poll(cx) {
            Poll::Ready(reply) => Poll::Ready(CallStep::Done(Box::new(reply))),
            Poll::Pending if began.elapsed() >= MAX_INLINE_POLL => {
                self.0.take().map_or(Poll::Pending, |work| Poll::Ready(CallStep::Busy(work)))
            }
            Poll::Pending => Poll::Pending,
        }
    }
}
