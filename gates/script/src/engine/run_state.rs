//! Parts of a run that the engine does not have itself: the clock, the queue of calls, the console and random numbers.

#[cfg(not(target_family = "wasm"))]
use std::time::Instant;
use std::{
    cell::{Cell, RefCell},
    time::Duration,
};

use gatehouse_sdk::{
    Fault, Reply,
    catalog::{self, ToolRequest},
};

use super::RunLimits;

/// Milliseconds reserved for the reply.
#[cfg(target_family = "wasm")]
const FOR_REPLY: u64 = 200;

/// Measures and limits the run time of a script. Time in which the host waits for a user does not count.
pub(crate) struct Clock {
    #[cfg(not(target_family = "wasm"))]
    started: Instant,
    #[cfg(target_family = "wasm")]
    remaining_at_start: u64,
    pub(super) limit: u64,
    /// True if the script had to stop.
    pub(super) expired: Cell<bool>,
}

impl Clock {
    #[cfg(not(target_family = "wasm"))]
    pub(crate) fn start(limit: u64) -> Self {
        Self { started: Instant::now(), limit, expired: Cell::new(false) }
    }

    /// Starts the clock with a limit in milliseconds, lowered to the time that the host has left for the call.
    #[cfg(target_family = "wasm")]
    pub(crate) fn start(limit: u64) -> Self {
        let remaining = gatehouse_sdk::context::remaining();
        Self {
            remaining_at_start: remaining,
            limit: limit.min(remaining.saturating_sub(FOR_REPLY)),
            expired: Cell::new(false),
        }
    }

    pub(crate) fn elapsed(&self) -> u64 {
        #[cfg(not(target_family = "wasm"))]
        return u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        #[cfg(target_family = "wasm")]
        return self.remaining_at_start.saturating_sub(gatehouse_sdk::context::remaining());
    }

    /// Returns whether the script has to stop now, and remembers it.
    pub(crate) fn is_expired(&self) -> bool {
        let expired = self.elapsed() >= self.limit;
        if expired {
            self.expired.set(true);
        }
        expired
    }

    /// Waits until `due` milliseconds after the start, or until the limit.
    pub(crate) fn wait_until(&self, due: u64) {
        let wait = due.min(self.limit).saturating_sub(self.elapsed());
        std::thread::sleep(Duration::from_millis(wait));
    }
}

/// Maximum calls per batch; the host rejects larger batches entirely.
const MAX_BATCH: usize = 32;

/// Concurrency from which the host limits it itself.
const MIN_HOST_PARALLEL: u32 = 8;

/// The queue and counters of tool calls.
pub(crate) struct CallQueue {
    waiting: RefCell<Vec<(u32, ToolRequest)>>,
    pub(super) made: Cell<u32>,
    pub(super) batches: Cell<u32>,
    /// Number of calls that the script did not await.
    pub(super) unawaited: Cell<u32>,
    limits: RunLimits,
}

impl CallQueue {
    pub(super) fn new(limits: RunLimits) -> Self {
        let (made, batches, unawaited) = Default::default();
        Self { waiting: RefCell::default(), made, batches, unawaited, limits }
    }

    pub(super) fn reached_limit(&self) -> Option<u32> {
        (self.made.get() >= self.limits.calls).then_some(self.limits.calls)
    }

    pub(super) fn add(&self, request: ToolRequest) -> u32 {
        let id = self.made.get() + 1;
        self.made.set(id);
        self.waiting.borrow_mut().push((id, request));
        id
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.borrow().is_empty()
    }

    /// Sends the queued calls, and returns the outcomes in order.
    pub(super) fn send(&self) -> Vec<(u32, Result<Reply, Fault>)> {
        let (ids, requests): (Vec<u32>, Vec<ToolRequest>) = self.waiting.take().into_iter().unzip();
        self.batches.set(self.batches.get() + 1);
        let parallel = self.limits.parallel.max(1);
        let part = if parallel < MIN_HOST_PARALLEL { parallel as usize } else { MAX_BATCH };
        ids.into_iter().zip(requests.chunks(part).flat_map(catalog::call_many)).collect()
    }
}

const MAX_LINES: usize = 200;

const MAX_BYTES: usize = 32 << 10;
const MAX_LINE_BYTES: usize = 4 << 10;

#[derive(Default)]
struct CapturedOutput {
    lines: Vec<String>,
    bytes: usize,
    left_out: usize,
}

/// Captures the console output of a script, up to a limit.
#[derive(Default)]
pub(crate) struct Console(RefCell<CapturedOutput>);

impl Console {
    /// Stores a line, shortened if it is too long. Only counts it if the console is full.
    pub(crate) fn print(&self, line: &str) {
        let mut output = self.0.borrow_mut();
        if output.lines.len() >= MAX_LINES || output.bytes >= MAX_BYTES {
            output.left_out += 1;
            return;
        }
        let end = line.floor_char_boundary(MAX_LINE_BYTES.min(MAX_BYTES - output.bytes));
        let line = match &line[..end] {
            whole if end == line.len() => whole.to_owned(),
            part => format!("{part}… ({} bytes more)", line.len() - end),
        };
        output.bytes += line.len();
        output.lines.push(line);
    }

    pub(crate) fn take(&self) -> Vec<String> {
        let output = self.0.take();
        let mut lines = output.lines;
        if output.left_out > 0 {
            lines.push(format!("… ({} lines more)", output.left_out));
        }
        lines
    }
}

/// Random numbers for `Math.random`. The engine's own generator would start with the same state in each run, because
/// that state is in the snapshot. This one is seeded on first use. SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number
/// generators", 2014); not for secrets.
#[derive(Default)]
pub(super) struct Random(Cell<Option<u64>>);

impl Random {
    /// Returns the next number in `0.0..1.0`.
    pub(super) fn next(&self) -> f64 {
        let state = self.0.get().unwrap_or_else(seed).wrapping_add(0x9e37_79b9_7f4a_7c15);
        self.0.set(Some(state));
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }
}

fn seed() -> u64 {
    getrandom::u64().unwrap_or_else(|_| {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        now.map_or(0, |now| now.as_nanos() as u64)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_spread_and_differ_between_runs() {
        let (one, other) = (Random::default(), Random::default());
        let numbers: Vec<f64> = (0..10_000).map(|_| one.next()).collect();
        assert!(numbers.iter().all(|number| (0.0..1.0).contains(number)));
        let mean = numbers.iter().sum::<f64>() / numbers.len() as f64;
        assert!((0.45..0.55).contains(&mean), "{mean}");
        assert_ne!(numbers[0], other.next());
    }
}
