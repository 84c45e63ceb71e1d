//! Rate limit for what no request awaits: notifications, unawaited answers, invalid messages, and the parts of streams
//! that are not messages.

use std::time::Duration;

use tokio::time::Instant;

pub(super) const MAX_PER_SECOND: u64 = 1_000;

/// Consecutive seconds of a flood that end the connection.
pub(super) const MAX_SECONDS: u32 = 10;

/// Bytes that count as one more message, so that 16 MiB a second are a flood in any pieces.
const BYTES_OF_ONE: usize = 16 << 10;

const SECOND: Duration = Duration::from_secs(1);

pub(super) struct FloodDetector {
    second: Instant,
    count: u64,
    seconds: u32,
}

impl FloodDetector {
    pub(super) fn new(now: Instant) -> Self {
        Self { second: now, count: 0, seconds: 0 }
    }

    /// Counts `messages` with `bytes` in all. Returns `true` if the flood has lasted [`MAX_SECONDS`].
    pub(super) fn add(&mut self, now: Instant, messages: usize, bytes: usize) -> bool {
        let passed = now.duration_since(self.second);
        if passed >= SECOND {
            let is_flood = self.count > MAX_PER_SECOND && passed < 2 * SECOND;
            self.seconds = if is_flood { self.seconds + 1 } else { 0 };
            (self.second, self.count) = (now, 0);
        }
        self.count += (messages + bytes / BYTES_OF_ONE) as u64;
        self.seconds >= MAX_SECONDS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_flood(seconds: &[u32], bytes: usize) -> bool {
        let begin = Instant::now();
        let mut flood = FloodDetector::new(begin);
        let mut is_flood = false;
        for (second, count) in (0_u32..).zip(seconds) {
            for index in 0..*count {
                let now = begin + second * SECOND + SECOND * index / *count;
                is_flood = flood.add(now, 1, bytes);
            }
        }
        is_flood
    }

    #[test]
    fn only_a_long_flood_ends_the_connection() {
        assert!(is_flood(&[1_100; 11], 0), "ten full seconds and the next one");
        assert!(!is_flood(&[1_100; 10], 0));
        assert!(!is_flood(&[1_000; 60], 0), "at the limit");
        let bursts = [50_000, 50_000, 10, 50_000, 50_000, 50_000, 50_000, 50_000, 50_000, 50_000, 50_000];
        assert!(!is_flood(&bursts, 0));
        assert!(!is_flood(&[20_000, 0, 0, 20_000, 0, 20_000, 0, 20_000, 0, 0, 0, 0, 1], 0));
    }

    #[test]
    fn few_messages_with_many_bytes_are_a_flood() {
        assert!(is_flood(&[2; 11], 15 << 20));
        assert!(!is_flood(&[2; 60], 7 << 20), "14 MiB a second");
    }
}
