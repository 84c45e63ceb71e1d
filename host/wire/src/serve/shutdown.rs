//! Graceful shutdown in three phases.
//!
//! First, new requests are still accepted for some seconds, so that load balancers notice `/readyz`. Next, new ones are
//! refused while running ones finish. At the end, the rest gets an error reply, so no client waits forever.

use std::{pin::pin, time::Duration};

use gatehouse_core::Fault;
use rmcp::ErrorData;
use tokio_util::{
    sync::{CancellationToken, WaitForCancellationFuture},
    task::{TaskTracker, task_tracker::TaskTrackerToken},
};

use crate::serve::{handler::Handler, requests::reply::fault_to_error};

/// Maximum time to accept new requests during shutdown, while some are running.
const MAX_OPEN_TIME: Duration = Duration::from_secs(5);

/// Time that running requests have to finish, by phase.
#[derive(Debug, Clone, Copy)]
pub(super) struct Drain {
    pub(super) open: Duration,
    pub(super) closed: Duration,
}

impl Drain {
    pub(super) fn new(time: Duration) -> Self {
        let open = time.min(MAX_OPEN_TIME);
        Self { open, closed: time - open }
    }
}

/// Shutdown state, shared by all servers of a host.
#[derive(Default)]
pub(super) struct Shutdown {
    /// Cancelled when new requests are refused.
    refusing: CancellationToken,
    /// Cancelled when running requests get an error reply.
    over: CancellationToken,
    running: TaskTracker,
}

impl Shutdown {
    /// Counts a request as running until the token is dropped.
    pub(super) fn running(&self) -> TaskTrackerToken {
        self.running.token()
    }

    pub(super) fn announce(&self, drain: Drain) {
        let (running, time) = (self.running.len(), drain.open + drain.closed);
        if running > 0 {
            tracing::info!(
                running,
                "draining: running calls have {time:?} to finish; a second signal stops them immediately"
            );
        }
    }

    /// Waits until no request is running. New ones may follow.
    pub(super) async fn wait_until_idle(&self) {
        self.running.close();
        self.running.wait().await;
    }

    /// Refuses new requests and ends streams of changes.
    pub(super) fn refuse(&self) {
        self.refusing.cancel();
    }

    pub(super) fn refusing(&self) -> CancellationToken {
        self.refusing.clone()
    }

    /// Replies to all running requests with an error.
    pub(super) fn abort(&self) {
        tracing::warn!(running = self.running.len(), "shutdown timed out; running calls get an error reply");
        self.refuse();
        self.over.cancel();
    }

    pub(super) fn wait_until_over(&self) -> WaitForCancellationFuture<'_> {
        self.over.cancelled()
    }

    /// Returns the result of `work`, or an error if the host shuts down first.
    pub(super) async fn answer<T>(
        &self,
        work: impl Future<Output = Result<T, ErrorData>>,
    ) -> Result<T, ErrorData> {
        if self.refusing.is_cancelled() {
            return Err(fault_to_error(&refused_fault(), None));
        }
        let _running = self.running();
        // The macro would copy the work, which takes several kilobytes.
        let mut work = pin!(work);
        tokio::select! {
            biased;
            answer = &mut work => answer,
            () = self.wait_until_over() => Err(fault_to_error(&aborted_fault(), None)),
        }
    }
}

impl Handler {
    pub(super) fn answer<T>(
        &self,
        work: impl Future<Output = Result<T, ErrorData>>,
    ) -> impl Future<Output = Result<T, ErrorData>> {
        self.presets.shutdown.answer(work)
    }
}

/// Fault of a request that arrived after [`Shutdown::refuse`].
pub(super) fn refused_fault() -> Fault {
    Fault::unavailable("the host is shutting down and accepts no new requests")
        .hint("Reconnect in a moment and repeat the request.")
}

/// Fault of a request that [`Shutdown::abort`] interrupted.
pub(super) fn aborted_fault() -> Fault {
    let fault = Fault::unavailable("the host shut down before this request finished")
        .hint("It may have taken effect. Check before you repeat it.");
    Fault { retryable: false, ..fault }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use super::*;

    #[tokio::test]
    async fn running_requests_end_or_are_cut_and_late_ones_are_refused() {
        let shutdown = Shutdown::default();
        let answered = shutdown.answer(ready(Ok(1))).await;
        assert_eq!(answered.expect("an answer"), 1);
        shutdown.wait_until_idle().await;
        let (cut, ()) = tokio::join!(shutdown.answer(pending::<Result<(), _>>()), async {
            assert_eq!(shutdown.running.len(), 1);
            shutdown.abort();
        });
        let cut = cut.expect_err("cut");
        assert!(cut.message.starts_with("the host shut down before this request finished"), "{cut:?}");
        assert_eq!(cut.data.expect("parts")["gatehouse/error"]["recoverable"], false);
        let late = shutdown.answer(ready(Ok(1))).await.expect_err("late");
        assert!(late.message.contains("accepts no new requests"), "{late:?}");
        shutdown.wait_until_idle().await;
    }

    #[test]
    fn a_short_drain_takes_requests_to_its_end() {
        let parts = |seconds| {
            let Drain { open, closed } = Drain::new(Duration::from_secs(seconds));
            (open.as_secs(), closed.as_secs())
        };
        assert_eq!((parts(30), parts(2)), ((5, 25), (2, 0)));
    }
}
