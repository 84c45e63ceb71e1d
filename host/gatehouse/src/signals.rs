//! Ctrl-c, SIGTERM and SIGHUP. The first asks the process to end; a second one ends a host at once. They are heard on
//! a thread of their own: a host whose other threads are all stuck still ends when it is told to.

use std::{process::exit, thread, time::Duration};

use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

/// How long a host may take to end after the time that it gives to calls. It has little else to do.
const MAX_SHUTDOWN: Duration = Duration::from_secs(10);

/// Exit codes of programs that a signal ended, as shells have them.
const HUNG_UP: i32 = 129;
const INTERRUPTED: i32 = 130;
const TERMINATED: i32 = 143;

/// Cancelled by the first signal.
pub(crate) fn stop() -> CancellationToken {
    start(None)
}

/// The same for a host, which the second signal ends at once. It ends by itself within seconds of the time that it gives
/// to calls.
pub(crate) fn stop_the_host(drain: Duration) -> CancellationToken {
    start(Some(drain))
}

fn start(host: Option<Duration>) -> CancellationToken {
    let stop = CancellationToken::new();
    let cancel = stop.clone();
    // Heard from here on: who is told that a host serves may end it at once.
    let started = open_signals().and_then(|(runtime, signals)| {
        let listen = move || runtime.block_on(listen(signals, &cancel, host));
        thread::Builder::new().name("signals".into()).spawn(listen)
    });
    if let Err(error) = started {
        warn_unhandled(&error);
    }
    stop
}

/// Signals, and what they come through.
fn open_signals() -> std::io::Result<(Runtime, Signals)> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let signals = {
        let _within = runtime.enter();
        Signals::new()
    };
    match signals {
        Ok(signals) => Ok((runtime, signals)),
        Err(error) => {
            // May be among tasks of another runtime, where none may be waited for.
            runtime.shutdown_background();
            Err(error)
        }
    }
}

fn warn_unhandled(error: &std::io::Error) {
    tracing::warn!(%error, "signals end this process at once, and calls with it");
}

async fn listen(mut signals: Signals, stop: &CancellationToken, host: Option<Duration>) {
    signals.next().await;
    stop.cancel();
    if let Some(drain) = host {
        let code = tokio::select! {
            code = signals.next() => code,
            () = tokio::time::sleep(drain + MAX_SHUTDOWN) => TERMINATED,
        };
        exit(code);
    }
}

#[cfg(unix)]
struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
    /// `None` if the process was started to outlive its terminal, as by `nohup`.
    hang_up: Option<tokio::signal::unix::Signal>,
}

#[cfg(unix)]
impl Signals {
    fn new() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        let hang_up = if ignores_hang_up() { None } else { Some(signal(SignalKind::hangup())?) };
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up,
        })
    }

    /// Waits for the next one, and gives the exit code that it stands for.
    async fn next(&mut self) -> i32 {
        tokio::select! {
            _ = self.interrupt.recv() => INTERRUPTED,
            _ = self.terminate.recv() => TERMINATED,
            _ = recv_hang_up(&mut self.hang_up) => HUNG_UP,
        }
    }
}

#[cfg(unix)]
async fn recv_hang_up(signal: &mut Option<tokio::signal::unix::Signal>) -> Option<()> {
    match signal {
        Some(signal) => signal.recv().await,
        None => std::future::pending().await,
    }
}

/// Whether SIGHUP is ignored. Only Linux says so without a call that may change it.
#[cfg(unix)]
fn ignores_hang_up() -> bool {
    std::fs::read_to_string("/proc/self/status").is_ok_and(|status| ignores(&status, 1))
}

/// Whether a signal is in the set of ignored ones, of which each has a bit.
#[cfg(unix)]
fn ignores(status: &str, signal: u32) -> bool {
    let set = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let set = set.and_then(|set| u64::from_str_radix(set.trim(), 16).ok()).unwrap_or_default();
    set >> (signal - 1) & 1 == 1
}

#[cfg(not(unix))]
struct Signals(tokio::signal::windows::CtrlC);

#[cfg(not(unix))]
impl Signals {
    fn new() -> std::io::Result<Self> {
        tokio::signal::windows::ctrl_c().map(Self)
    }

    async fn next(&mut self) -> i32 {
        self.0.recv().await;
        INTERRUPTED
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn an_ignored_signal_has_its_bit() {
        let status = "Name:\tx\nSigBlk:\t0000000000000001\nSigIgn:\t0000000000001001\n";
        assert!(ignores(status, 1) && ignores(status, 13));
        assert!(!ignores(status, 2) && !ignores("", 1));
    }
}
