//! Ctrl-c and SIGTERM. The first asks the process to end; a second one ends a host at once. They are heard on
//! a thread of their own: a host whose other threads are all stuck still ends when it is told to.

use std::{process::exit, thread, time::Duration};

use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

/// How long a host may take to end that was told to. It gives calls a second, and has little else to do.
const LATEST: Duration = Duration::from_secs(10);

/// Exit codes of programs that a signal ended, as shells have them.
const INTERRUPTED: i32 = 130;
const TERMINATED: i32 = 143;

/// Cancelled by the first signal.
pub(crate) fn stop() -> CancellationToken {
    start(false)
}

/// The same for a host, which the second signal ends at once, and which ends by itself within seconds of
/// the first.
pub(crate) fn stop_the_host() -> CancellationToken {
    start(true)
}

fn start(host: bool) -> CancellationToken {
    let stop = CancellationToken::new();
    let cancel = stop.clone();
    // Heard from here on: who is told that a host serves may end it at once.
    let started = hear().and_then(|(runtime, signals)| {
        let listen = move || runtime.block_on(listen(signals, &cancel, host));
        thread::Builder::new().name("signals".into()).spawn(listen)
    });
    if let Err(error) = started {
        unheard(&error);
    }
    stop
}

/// Signals, and what they come through.
fn hear() -> std::io::Result<(Runtime, Signals)> {
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

fn unheard(error: &std::io::Error) {
    tracing::warn!(%error, "signals end this process at once, and calls with it");
}

async fn listen(mut signals: Signals, stop: &CancellationToken, host: bool) {
    signals.next().await;
    stop.cancel();
    if host {
        let code = tokio::select! {
            code = signals.next() => code,
            () = tokio::time::sleep(LATEST) => TERMINATED,
        };
        exit(code);
    }
}

#[cfg(unix)]
struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn new() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self { interrupt: signal(SignalKind::interrupt())?, terminate: signal(SignalKind::terminate())? })
    }

    /// Waits for the next one, and gives the exit code that it stands for.
    async fn next(&mut self) -> i32 {
        tokio::select! {
            _ = self.interrupt.recv() => INTERRUPTED,
            _ = self.terminate.recv() => TERMINATED,
        }
    }
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
