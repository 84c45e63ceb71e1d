//! A call that goes on beside others: on the thread that reads as long as it only waits, for a server say, because to wake
//! another thread takes longer than most of what it does then; elsewhere as soon as it computes for long.

use std::{
    pin::Pin,
    task::{Context, Poll},
    time::{Duration, Instant},
};

use rmcp::{RoleServer, service::TxJsonRpcMessage};

/// What a call may compute at a stretch where lines are read: what follows waits so long.
pub(super) const BRIEF: Duration = Duration::from_millis(1);

/// A call on its way to its reply.
pub(super) type Work = Pin<Box<dyn Future<Output = TxJsonRpcMessage<RoleServer>> + Send>>;

/// What became of a call.
pub(super) enum Step {
    Done(Box<TxJsonRpcMessage<RoleServer>>),
    /// It computes, and has to go on elsewhere.
    Busy(Work),
}

/// See the module.
pub(super) struct Waiting(Option<Work>);

impl Waiting {
    pub(super) fn new(work: Work) -> Self {
        Self(Some(work))
    }
}

impl Future for Waiting {
    type Output = Step;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Step> {
        let Some(work) = self.0.as_mut() else { return Poll::Pending };
        let began = Instant::now();
        match work.as_mut().poll(cx) {
            Poll::Ready(reply) => Poll::Ready(Step::Done(Box::new(reply))),
            Poll::Pending if began.elapsed() >= BRIEF => {
                self.0.take().map_or(Poll::Pending, |work| Poll::Ready(Step::Busy(work)))
            }
            Poll::Pending => Poll::Pending,
        }
    }
}
