//! Resource limits of one gate, with defaults for those that presets.toml does not set.

use std::{
    ops::RangeInclusive,
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use gatehouse_core::{InvalidValue, outcome::Fault, question::MAX_QUESTIONS_PER_CALL};

const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;

/// Maximum memory of an instance; determines the size of the pool.
pub(crate) const MAX_MEMORY: usize = 256 * MIB;

/// Maximum table elements of an instance; determines the size of the pool.
pub(crate) const MAX_TABLE_ELEMENTS: usize = 100_000;

/// Maximum host memory held for one call; equals the default for guest memory.
pub(crate) const HOST_MEMORY: usize = 64 * MIB;

pub(crate) const MAX_TIME: Duration = Duration::from_secs(300);

/// Limits of one gate. All apply per call except `concurrency`, `kv` and `folder`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxLimits {
    /// Wall-clock time, including host functions.
    pub time: Duration,
    /// Bytes of linear memory, over all memories.
    pub memory: usize,
    /// Over all tables.
    pub table_elements: usize,
    /// Bytes that one host function, or the reply, can copy out of the guest.
    pub copy: usize,
    /// Concurrent calls. Further calls wait until their deadline.
    pub concurrency: usize,
    /// Log lines. Further lines are counted and dropped.
    pub log_lines: u32,
    /// HTTP requests, including `fetch-many` and `wasi:http`.
    pub http_requests: u32,
    /// Requests to the language model and to the embedding model.
    pub model_calls: u32,
    pub calls: u32,
    /// Bytes of standard output and error that are captured.
    pub output: usize,
    pub kv: u64,
    pub folder: u64,
}

impl Default for SandboxLimits {
    fn default() -> Self {
        Self {
            time: Duration::from_secs(30),
            memory: 64 * MIB,
            table_elements: 20_000,
            copy: 16 * MIB,
            concurrency: 64,
            log_lines: 200,
            http_requests: 64,
            model_calls: MAX_QUESTIONS_PER_CALL,
            calls: 64,
            output: 64 * KIB,
            kv: 16 << 20,
            folder: 64 << 20,
        }
    }
}

/// Returns the hint for a gate that reached a limit of presets.toml.
pub(crate) fn raise_hint(gate: &str, key: &str) -> String {
    format!("Ask for less in one call, or raise limits.{key} under [gates.{gate}] in presets.toml.")
}

/// Decrements a call's remaining count. Fails if it is zero: the gate has exceeded its `limit`, which is `key`.
pub(crate) fn take_one(
    remaining: &AtomicU32,
    gate: &str,
    limit: u32,
    subject: &str,
    key: &str,
) -> Result<(), Fault> {
    let less =
        remaining.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |remaining| remaining.checked_sub(1));
    less.map(drop).map_err(|_| {
        Fault::exhausted(format!("gate '{gate}' exceeded its limit of {limit} {subject} in one call"))
            .hint(raise_hint(gate, key))
    })
}

/// Returns the outcomes of a batch with more than `limit` entries. `None` if it is small enough.
pub(crate) fn refused_batch<T>(count: usize, subject: &str, limit: usize) -> Option<Vec<Result<T, Fault>>> {
    let reason = format!("{count} {subject} in one batch; the limit is {limit}");
    let fault = || Err(Fault::exhausted(reason.clone()).hint("Split them into smaller batches."));
    (count > limit).then(|| (0..count).map(|_| fault()).collect())
}

impl SandboxLimits {
    pub fn with_time(mut self, time: Duration) -> Result<Self, InvalidValue> {
        if time.is_zero() || time > MAX_TIME {
            return Err(format!("time must be above 0 s and at most {} s", MAX_TIME.as_secs()).into());
        }
        self.time = time;
        Ok(self)
    }

    /// Sets any limit except `time`, by its name in presets.toml. Sizes are in bytes.
    pub fn with_limit(mut self, name: &str, value: usize) -> Result<Self, InvalidValue> {
        match name {
            "memory" => self.memory = size(name, value, MIB..=MAX_MEMORY)?,
            "copy" => self.copy = size(name, value, 64 * KIB..=64 * MIB)?,
            "output" => self.output = size(name, value, KIB..=MIB)?,
            "kv" => self.kv = size(name, value, KIB..=1 << 30)? as u64,
            "folder" => self.folder = size(name, value, KIB..=16 << 30)? as u64,
            "table_elements" => self.table_elements = number(name, value, 1..=MAX_TABLE_ELEMENTS)?,
            "concurrency" => self.concurrency = number(name, value, 1..=256)?,
            "log_lines" => self.log_lines = number(name, value, 0..=10_000)? as u32,
            "http_requests" => self.http_requests = number(name, value, 0..=1_000)? as u32,
            "model_calls" => self.model_calls = number(name, value, 0..=100)? as u32,
            "calls" => self.calls = number(name, value, 0..=1_000)? as u32,
            _ => return Err(format!("unknown limit '{name}'").into()),
        }
        Ok(self)
    }
}

