//! Lines of the log that strangers can cause are counted: so many in a while, and the rest is a number. A
//! flood of refused requests must not bury what else the log says, nor fill a disk.

use std::{
    sync::Mutex,
    time::{Duration, Instant},
};

/// How long a window lasts.
const WINDOW_TIME: Duration = Duration::from_secs(10);

/// Lines in one window.
const MAX_WINDOW_LINES: u32 = 10;

/// The budget of one kind of line.
#[derive(Debug, Default)]
pub struct LogLimit(Mutex<LogWindow>);

#[derive(Debug, Default)]
struct LogWindow {
    began: Option<Instant>,
    lines: u32,
    left_out: u64,
}

impl LogLimit {
    /// A budget that nothing was taken from.
    pub const fn new() -> Self {
        Self(Mutex::new(LogWindow { began: None, lines: 0, left_out: 0 }))
    }

    /// Whether a line may be written now: then it is how many were left out since the one before.
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
