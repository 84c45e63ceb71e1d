//! The epoch clock that interrupts running guests. It ticks only while guests run, so an idle host uses no CPU time.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use wasmtime::Engine;

/// Interval at which guests check their deadline: precise enough, with no measurable cost on short calls.
const TICK_INTERVAL: Duration = Duration::from_millis(2);

/// Ticks without a guest before the clock sleeps. Waking it costs more than a tick.
const LINGER_TICKS: u32 = 500;

#[derive(Default)]
struct TickerState {
    running: AtomicUsize,
    asleep: AtomicBool,
    closed: AtomicBool,
}

/// Increments the engine's epoch. Dropping it stops the thread.
pub(crate) struct Ticker {
    shared: Arc<TickerState>,
    thread: Option<JoinHandle<()>>,
}

/// Keeps the clock ticking until it is dropped.
pub(crate) struct GuestGuard<'a>(&'a TickerState);

impl Ticker {
    pub(crate) fn start(engine: &Engine) -> std::io::Result<Self> {
        let shared = Arc::new(TickerState::default());
        let (seen, engine) = (Arc::clone(&shared), engine.clone());
        let thread = thread::Builder::new().name("gate-clock".into()).spawn(move || tick(&seen, &engine))?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// Starts the clock if it sleeps, and keeps it ticking until the guard is dropped.
    pub(crate) fn enter_guest(&self) -> GuestGuard<'_> {
        self.shared.running.fetch_add(1, SeqCst);
        // The clock sets `asleep` before it checks `running`; this function increments `running` before it checks
        // `asleep`. At least one sees the other's write.
        if self.shared.asleep.load(SeqCst) {
            self.wake();
        }
        GuestGuard(&self.shared)
    }

    fn wake(&self) {
        if let Some(thread) = &self.thread {
            thread.thread().unpark();
        }
    }
}

impl Drop for GuestGuard<'_> {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, SeqCst);
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.shared.closed.store(true, SeqCst);
        self.wake();
        if let Some(thread) = self.thread.take() {
            // The thread ends within a tick. A panic in it has already been printed.
            drop(thread.join());
        }
    }
}

fn tick(shared: &TickerState, engine: &Engine) {
    let mut idle = 0;
    while !shared.closed.load(SeqCst) {
        idle = if shared.running.load(SeqCst) > 0 { 0 } else { idle + 1 };
        if idle > LINGER_TICKS {
            shared.asleep.store(true, SeqCst);
            if shared.running.load(SeqCst) == 0 && !shared.closed.load(SeqCst) {
                thread::park();
            }
            shared.asleep.store(false, SeqCst);
            idle = 0;
        }
        engine.increment_epoch();
        thread::sleep(TICK_INTERVAL);
    }
}
