//! Durations of servers: text with a unit, as elsewhere in `presets.toml`, or seconds, as in clients' own files.

use std::{ops::RangeInclusive, time::Duration};

use gatehouse_sandbox::parse_duration;
use toml::Spanned;

use crate::config::{ConfigError, error::ConfigText};

/// Parses a duration. The error points to the value and states the range.
pub(super) fn time(
    text: &ConfigText,
    key: &str,
    given: &Spanned<toml::Value>,
    allowed: RangeInclusive<Duration>,
) -> Result<Duration, ConfigError> {
    let bad = |why: String| text.error_at(given.span(), why);
    let shown = |time: &Duration| match time.as_millis() {
        millis if millis % 60_000 == 0 => format!("{} min", millis / 60_000),
        millis if millis % 1_000 == 0 => format!("{} s", millis / 1_000),
        millis => format!("{millis} ms"),
    };
    let range = format!("{key} must be {} to {}", shown(allowed.start()), shown(allowed.end()));
    let time = match given.get_ref() {
        toml::Value::Integer(seconds) => {
            Duration::from_secs(u64::try_from(*seconds).map_err(|_| bad(format!("{range}, not {seconds}")))?)
        }
        toml::Value::String(time) => parse_duration(time).map_err(|why| bad(format!("{key}: {why}")))?,
        other => {
            let kind = other.type_str();
            return Err(bad(format!(
                "{key} must be a time such as \"30 s\", or a number of seconds, not a {kind}"
            )));
        }
    };
    if allowed.contains(&time) { Ok(time) } else { Err(bad(range)) }
}