fn size(name: &str, bytes: usize, allowed: RangeInclusive<usize>) -> Result<usize, InvalidValue> {
    if allowed.contains(&bytes) {
        return Ok(bytes);
    }
    let [least, most] = [allowed.start(), allowed.end()].map(|bytes| format_bytes(*bytes as u64));
    Err(format!("{name} must be {least} to {most}").into())
}

fn number(name: &str, number: usize, allowed: RangeInclusive<usize>) -> Result<usize, InvalidValue> {
    if allowed.contains(&number) {
        return Ok(number);
    }
    Err(format!("{name} must be {} to {}", allowed.start(), allowed.end()).into())
}

/// Parses `64 MiB`, `512 KiB`, `1 GiB` or a plain number of bytes.
pub fn parse_bytes(text: &str) -> Result<usize, InvalidValue> {
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
        None => Err(format!("invalid size '{text}': expected for example \"64 MiB\"").into()),
    }
}

/// Parses `30 s`, `500 ms` or `2 min`.
pub fn parse_duration(text: &str) -> Result<Duration, InvalidValue> {
    let (number, unit) = split_unit(text);
    let parsed = number.parse::<u64>().ok().and_then(|n| match unit {
        "ms" => Some(Duration::from_millis(n)),
        "s" => Some(Duration::from_secs(n)),
        "min" => Some(Duration::from_secs(n.checked_mul(60)?)),
        _ => None,
    });
    parsed.ok_or_else(|| format!("invalid duration '{text}': expected for example \"30 s\"").into())
}

/// Formats a size in the largest unit that is exact.
pub fn format_bytes(bytes: u64) -> String {
    let units = [(30, "GiB"), (20, "MiB"), (10, "KiB")];
    match units.iter().find(|(shift, _)| bytes >= 1 << shift && bytes.trailing_zeros() >= *shift) {
        Some((shift, unit)) => format!("{} {unit}", bytes >> shift),
        None => format!("{bytes} bytes"),
    }
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
    fn limits_outside_the_range_are_refused_with_the_range() {
        let limits = SandboxLimits::default;
        let told = |result: Result<SandboxLimits, InvalidValue>| result.expect_err("refused").to_string();
        assert_eq!(told(limits().with_limit("memory", 1)), "memory must be 1 MiB to 256 MiB");
        assert_eq!(told(limits().with_limit("copy", 65 << 20)), "copy must be 64 KiB to 64 MiB");
        assert_eq!(told(limits().with_limit("log_lines", 10_001)), "log_lines must be 0 to 10000");
        assert_eq!(told(limits().with_limit("output", 2 << 20)), "output must be 1 KiB to 1 MiB");
        assert_eq!(told(limits().with_limit("table_elements", 0)), "table_elements must be 1 to 100000");
        assert_eq!(told(limits().with_limit("kv", 2 << 30)), "kv must be 1 KiB to 1 GiB");
        assert_eq!(told(limits().with_limit("folder", 0)), "folder must be 1 KiB to 16 GiB");
        assert_eq!(told(limits().with_limit("concurrency", 0)), "concurrency must be 1 to 256");
        assert!(limits().with_time(Duration::from_secs(3600)).is_err());
    }

    #[test]
    fn the_defaults_are_allowed() {
        let d = SandboxLimits::default();
        let again = SandboxLimits::default()
            .with_time(d.time)
            .and_then(|l| {
                l.with_limit("memory", d.memory)?.with_limit("copy", d.copy)?.with_limit("output", d.output)
            })
            .and_then(|l| l.with_limit("kv", d.kv as usize)?.with_limit("folder", d.folder as usize))
            .and_then(|l| {
                l.with_limit("table_elements", d.table_elements)?
                    .with_limit("log_lines", d.log_lines as usize)
            });
        assert_eq!(again, Ok(d));
    }

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
    fn sizes_are_shown_as_people_write_them() {
        let shown = [0, 1000, 1 << 10, 1536 << 10, 16 << 20, 1 << 30].map(format_bytes);
        assert_eq!(shown, ["0 bytes", "1000 bytes", "1 KiB", "1536 KiB", "16 MiB", "1 GiB"]);
    }
}
