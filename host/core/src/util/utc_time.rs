//! Formats timestamps for pages, index files and messages. Always in UTC.

/// Converts Unix milliseconds to (year, month, day, hour, minute, second).
///
/// The algorithm is `civil_from_days` from Howard Hinnant's "chrono-Compatible Low-Level Date Algorithms". It counts
/// eras of 400 years from 0000-03-01.
fn civil(ms: u64) -> (u64, u64, u64, u64, u64, u64) {
    let seconds = ms / 1000;
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    (year, month, day, rest / 3600, rest / 60 % 60, rest % 60)
}

/// Formats a timestamp for pages: `2026-01-09 12:00 GMT`.
pub fn page_timestamp(ms: u64) -> String {
    let (year, month, day, hour, minute, _) = civil(ms);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02} GMT")
}

/// Formats a timestamp for index files: `2026-01-09T12:00:00Z` (RFC 3339).
pub fn rfc3339(ms: u64) -> String {
    let (year, month, day, hour, minute, second) = civil(ms);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_moments_are_spelled_right() {
        assert_eq!(rfc3339(0), "1970-01-01T00:00:00Z");
        assert_eq!(rfc3339(951_826_154_000), "2000-02-29T12:09:14Z");
        assert_eq!(rfc3339(1_709_251_199_999), "2024-02-29T23:59:59Z");
        assert_eq!(page_timestamp(1_767_960_000_000), "2026-01-09 12:00 GMT");
    }
}
