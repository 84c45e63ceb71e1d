//! Disk limits (`cache_size` under `[host]`, `max_bytes` under `[artifacts]`), validated.

use gatehouse_sandbox::{format_bytes, parse_bytes};
use toml::Spanned;

use super::{ConfigError, error::ConfigText};

/// Default limit: room for forty interpreters, thousands of small gates, or ten thousand results.
const DEFAULT_CACHE_SIZE: u64 = 1 << 30;

/// Parses a limit in bytes. `key` is its name in messages.
pub(super) fn size(
    text: &ConfigText,
    key: &str,
    given: Option<&Spanned<String>>,
) -> Result<u64, ConfigError> {
    let Some(given) = given else { return Ok(DEFAULT_CACHE_SIZE) };
    let bad = |why: String| text.error_at(given.span(), why);
    let bytes = parse_bytes(given.get_ref()).map_err(|error| bad(error.to_string()))? as u64;
    let (least, most) = (1 << 20, 1 << 40);
    if (least..=most).contains(&bytes) {
        return Ok(bytes);
    }
    Err(bad(format!("{key} must be from {} to {}", format_bytes(least), format_bytes(most))))
}
