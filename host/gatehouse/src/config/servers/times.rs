//! Times in blocks of servers.

use std::{ops::RangeInclusive, time::Duration};

use gatehouse_sandbox::parse_duration;

use crate::config::{ConfigError, ConfigText, TextValue};

pub(super) fn connection_timeout(
    text: &ConfigText,
    given: &Option<TextValue<toml::Value>>,
) -> Result<Option<Duration>, ConfigError> {
    duration(text, "connection_timeout", given, Duration::from_millis(100)..=Duration::from_secs(600))
}

/// Parses text with a unit, as elsewhere in `presets.toml`, or seconds, as in clients' own files. The error points to
/// the value and states the range.
pub(super) fn duration(
    text: &ConfigText,
    key: &str,
    given: &Option<TextValue<toml::Value>>,
    allowed: RangeInclusive<Duration>,
) -> Result<Option<Duration>, ConfigError> {
    let Some(given) = given else { return Ok(None) };
    let shown = |time: &Duration| match time.as_millis() {
        millis if millis % 60_000 == 0 => format!("{} min", millis / 60_000),
        millis if millis % 1_000 == 0 => format!("{} s", millis / 1_000),
        millis => format!("{millis} ms"),
    };
    let range = format!("{key} must be {} to {}", shown(allowed.start()), shown(allowed.end()));
    let time = match &**given {
        toml::Value::Integer(seconds) => {
            let seconds = u64::try_from(*seconds).map_err(|_| format!("{range}, not {seconds}"));
            Duration::from_secs(text.at(given, seconds)?)
        }
        toml::Value::String(time) => {
            text.at(given, parse_duration(time).map_err(|why| format!("{key}: {why}")))?
        }
        other => {
            let kind = other.type_str();
            bail_at!(
                text,
                given,
                "{key} must be a time such as \"30 s\", or a number of seconds, not a {kind}"
            );
        }
    };
    text.at(given, if allowed.contains(&time) { Ok(Some(time)) } else { Err(range) })
}
