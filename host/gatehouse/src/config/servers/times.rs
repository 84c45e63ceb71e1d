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
    setting: &Option<TextValue<toml::Value>>,
    allowed: RangeInclusive<Duration>,
) -> Result<Option<Duration>, ConfigError> {
    let Some(setting) = setting else { return Ok(None) };
    let format_time = |time: &Duration| match time.as_millis() {
        millis if millis % 60_000 == 0 => format!("{} min", millis / 60_000),
        millis if millis % 1_000 == 0 => format!("{} s", millis / 1_000),
        millis => format!("{millis} ms"),
    };
    let range = format!("{key} must be {} to {}", format_time(allowed.start()), format_time(allowed.end()));
    let time = match &**setting {
        toml::Value::Integer(seconds) => {
            let seconds = u64::try_from(*seconds).map_err(|_| format!("{range}, not {seconds}"));
            Duration::from_secs(text.at(setting, seconds)?)
        }
        toml::Value::String(time) => {
            text.at(setting, parse_duration(time).map_err(|reason| format!("{key}: {reason}")))?
        }
        other => {
            let kind = other.type_str();
            bail_at!(
                text,
                setting,
                "{key} must be a time such as \"30 s\", or a number of seconds, not a {kind}"
            );
        }
    };
    text.at(setting, if allowed.contains(&time) { Ok(Some(time)) } else { Err(range) })
}
