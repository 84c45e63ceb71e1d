//! Limits, validated: `[gates.<name>] limits`, and those on disk (`cache_size` under `[host]`, `max_bytes` under
//! `[artifacts]`).

use gatehouse_sandbox::{SandboxLimits, format_bytes, parse_bytes, parse_duration};
use toml::Spanned;

use super::{ConfigError, error::ConfigText, raw::RawGateLimits};

/// Default limit: room for forty interpreters, thousands of small gates, or ten thousand results.
const DEFAULT_DISK_SIZE: u64 = 1 << 30;

pub(super) fn validate(text: &ConfigText, raw: &RawGateLimits) -> Result<SandboxLimits, ConfigError> {
    let sizes: [(&str, &Option<Spanned<String>>); 5] = [
        ("memory", &raw.memory),
        ("copy", &raw.copy),
        ("output", &raw.output),
        ("kv", &raw.kv),
        ("folder", &raw.folder),
    ];
    let numbers: [(&str, &Option<Spanned<usize>>); 6] = [
        ("concurrency", &raw.concurrency),
        ("http_requests", &raw.http_requests),
        ("log_lines", &raw.log_lines),
        ("model_calls", &raw.model_calls),
        ("calls", &raw.calls),
        ("table_elements", &raw.table_elements),
    ];
    let mut limits = SandboxLimits::default();
    if let Some(time) = &raw.time {
        limits = text.at(time, parse_duration(time.get_ref()).and_then(|time| limits.with_time(time)))?;
    }
    for (name, given) in sizes {
        let Some(size) = given else { continue };
        let set = parse_bytes(size.get_ref()).and_then(|bytes| limits.with_limit(name, bytes));
        limits = text.at(size, set)?;
    }
    for (name, given) in numbers {
        let Some(number) = given else { continue };
        limits = text.at(number, limits.with_limit(name, *number.get_ref()))?;
    }
    Ok(limits)
}

/// Parses a limit on disk, in bytes. `key` is its name in messages.
pub(super) fn disk_size(
    text: &ConfigText,
    key: &str,
    given: Option<&Spanned<String>>,
) -> Result<u64, ConfigError> {
    let Some(given) = given else { return Ok(DEFAULT_DISK_SIZE) };
    let bytes = text.at(given, parse_bytes(given.get_ref()))? as u64;
    let (least, most) = (1 << 20, 1 << 40);
    if (least..=most).contains(&bytes) {
        return Ok(bytes);
    }
    let why = format!("{key} must be from {} to {}", format_bytes(least), format_bytes(most));
    Err(text.error_at(given.span(), why))
}
