//! What one gate may use up. The defaults hold unless presets.toml says otherwise.

use std::time::Duration;

/// Bytes in a mebibyte.
const MIB: usize = 1 << 20;

/// The largest memory the pool is laid out for; a gate cannot be given more.
pub(crate) const MAX_MEMORY: usize = 256 * MIB;

/// The longest a call may be allowed to take.
pub(crate) const MAX_TIME: Duration = Duration::from_secs(300);

/// Caps for one gate, each per call but for `concurrency`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Wall clock, host functions included.
    pub time: Duration,
    /// Bytes of linear memory.
    pub memory: usize,
    /// Bytes that may be copied out of the guest at once, a reply included.
    pub copy: usize,
    /// Calls at the same time; further ones wait for their turn until their time is up.
    pub concurrency: usize,
    /// Lines the gate may write to the log; the rest is counted and dropped.
    pub log_lines: u32,
    /// HTTP requests of one call, those of `fetch-many` and `wasi:http` included.
    pub http_requests: u32,
    /// Bytes kept of what the guest writes to standard error and output.
    pub stderr: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            time: Duration::from_secs(30),
            memory: 64 * MIB,
            copy: 16 * MIB,
            concurrency: 64,
            log_lines: 200,
            http_requests: 64,
            stderr: 64 << 10,
        }
    }
}

/// Why a limit is refused; the text names the value and what is allowed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct LimitsError(String);

impl Limits {
    /// Sets the wall clock limit.
    pub fn with_time(mut self, time: Duration) -> Result<Self, LimitsError> {
        if time.is_zero() || time > MAX_TIME {
            return Err(LimitsError(format!("time must be above 0 s and at most {} s", MAX_TIME.as_secs())));
        }
        self.time = time;
        Ok(self)
    }

    /// Sets the memory limit.
    pub fn with_memory(mut self, bytes: usize) -> Result<Self, LimitsError> {
        if !(MIB..=MAX_MEMORY).contains(&bytes) {
            return Err(LimitsError(format!("memory must be 1 MiB to {} MiB", MAX_MEMORY / MIB)));
        }
        self.memory = bytes;
        Ok(self)
    }

    /// Sets how many calls may run at the same time.
    pub fn with_concurrency(mut self, calls: usize) -> Result<Self, LimitsError> {
        if !(1..=256).contains(&calls) {
            return Err(LimitsError("concurrency must be 1 to 256".into()));
        }
        self.concurrency = calls;
        Ok(self)
    }
}

/// Reads `64 MiB`, `512 KiB`, `1 GiB` or a plain number of bytes.
pub fn parse_bytes(text: &str) -> Result<usize, LimitsError> {
    let (number, unit) = split_unit(text);
    let scale = match unit {
        "" | "B" => 1,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        _ => 0,
    };
    match number.parse::<usize>().ok().and_then(|n| n.checked_mul(scale)).filter(|_| scale > 0) {
        Some(bytes) => Ok(bytes),
        None => Err(LimitsError(format!("'{text}' is not a size; write for example \"64 MiB\""))),
    }
}

/// Reads `30 s`, `500 ms` or `2 min`.
pub fn parse_duration(text: &str) -> Result<Duration, LimitsError> {
    let (number, unit) = split_unit(text);
    let parsed = number.parse::<u64>().ok().and_then(|n| match unit {
        "ms" => Some(Duration::from_millis(n)),
        "s" => Some(Duration::from_secs(n)),
        "min" => Some(Duration::from_secs(n.checked_mul(60)?)),
        _ => None,
    });
    parsed.ok_or_else(|| LimitsError(format!("'{text}' is not a time; write for example \"30 s\"")))
}

fn split_unit(text: &str) -> (&str, &str) {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    (&text[..end], text[end..].trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_times_are_read_with_their_units() {
        assert_eq!(parse_bytes("64 MiB"), Ok(64 << 20));
        assert_eq!(parse_bytes("512KiB"), Ok(512 << 10));
        assert_eq!(parse_duration("30 s"), Ok(Duration::from_secs(30)));
        assert_eq!(parse_duration("500ms"), Ok(Duration::from_millis(500)));
        for bad in ["", "64 MB", "-1", "lots", "99999999999999999999", "18446744073709551615 GiB"] {
            assert!(parse_bytes(bad).is_err(), "{bad:?}");
            assert!(parse_duration(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn limits_outside_the_range_are_refused() {
        assert!(Limits::default().with_memory(1).is_err());
        assert!(Limits::default().with_memory(512 << 20).is_err());
        assert!(Limits::default().with_time(Duration::from_secs(3600)).is_err());
        assert!(Limits::default().with_concurrency(0).is_err());
    }
}
