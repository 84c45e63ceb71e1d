//! Connections to server processes, of which few start at the same time.

use std::{pin::pin, sync::Arc, time::Duration};

use gatehouse_core::ports::servers::{ServerDefinition, ServerTransport};
use tokio::{
    sync::Semaphore,
    time::{sleep_until, timeout},
};

use super::{AttemptDeadline, HostClient, Lifecycle, RealConnector, ServerSession, is_answer};
use crate::downstream::{
    connection::{ConnectFailure, ConnectionContext},
    inbound::InboundReader,
    pipe_transport::PipeTransport,
    process::ServerProcess,
    session::PipeCalls,
};

/// Maximum wait for the exit of a process after its output closes.
const MAX_EXIT_WAIT: Duration = Duration::from_millis(500);

/// Limit on processes that start at the same time. Package runners download and unpack at startup, and many of them
/// together would miss their time limits.
pub(super) const MAX_STARTS: usize = 4;

/// Maximum time to hold a slot.
const MAX_HOLD: Duration = Duration::from_secs(10);

/// Runs `start` in a slot. After [`MAX_HOLD`], `start` continues without the slot.
pub(super) async fn run_in_slot<T>(slots: &Semaphore, start: impl Future<Output = T>) -> T {
    let slot = slots.acquire().await;
    let mut start = pin!(start);
    if let Ok(started) = timeout(MAX_HOLD, &mut start).await {
        return started;
    }
    drop(slot);
    start.await
}

impl RealConnector {
    pub(super) async fn over_pipes(
        &self,
        server: &ServerDefinition,
        context: &ConnectionContext,
        lifecycle: Lifecycle,
        limit: AttemptDeadline,
    ) -> Result<ServerSession, ConnectFailure> {
        let redactor = Arc::clone(&context.limits.redactor);
        let (process, output, input) = ServerProcess::start(&self.settings, &server.transport, redactor)?;
        let inbound = InboundReader::new(&context.limits);
        let transport = PipeTransport::new(output, input, &inbound);
        let writer = transport.writer();
        let client = HostClient::new(&server.name, inbound, context);
        let ended = |how| ConnectFailure {
            // Some servers exit because of a first request that they do not know.
            wrong_lifecycle: lifecycle == Lifecycle::Discovery,
            ..ConnectFailure::transient(format!("it exited during startup ({how})"))
        };
        let failed = tokio::select! {
            begun = client.serve(transport, lifecycle.mode()) => match begun {
                Ok(running) => {
                    let calls = PipeCalls::new(&running, writer).await;
                    return Ok(ServerSession::new(running, Some(process), Some(calls)));
                }
                Err(error) if is_answer(&error) => lifecycle.classify_failure(&error),
                // A process that exits closes its output a moment earlier.
                Err(error) => match timeout(MAX_EXIT_WAIT, process.ended()).await {
                    Ok(how) => ended(how),
                    Err(_) => lifecycle.classify_failure(&error),
                },
            },
            how = process.ended() => ended(how),
            () = sleep_until(limit.until) => ConnectFailure::timed_out(limit.length),
        };
        let failed = self.explain_failure(failed, server, &process);
        tokio::spawn(async move { process.end().await });
        Err(failed)
    }

    /// Adds standard error and the withheld environment variables.
    fn explain_failure(
        &self,
        failed: ConnectFailure,
        server: &ServerDefinition,
        process: &ServerProcess,
    ) -> ConnectFailure {
        let stderr = process.error_summary().map(|stderr| format!("; stderr: {stderr}")).unwrap_or_default();
        let withheld = match &server.transport {
            ServerTransport::Stdio { env, .. } => self.settings.inherited.withheld_from(&server.name, env),
            ServerTransport::Http { .. } | ServerTransport::Sse { .. } => None,
        };
        let withheld = withheld.map(|withheld| format!("; {withheld}")).unwrap_or_default();
        ConnectFailure { message: format!("{}{stderr}{withheld}", failed.message), ..failed }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures_util::future::{join, join_all};
    use tokio::time::{Instant, sleep};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn only_a_few_programs_start_at_the_same_time() {
        let (slots, starting) = (Semaphore::new(MAX_STARTS), AtomicUsize::new(0));
        let begin = Instant::now();
        let starts = (0..10).map(|_| {
            run_in_slot(&slots, async {
                assert!(starting.fetch_add(1, Ordering::SeqCst) < MAX_STARTS);
                sleep(Duration::from_secs(1)).await;
                starting.fetch_sub(1, Ordering::SeqCst);
            })
        });
        join_all(starts).await;
        assert_eq!(begin.elapsed(), Duration::from_secs(3), "four, four and two");
    }

    #[tokio::test(start_paused = true)]
    async fn programs_that_hang_do_not_keep_their_slots() {
        let slots = Semaphore::new(MAX_STARTS);
        let begin = Instant::now();
        let hanging = join_all((0..MAX_STARTS).map(|_| run_in_slot(&slots, sleep(Duration::from_secs(60)))));
        let next = run_in_slot(&slots, async { begin.elapsed() });
        let (_, waited) = join(hanging, next).await;
        assert_eq!((waited, begin.elapsed()), (MAX_HOLD, Duration::from_secs(60)));
    }
}
