//! `[gates.<name>] limits`, validated.

use gatehouse_sandbox::{LimitsError, SandboxLimits, parse_bytes, parse_duration};
use toml::Spanned;

use super::{ConfigError, error::ConfigText, raw::RawGateLimits};

pub(super) fn checked(text: &ConfigText, raw: &RawGateLimits) -> Result<SandboxLimits, ConfigError> {
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
        limits = at(text, time, parse_duration(time.get_ref()).and_then(|time| limits.with_time(time)))?;
    }
    for (name, given) in sizes {
        let Some(size) = given else { continue };
        limits =
            at(text, size, parse_bytes(size.get_ref()).and_then(|bytes| limits.with_limit(name, bytes)))?;
    }
    for (name, given) in numbers {
        let Some(number) = given else { continue };
        limits = at(text, number, limits.with_limit(name, *number.get_ref()))?;
    }
    Ok(limits)
}

fn at<T, S>(
    text: &ConfigText,
    spanned: &Spanned<S>,
    result: Result<T, LimitsError>,
) -> Result<T, ConfigError> {
    result.map_err(|error| text.error_at(spanned.span(), error.to_string()))
}
