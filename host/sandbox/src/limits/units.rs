//! Parses and formats sizes and durations.

use std::time::Duration;

use super::LimitsError;

/// Parses `64 MiB`, `512 KiB`, `1 GiB` or a plain number of bytes.
pub fn parse_bytes(text: &str) -> Result<usize, LimitsError> {
    let (number, unit) = split_unit(text);
    let scale = match unit {
        "" | "B" => 1,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        _ => 0,
    };
    match number.parse::<usize>().ok().and_then(|n| n.checked_mul(scale)).filter(|_| scale > 0) {
        Some(bytes) => Ok(bytes),
        None => Err(LimitsError(format!("invalid size '{text}': expected for example \"64 MiB\""))),
    }
}

/// Parses `30 s`, `500 ms` or `2 min`.
pub fn parse_duration(text: &str) -> Result<Duration, LimitsError> {
    let (number, unit) = split_unit(text);
    let parsed = number.parse::<u64>().ok().and_then(|n| match unit {
        "ms" => Some(Duration::from_millis(n)),
        "s" => Some(Duration::from_secs(n)),
        "min" => Some(Duration::from_secs(n.checked_mul(60)?)),
        _ => None,
    });
    parsed.ok_or_else(|| LimitsError(format!("invalid duration '{text}': expected for example \"30 s\"")))
}

/// Formats a size in the largest unit that is exact.
pub fn format_bytes(bytes: u64) -> String {
    let units = [(30, "GiB"), (20, "MiB"), (10, "KiB")];
    match units.iter().find(|(shift, _)| bytes >= 1 << shift && bytes.trailing_zeros() >= *shift) {
        Some((shift, unit)) => format!("{} {unit}", bytes >> shift),
        None => format!("{bytes} bytes"),
    }
}

fn split_unit(text: &str) -> (&str, &str) {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    (&text[..end], text[end..].trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_times_are_read_with_their_units() {
        assert_eq!(parse_bytes("64 MiB"), Ok(64 << 20));
        assert_eq!(parse_bytes("512KiB"), Ok(512 << 10));
        assert_eq!(parse_duration("30 s"), Ok(Duration::from_secs(30)));
        assert_eq!(parse_duration("500ms"), Ok(Duration::from_millis(500)));
        for bad in ["", "64 MB", "-1", "lots", "99999999999999999999", "18446744073709551615 GiB"] {
            assert!(parse_bytes(bad).is_err(), "{bad:?}");
            assert!(parse_duration(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn sizes_are_shown_as_people_write_them() {
        let shown = [0, 1000, 1 << 10, 1536 << 10, 16 << 20, 1 << 30].map(format_bytes);
        assert_eq!(shown, ["0 bytes", "1000 bytes", "1 KiB", "1536 KiB", "16 MiB", "1 GiB"]);
    }
}
