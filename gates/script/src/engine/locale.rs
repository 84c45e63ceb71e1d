//! Time zones and text encodings of scripts.

use jiff::{Timestamp, tz::TimeZone};
use serde_json::json;

/// Zones whose short names are usual in the United States; other zones are shown by their offset.
const SHORT_NAMES: [&str; 11] =
    ["EST", "EDT", "CST", "CDT", "MST", "MDT", "PST", "PDT", "AKST", "AKDT", "HST"];

/// Returns the offset in seconds and the short name of a time zone (IANA) at a time in milliseconds, as JSON. `None` if
/// there is no such zone.
pub(super) fn zone(name: &str, at: f64) -> Option<String> {
    if name.eq_ignore_ascii_case("utc") || name.eq_ignore_ascii_case("gmt") {
        return Some(json!({ "offset": 0, "name": "UTC" }).to_string());
    }
    let zone = TimeZone::get(name).ok()?;
    let info = zone.to_offset_info(Timestamp::from_millisecond(at as i64).ok()?);
    let (seconds, short) = (info.offset().seconds(), info.abbreviation());
    let is_american = name.starts_with("America/") || name.starts_with("US/") || name == "Pacific/Honolulu";
    let display_name = match short {
        "UTC" => "UTC".to_owned(),
        short if is_american && SHORT_NAMES.contains(&short) => short.to_owned(),
        _ => {
            let (sign, minutes) = (if seconds < 0 { '-' } else { '+' }, seconds.abs() / 60);
            match (minutes / 60, minutes % 60) {
                (0, 0) => "GMT".to_owned(),
                (hours, 0) => format!("GMT{sign}{hours}"),
                (hours, minutes) => format!("GMT{sign}{hours}:{minutes:02}"),
            }
        }
    };
    Some(json!({ "offset": seconds, "name": display_name }).to_string())
}

/// Characters of windows-1252 from 0x80 to 0x9F, which `latin1` means on the web.
const WINDOWS_1252: &str = "€\u{81}‚ƒ„…†‡ˆ‰Š‹Œ\u{8d}Ž\u{8f}\u{90}‘’“”•–—˜™š›œ\u{9d}žŸ";

/// Decodes bytes. `None` if they are invalid and `fatal` is true.
pub(super) fn decode(bytes: Vec<u8>, encoding: &str, fatal: bool) -> Option<String> {
    let wide = |unit: fn([u8; 2]) -> u16| {
        let units = bytes.chunks_exact(2).map(|pair| unit([pair[0], pair[1]]));
        let mut text = String::new();
        let mut is_valid = bytes.len().is_multiple_of(2);
        for c in char::decode_utf16(units) {
            is_valid &= c.is_ok();
            text.push(c.unwrap_or(char::REPLACEMENT_CHARACTER));
        }
        text.extend((!bytes.len().is_multiple_of(2)).then_some(char::REPLACEMENT_CHARACTER));
        (is_valid || !fatal).then_some(text)
    };
    match encoding {
        "utf-16le" => wide(u16::from_le_bytes),
        "utf-16be" => wide(u16::from_be_bytes),
        "windows-1252" => {
            let character = |byte: u8| match byte {
                0x80..=0x9F => WINDOWS_1252.chars().nth(usize::from(byte) - 0x80).unwrap_or_default(),
                byte => char::from(byte),
            };
            Some(bytes.into_iter().map(character).collect())
        }
        _ if fatal => String::from_utf8(bytes).ok(),
        _ => Some(String::from_utf8_lossy(&bytes).into_owned()),
    }
}
