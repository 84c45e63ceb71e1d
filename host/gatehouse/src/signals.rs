//! Ctrl-C, SIGTERM and SIGHUP. The first signal requests the end of the process; a second one ends a host immediately.
//!
//! A separate thread receives the signals, so a host ends even if all its other threads are blocked.

use std::{process::exit, thread, time::Duration};

use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

/// Time for a host to end after its time for active calls.
const MAX_SHUTDOWN: Duration = Duration::from_secs(10);

/// Exit codes of a process that a signal ended, as shells report them.
const HUNG_UP: i32 = 129;
const INTERRUPTED: i32 = 130;
const TERMINATED: i32 = 143;

/// Returns a token that the first signal cancels. In a host, which has `drain`, the second signal exits, as does the end
/// of `drain` plus [`MAX_SHUTDOWN`].
pub(crate) fn shutdown_token(drain: Option<Duration>) -> CancellationToken {
    let stop = CancellationToken::new();
    let cancel = stop.clone();
    // Installed before the host reports that it is ready: a client may end it right after that.
    let started = open_signals().and_then(|(runtime, signals)| {
        let listen = move || runtime.block_on(listen(signals, &cancel, drain));
        thread::Builder::new().name("signals".into()).spawn(listen)
    });
    if let Err(error) = started {
        tracing::warn!(%error, "cannot handle signals; they end this process and its calls immediately");
    }
    stop
}

fn open_signals() -> std::io::Result<(Runtime, Signals)> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let signals = {
        let _within = runtime.enter();
        Signals::new()
    };
    match signals {
        Ok(signals) => Ok((runtime, signals)),
        Err(error) => {
            // The caller may be in another runtime, in which a blocking shutdown panics.
            runtime.shutdown_background();
            Err(error)
        }
    }
}

async fn listen(mut signals: Signals, stop: &CancellationToken, drain: Option<Duration>) {
    signals.next().await;
    stop.cancel();
    if let Some(drain) = drain {
        let code = tokio::select! {
            code = signals.next() => code,
            () = tokio::time::sleep(drain + MAX_SHUTDOWN) => TERMINATED,
        };
        exit(code);
    }
}

struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
    /// `None` if the process ignores SIGHUP, as with `nohup`.
    hang_up: Option<tokio::signal::unix::Signal>,
}

impl Signals {
    fn new() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        // Other systems than Linux show whether SIGHUP is ignored only through a call that can change it.
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let hang_up = if ignores(&status, 1) { None } else { Some(signal(SignalKind::hangup())?) };
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up,
        })
    }

    async fn next(&mut self) -> i32 {
        tokio::select! {
            _ = self.interrupt.recv() => INTERRUPTED,
            _ = self.terminate.recv() => TERMINATED,
            Some(_) = async { Some(self.hang_up.as_mut()?.recv().await) } => HUNG_UP,
        }
    }
}

/// Returns whether a signal is in `SigIgn`, a bit set with the first signal in the lowest bit.
fn ignores(status: &str, signal: u32) -> bool {
    let set = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let set = set.and_then(|set| u64::from_str_radix(set.trim(), 16).ok()).unwrap_or_default();
    set >> (signal - 1) & 1 == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ignored_signal_has_its_bit() {
        let status = "Name:\tx\nSigBlk:\t0000000000000001\nSigIgn:\t0000000000001001\n";
        assert!(ignores(status, 1) && ignores(status, 13));
        assert!(!ignores(status, 2) && !ignores("", 1));
    }
}
