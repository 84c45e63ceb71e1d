//! Rate limit for unrequested messages: notifications, unawaited responses and invalid messages.

use std::time::Duration;

use tokio::time::Instant;

pub(super) const MAX_PER_SECOND: u32 = 1_000;

/// Consecutive seconds of a flood that end the connection.
pub(super) const MAX_SECONDS: u32 = 10;

const SECOND: Duration = Duration::from_secs(1);

pub(super) struct FloodDetector {
    second: Instant,
    count: u32,
    seconds: u32,
}

impl FloodDetector {
    pub(super) fn new(now: Instant) -> Self {
        Self { second: now, count: 0, seconds: 0 }
    }

    /// Counts a message. Returns `true` if the flood has lasted [`MAX_SECONDS`].
    pub(super) fn add(&mut self, now: Instant) -> bool {
        let passed = now.duration_since(self.second);
        if passed >= SECOND {
            let is_flood = self.count > MAX_PER_SECOND && passed < 2 * SECOND;
            self.seconds = if is_flood { self.seconds + 1 } else { 0 };
            (self.second, self.count) = (now, 0);
        }
        self.count += 1;
        self.seconds >= MAX_SECONDS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_flood(seconds: &[u32]) -> bool {
        let begin = Instant::now();
        let mut flood = FloodDetector::new(begin);
        let mut is_flood = false;
        for (second, count) in (0_u32..).zip(seconds) {
            for index in 0..*count {
                let now = begin + second * SECOND + SECOND * index / *count;
                is_flood = flood.add(now);
            }
        }
        is_flood
    }

    #[test]
    fn only_a_long_flood_ends_the_connection() {
        assert!(is_flood(&[1_100; 11]), "ten full seconds and the next one");
        assert!(!is_flood(&[1_100; 10]));
        assert!(!is_flood(&[1_000; 60]), "at the limit");
        assert!(!is_flood(&[
            50_000, 50_000, 10, 50_000, 50_000, 50_000, 50_000, 50_000, 50_000, 50_000, 50_000
        ]));
        assert!(!is_flood(&[20_000, 0, 0, 20_000, 0, 20_000, 0, 20_000, 0, 0, 0, 0, 1]), "bursts");
    }
}
