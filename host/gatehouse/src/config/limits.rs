//! `[gates.<name>] limits`, checked.

use gatehouse_sandbox::{Limits, LimitsError, parse_bytes, parse_duration};
use toml::Spanned;

use super::{ConfigError, error::Text, raw::GateLimits};

type Set = fn(Limits, usize) -> Result<Limits, LimitsError>;

/// The limits of one gate; the error points to the value.
pub(super) fn checked(text: &Text, raw: &GateLimits) -> Result<Limits, ConfigError> {
    let sizes: [(&Option<Spanned<String>>, Set); 5] = [
        (&raw.memory, Limits::with_memory),
        (&raw.copy, Limits::with_copy),
        (&raw.output, Limits::with_output),
        (&raw.kv, Limits::with_kv),
        (&raw.folder, Limits::with_folder),
    ];
    let numbers: [(&Option<Spanned<usize>>, Set); 5] = [
        (&raw.concurrency, Limits::with_concurrency),
        (&raw.http_requests, Limits::with_http_requests),
        (&raw.log_lines, Limits::with_log_lines),
        (&raw.model_calls, Limits::with_model_calls),
        (&raw.table_elements, Limits::with_table_elements),
    ];
    let mut limits = Limits::default();
    if let Some(time) = &raw.time {
        limits = at(text, time, parse_duration(time.get_ref()).and_then(|time| limits.with_time(time)))?;
    }
    for (given, set) in sizes {
        let Some(size) = given else { continue };
        limits = at(text, size, parse_bytes(size.get_ref()).and_then(|bytes| set(limits, bytes)))?;
    }
    for (given, set) in numbers {
        let Some(number) = given else { continue };
        limits = at(text, number, set(limits, *number.get_ref()))?;
    }
    Ok(limits)
}

fn at<T, S>(text: &Text, spanned: &Spanned<S>, result: Result<T, LimitsError>) -> Result<T, ConfigError> {
    result.map_err(|error| text.error_at(spanned.span(), error.to_string()))
}
