//! Parses numbers and dates, and compares numbers that are too large for an `f64`.

use std::cmp::Ordering;

/// Parses a number in JSON's notation. `None` for `NaN`, words, hexadecimal numbers and infinite values.
pub(super) fn number(text: &str) -> Option<f64> {
    let allowed = |b: u8| b.is_ascii_digit() || matches!(b, b'.' | b'-' | b'+' | b'e' | b'E');
    let starts = text.starts_with(|c: char| c.is_ascii_digit() || c == '-');
    if !starts || text.len() > 400 || !text.bytes().all(allowed) {
        return None;
    }
    text.parse().ok().filter(|n: &f64| n.is_finite())
}

/// Compares two JSON numbers that are the same `f64`. Distinguishes only integers without an exponent.
pub(super) fn compare(a: &str, b: &str) -> Ordering {
    let whole = |s: &str| s.trim_start_matches('-').bytes().all(|b| b.is_ascii_digit());
    if !whole(a) || !whole(b) || a.starts_with('-') != b.starts_with('-') {
        return Ordering::Equal;
    }
    // JSON has no leading zeros, so the longer number is larger.
    let order = a.len().cmp(&b.len()).then_with(|| a.cmp(b));
    if a.starts_with('-') { order.reverse() } else { order }
}

/// Maximum digits after and before the decimal point in a sum.
const FRACTION: usize = 6;
const WHOLE: usize = 18;
const POWERS: [i128; FRACTION + 1] = [1, 10, 100, 1000, 10_000, 100_000, 1_000_000];

/// Returns the exact sum of JSON numbers, `None` if a number has more digits or an exponent.
pub(super) fn sum<'a>(numbers: impl Iterator<Item = &'a str>) -> Option<String> {
    let mut sum: i128 = 0;
    let mut longest = 0;
    for number in numbers {
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if whole.len() > WHOLE || fraction.len() > FRACTION || number.contains(['e', 'E']) {
            return None;
        }
        longest = longest.max(fraction.len());
        let digits = whole.bytes().chain(fraction.bytes()).filter(u8::is_ascii_digit);
        let value = digits.fold(0_i128, |value, digit| value * 10 + i128::from(digit - b'0'));
        let value = value * POWERS[FRACTION - fraction.len()];
        sum = sum.checked_add(if whole.starts_with('-') { -value } else { value })?;
    }
    let sign = if sum < 0 { "-" } else { "" };
    let digits = format!("{:0>width$}", sum.unsigned_abs(), width = FRACTION + 1);
    let (whole, fraction) = digits.split_at(digits.len() - FRACTION);
    let point = if longest > 0 { "." } else { "" };
    Some(format!("{sign}{whole}{point}{}", &fraction[..longest]))
}

/// Returns the Unix time in seconds of `YYYY-MM-DD`, with or without a time of day. Ignores time zones and fractions.
pub(super) fn date(text: &str) -> Option<f64> {
    let digits = |from: usize, to: usize| -> Option<i64> {
        let part = text.get(from..to)?;
        part.bytes().all(|b| b.is_ascii_digit()).then(|| part.parse().ok())?
    };
    let bytes = text.as_bytes();
    if !(10..=40).contains(&text.len()) || bytes[4] != b'-' || bytes[7] != b'-' {
        return None;
    }
    let (year, month, day) = (digits(0, 4)?, digits(5, 7)?, digits(8, 10)?);
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let time = match bytes.get(10) {
        None => 0,
        Some(b'T' | b' ' | b't') => {
            digits(11, 13)? * 3600 + digits(14, 16).unwrap_or(0) * 60 + digits(17, 19).unwrap_or(0)
        }
        Some(_) => return None,
    };
    // Days of the proleptic Gregorian calendar, with years that start in March so that the leap day is last.
    let year = if month <= 2 { year - 1 } else { year };
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let days = year * 365 + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + day_of_year;
    Some(((days - 719_468) * 86_400 + time) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_numbers_are_numbers() {
        assert_eq!(number("-1.5e3"), Some(-1500.0));
        for text in ["", "NaN", "inf", "0x10", "1.2.3", "1e999", "-", "12 ", "1,5"] {
            assert_eq!(number(text), None, "{text}");
        }
    }

    #[test]
    fn sums_are_exact() {
        let of = |numbers: &[&str]| sum(numbers.iter().copied());
        assert_eq!(of(&["0.1", "0.2", "-1"]).as_deref(), Some("-0.7"));
        assert_eq!(of(&["123456789012345678", "1"]).as_deref(), Some("123456789012345679"));
        assert_eq!(of(&["-0.5", "0.50"]).as_deref(), Some("0.00"));
        assert_eq!((of(&["1e3"]), of(&["1.1234567"])), (None, None));
    }

    #[test]
    fn dates_are_seconds() {
        assert_eq!(date("1970-01-01"), Some(0.0));
        assert_eq!(date("2000-03-01T00:00:00Z"), Some(951_868_800.0));
        assert_eq!(date("2024-02-29 12:30:15.123+02:00"), Some(1_709_209_815.0));
        for text in ["2024-13-01", "2024-1-1", "20240101", "2024-01-01x", "日本日本-01-01"] {
            assert_eq!(date(text), None, "{text}");
        }
    }

    #[test]
    fn whole_numbers_compare_by_value() {
        assert_eq!(compare("10000000000000000001", "10000000000000000002"), Ordering::Less);
        assert_eq!(compare("-10000000000000000001", "-10000000000000000002"), Ordering::Greater);
        assert_eq!(compare("1.0", "1"), Ordering::Equal);
    }
}
