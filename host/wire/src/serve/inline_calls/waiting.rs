//! A call that goes on beside others: on the thread that reads as long as it only waits, for a server say, because to wake
//! another thread takes longer than most of what it does then; elsewhere as soon as it computes for long.

use std::{
    pin::Pin,
    task::{Context, Poll},
    time::{Duration, Instant},
};

use rmcp::{RoleServer, service::TxJsonRpcMessage};

/// What a call may compute at a stretch where lines are read: what follows waits so long.
pub(super) const MAX_INLINE_POLL: Duration = Duration::from_millis(1);

/// A call on its way to its reply.
pub(super) type CallFuture = Pin<Box<dyn Future<Output = TxJsonRpcMessage<RoleServer>> + Send>>;

/// What became of a call.
pub(super) enum CallStep {
    Done(Box<TxJsonRpcMessage<RoleServer>>),
    /// It computes, and has to go on elsewhere.
    Busy(CallFuture),
}

/// See the module.
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
