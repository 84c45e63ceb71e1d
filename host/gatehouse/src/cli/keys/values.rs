//! Values of arguments: names, groups and times.

use gatehouse_auth::is_key_name;
use gatehouse_core::{hidden_chars::is_hidden, names::quoted};

use super::PlainError;
const MINUTE_MS: u64 = 60_000;

const HOUR_MS: u64 = 60 * MINUTE_MS;

const DAY_MS: u64 = 24 * HOUR_MS;

/// Maximum time until an expiry: ten years.
const MAX_LIFETIME_MS: u64 = 3_650 * DAY_MS;

const MAX_GROUP: usize = 255;

pub(super) fn key_name(text: &str) -> Result<String, PlainError> {
    if is_key_name(text) {
        return Ok(text.to_owned());
    }
    Err("a key's name has 1 to 64 characters a-z, 0-9 and -".into())
}

pub(super) fn group(text: &str) -> Result<String, PlainError> {
    if let Some(name) = text.strip_prefix("group:") {
        bail!("write the group without the prefix that access rules have: {}", quoted(name, 64));
    }
    let odd = |c: char| c.is_whitespace() || c.is_control() || is_hidden(c);
    if text.is_empty() || text.len() > MAX_GROUP || text.contains(odd) {
        bail!("a group is one word of at most {MAX_GROUP} bytes");
    }
    Ok(text.to_owned())
}

/// Parses a time as milliseconds.
pub(super) fn time(text: &str) -> Result<u64, PlainError> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let unit = match unit.trim() {
        "d" => DAY_MS,
        "h" => HOUR_MS,
        "min" => MINUTE_MS,
        _ => bail!("write a time as 90d, 12h or 30min"),
    };
    let time = number.parse::<u64>().ok().and_then(|number| number.checked_mul(unit));
    time.filter(|time| *time <= MAX_LIFETIME_MS).ok_or_else(|| "a time is at most 3650d".into())
}

pub(super) fn lifetime(text: &str) -> Result<u64, PlainError> {
    match time(text)? {
        0 => Err("a key cannot expire immediately".into()),
        time => Ok(time),
    }
}

/// Returns a time in the largest unit that is at least two.
pub(super) fn duration(ms: u64) -> String {
    match ms {
        _ if ms >= 2 * DAY_MS => format!("{} d", ms / DAY_MS),
        _ if ms >= 2 * HOUR_MS => format!("{} h", ms / HOUR_MS),
        _ => format!("{} min", ms / MINUTE_MS),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        for (text, ms) in [("90d", 90 * DAY_MS), ("24h", DAY_MS), ("30min", 30 * MINUTE_MS), ("1 h", HOUR_MS)]
        {
            assert_eq!(time(text), Ok(ms), "{text}");
        }
        for bad in ["", "d", "90", "-1d", "1.5h", "3651d", "99999999999999999999d", "1m", "soon"] {
            assert!(time(bad).is_err(), "{bad}");
        }
        assert!(lifetime("0h").is_err() && time("0h").is_ok());
        assert_eq!(duration(90 * DAY_MS), "90 d");
        assert_eq!(
            (duration(DAY_MS), duration(HOUR_MS), duration(1)),
            ("24 h".into(), "60 min".into(), "0 min".into())
        );
    }

    #[test]
    fn groups_are_words() {
        assert!(group("dev").is_ok() && group("Domain Users").is_err());
        assert!(group("group:dev").expect_err("refused").ends_with("have: dev"));
        assert!(group("").is_err() && group("a\u{200b}").is_err() && group(&"x".repeat(256)).is_err());
    }
}
