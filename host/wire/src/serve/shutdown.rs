//! How a host ends. Requests are still taken for some seconds, so that load balancers see `/readyz` change; then none, and
//! those that run may end. What runs when that time is over is answered with an error, so no client waits for ever.

use std::time::Duration;

use gatehouse_core::Fault;
use rmcp::ErrorData;
use tokio_util::{
    sync::{CancellationToken, WaitForCancellationFuture},
    task::{TaskTracker, task_tracker::TaskTrackerToken},
};

use super::{handler::Handler, reply::fault_data};

/// How long requests are still taken once the host is to end, if some run.
const MAX_OPEN_TIME: Duration = Duration::from_secs(5);

/// The parts of the time that running requests have.
#[derive(Debug, Clone, Copy)]
pub(super) struct Drain {
    /// While further requests are taken.
    pub(super) open: Duration,
    /// After that.
    pub(super) closed: Duration,
}

impl Drain {
    pub(super) fn new(time: Duration) -> Self {
        let open = time.min(MAX_OPEN_TIME);
        Self { open, closed: time - open }
    }
}

/// The end of a host, shared by everything that serves its clients.
#[derive(Default)]
pub(super) struct Shutdown {
    /// Cancelled when further requests are refused.
    refusing: CancellationToken,
    /// Cancelled when requests that run are answered with an error.
    over: CancellationToken,
    running: TaskTracker,
}

impl Shutdown {
    /// Counts a request as running until the token is dropped.
    pub(super) fn running(&self) -> TaskTrackerToken {
        self.running.token()
    }

    /// Logs how long running requests have, if there are any.
    pub(super) fn announce(&self, drain: Drain) {
        let (running, time) = (self.running.len(), drain.open + drain.closed);
        if running > 0 {
            tracing::info!(
                running,
                "draining: calls that run have {time:?} to end; a second signal ends them now"
            );
        }
    }

    /// Waits until no request runs. There may be new ones later.
    pub(super) async fn wait_until_idle(&self) {
        self.running.close();
        self.running.wait().await;
    }

    /// Refuses requests from now on; streams that tell of changes end.
    pub(super) fn refuse(&self) {
        self.refusing.cancel();
    }

    pub(super) fn refusing(&self) -> CancellationToken {
        self.refusing.clone()
    }

    /// Answers requests that still run with an error.
    pub(super) fn abort(&self) {
        tracing::warn!(
            running = self.running.len(),
            "ended with calls that still ran; they are answered with an error"
        );
        self.refuse();
        self.over.cancel();
    }

    /// Waits until requests that still run are to be answered with an error.
    pub(super) fn wait_until_over(&self) -> WaitForCancellationFuture<'_> {
        self.over.cancelled()
    }

    /// Gives the answer of `work`, or an error if the host ends before there is one.
    pub(super) async fn answer<T>(
        &self,
        work: impl Future<Output = Result<T, ErrorData>>,
    ) -> Result<T, ErrorData> {
        if self.refusing.is_cancelled() {
            return Err(error(&refused_fault()));
        }
        let _running = self.running();
        tokio::select! {
            biased;
            answer = work => answer,
            () = self.wait_until_over() => Err(error(&aborted_fault())),
        }
    }
}

impl Handler {
    /// Gives the answer of `work`, or an error if the host ends before there is one.
    pub(super) fn answer<T>(
        &self,
        work: impl Future<Output = Result<T, ErrorData>>,
    ) -> impl Future<Output = Result<T, ErrorData>> {
        self.presets.shutdown.answer(work)
    }
}

/// The fault of a request that came too late.
pub(super) fn refused_fault() -> Fault {
    Fault::unavailable("the host is shutting down and takes no further requests")
        .hint("Connect again in a moment, and repeat the request.")
}

/// The fault of a request that had no time to end.
pub(super) fn aborted_fault() -> Fault {
    let mut fault = Fault::unavailable("the host shut down before this request ended")
        .hint("It may have taken effect: check, then repeat it once the host is back.");
    fault.retryable = false;
    fault
}

fn error(fault: &Fault) -> ErrorData {
    ErrorData::internal_error(fault.in_one_line(), Some(fault_data(fault, None)))
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
        assert!(cut.message.starts_with("the host shut down before this request ended"), "{cut:?}");
        assert_eq!(cut.data.expect("parts")["gatehouse/error"]["recoverable"], false);
        let late = shutdown.answer(ready(Ok(1))).await.expect_err("late");
        assert!(late.message.contains("takes no further requests"), "{late:?}");
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
