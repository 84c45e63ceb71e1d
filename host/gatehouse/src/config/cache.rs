//! `cache_size` under `[host]`, checked.

use gatehouse_sandbox::{parse_bytes, shown_bytes};
use toml::Spanned;

use super::{ConfigError, error::Text};

/// What is kept where nobody says otherwise: forty interpreters, or thousands of small gates.
const DEFAULT: u64 = 1 << 30;

/// Bytes of compiled gates to keep.
pub(super) fn size(text: &Text, given: Option<&Spanned<String>>) -> Result<u64, ConfigError> {
    let Some(given) = given else { return Ok(DEFAULT) };
    let bad = |why: String| text.error_at(given.span(), why);
    let bytes = parse_bytes(given.get_ref()).map_err(|error| bad(error.to_string()))? as u64;
    let (least, most) = (1 << 20, 1 << 40);
    if (least..=most).contains(&bytes) {
        return Ok(bytes);
    }
    Err(bad(format!("cache_size must be from {} to {}", shown_bytes(least), shown_bytes(most))))
}
