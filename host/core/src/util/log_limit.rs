//! A rate limit for log lines that strangers can trigger, so that a flood neither hides other lines nor fills a disk.

use std::{
    sync::Mutex,
    time::{Duration, Instant},
};

const WINDOW_TIME: Duration = Duration::from_secs(10);

const MAX_WINDOW_LINES: u32 = 10;

#[derive(Debug, Default)]
pub struct LogLimit(Mutex<LogWindow>);

#[derive(Debug, Default)]
struct LogWindow {
    began: Option<Instant>,
    lines: u32,
    left_out: u64,
}

impl LogLimit {
    pub const fn new() -> Self {
        Self(Mutex::new(LogWindow { began: None, lines: 0, left_out: 0 }))
    }

    /// Returns the number of lines skipped since the last one if a line may be written now.
    pub fn admit_line(&self) -> Option<u64> {
        self.admit_line_at(Instant::now())
    }

    fn admit_line_at(&self, now: Instant) -> Option<u64> {
        let mut window = crate::lock(&self.0);
        if window.began.is_none_or(|began| now.saturating_duration_since(began) >= WINDOW_TIME) {
            window.began = Some(now);
            window.lines = 0;
        }
        if window.lines == MAX_WINDOW_LINES {
            window.left_out += 1;
            return None;
        }
        window.lines += 1;
        Some(std::mem::take(&mut window.left_out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_ten_lines_and_a_number() {
        let limit = LogLimit::new();
        let start = Instant::now();
        let written = (0..1_000).filter(|_| limit.admit_line_at(start).is_some()).count();
        assert_eq!(written, 10);
        assert_eq!(limit.admit_line_at(start + WINDOW_TIME), Some(990));
        assert_eq!(limit.admit_line_at(start + WINDOW_TIME), Some(0));
    }
}
