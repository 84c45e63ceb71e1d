//! Numbers of JSON by their digits, so that comparisons are exact whatever their size.

use std::cmp::Ordering;

use serde_json::Number;

/// Maximum absolute exponent. A literal that fits a message has fewer digits, so larger exponents compare the same.
const MAX_EXPONENT: i64 = 1 << 50;

/// Maximum significant digits of a step, which fit 64 bits.
const MAX_STEP_DIGITS: usize = 19;

/// A number as `0.DIGITS × 10^point`, with the sign apart. Equal numbers have equal decimals: `1`, `1.00` and `1e0`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Decimal {
    is_negative: bool,
    /// Significant digits without leading and trailing zeros. Empty for zero.
    digits: String,
    point: i64,
}

impl Decimal {
    pub(crate) fn new(number: &Number) -> Self {
        let text = number.to_string();
        let (is_negative, text) = text.strip_prefix('-').map_or((false, text.as_str()), |text| (true, text));
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all_digits = format!("{whole}{fraction}");
        let significant = all_digits.trim_start_matches('0');
        let leading = (all_digits.len() - significant.len()) as i64;
        let digits = significant.trim_end_matches('0').to_owned();
        if digits.is_empty() {
            return Self { is_negative: false, digits, point: 0 };
        }
        let point = whole.len() as i64 - leading + exponent_of(exponent);
        Self { is_negative, digits, point }
    }

    pub(crate) fn is_integer(&self) -> bool {
        self.digits.len() as i64 <= self.point.max(0)
    }

    /// Whether this number can be the step of [`Decimal::is_multiple_of`].
    pub(crate) fn is_step(&self) -> bool {
        !self.is_negative && (1..=MAX_STEP_DIGITS).contains(&self.digits.len())
    }

    /// Returns true if this number is a multiple of `step`. False if that is [no step](Decimal::is_step).
    pub(crate) fn is_multiple_of(&self, step: &Self) -> bool {
        let Ok(modulus) = step.digits.parse::<u64>() else { return false };
        if self.digits.is_empty() {
            return true;
        }
        // Both as integers of digits: the last digit of this number is not zero, so it must not be below the step's.
        let shift = (self.point - self.digits.len() as i64) - (step.point - step.digits.len() as i64);
        let Ok(shift) = u64::try_from(shift) else { return false };
        let modulus = u128::from(modulus);
        let rest =
            self.digits.bytes().fold(0, |rest, digit| (rest * 10 + u128::from(digit - b'0')) % modulus);
        (rest * power_of_ten(shift, modulus)).is_multiple_of(modulus)
    }
}

/// Compares by value.
pub(crate) fn compare(one: &Number, other: &Number) -> Ordering {
    if let (Some(one), Some(other)) = (one.as_i64(), other.as_i64()) {
        return one.cmp(&other);
    }
    let (one, other) = (Decimal::new(one), Decimal::new(other));
    let sign = |number: &Decimal| match (number.digits.is_empty(), number.is_negative) {
        (true, _) => 0,
        (false, is_negative) => 1 - 2 * i32::from(is_negative),
    };
    // Without trailing zeros, digits after an equal point compare like text.
    let size = one.point.cmp(&other.point).then_with(|| one.digits.cmp(&other.digits));
    sign(&one).cmp(&sign(&other)).then_with(|| if one.is_negative { size.reverse() } else { size })
}

fn exponent_of(text: &str) -> i64 {
    let exponent = text.strip_prefix('+').unwrap_or(text).parse::<i64>();
    let limit = if text.starts_with('-') { -MAX_EXPONENT } else { MAX_EXPONENT };
    exponent.map_or(limit, |exponent| exponent.clamp(-MAX_EXPONENT, MAX_EXPONENT))
}

fn power_of_ten(mut exponent: u64, modulus: u128) -> u128 {
    let (mut power, mut square) = (1 % modulus, 10 % modulus);
    while exponent > 0 {
        if exponent & 1 == 1 {
            power = power * square % modulus;
        }
        square = square * square % modulus;
        exponent >>= 1;
    }
    power
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Number {
        serde_json::from_str(text).expect("a number")
    }

    #[test]
    fn numbers_of_any_size_are_compared_by_value() {
        let ascending = [
            "-1e400",
            "-123456789012345678901234567891",
            "-123456789012345678901234567890",
            "-1.5",
            "-1",
            "0",
            "1e-400",
            "0.1",
            "1",
            "1.0000000000000000000001",
            "9007199254740992.0",
            "9007199254740993",
            "123456789012345678901234567890",
            "123456789012345678901234567891",
            "1e400",
            "1e99999999999999999999",
        ];
        for (at, one) in ascending.iter().enumerate() {
            for (other_at, other) in ascending.iter().enumerate() {
                assert_eq!(compare(&number(one), &number(other)), at.cmp(&other_at), "{one} {other}");
            }
        }
        for (one, other) in [("1", "1.00"), ("100", "1e2"), ("0", "-0.0"), ("0.5", "5e-1"), ("0", "0e99")] {
            assert_eq!(compare(&number(one), &number(other)), Ordering::Equal, "{one} {other}");
            assert_eq!(Decimal::new(&number(one)), Decimal::new(&number(other)), "{one} {other}");
        }
    }

    #[test]
    fn integers_and_multiples_are_exact() {
        for (text, expected) in [
            ("1.0", true),
            ("1e400", true),
            ("15e-1", false),
            ("0", true),
            ("123456789012345678901.5", false),
        ] {
            assert_eq!(Decimal::new(&number(text)).is_integer(), expected, "{text}");
        }
        for (one, step, expected) in [
            ("19.99", "0.01", true),
            ("19.995", "0.01", false),
            ("123456789012345678901234567890", "10", true),
            ("123456789012345678901234567891", "10", false),
            ("1e1000000000000", "7", false),
            ("21e1000000000000", "7", true),
            ("0", "0.3", true),
            ("0.0075", "0.0001", true),
            ("1e308", "0.123456789", false),
            ("12391239123", "1e-8", true),
            ("-4", "2", true),
            ("4.5", "1.5", true),
            ("0", "1e300", true),
            ("5", "1e300", false),
            ("1e-300", "1", false),
        ] {
            let multiple = Decimal::new(&number(one)).is_multiple_of(&Decimal::new(&number(step)));
            assert_eq!(multiple, expected, "{one} {step}");
            assert!(Decimal::new(&number(step)).is_step(), "{step}");
        }
        for text in ["0", "-1", "0.12345678901234567890123"] {
            assert!(!Decimal::new(&number(text)).is_step(), "{text}");
        }
    }
}
