//! Integer arguments that saturate instead of overflowing.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, de};

/// A number of items that a caller requests, at least 1.
pub type Count = WholeNumber<1>;

/// A position to start from, at least 0.
pub type Offset = WholeNumber<0>;

/// An integer of at least `MIN`. JSON integers have no maximum (`1e30` is valid), so larger values saturate at
/// `u32::MAX`. The tool applies its own limit with [`WholeNumber::at_most`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct WholeNumber<const MIN: u32>(u32);

impl<const MIN: u32> WholeNumber<MIN> {
    /// Creates the number, raised to `MIN` if it is less.
    pub const fn new(number: u32) -> Self {
        Self(if number < MIN { MIN } else { number })
    }

    /// Returns the number, or `cap` if it is greater.
    pub fn at_most(self, cap: u32) -> u32 {
        self.0.min(cap)
    }
}

impl<'de, const MIN: u32> Deserialize<'de> for WholeNumber<MIN> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let number = serde_json::Number::deserialize(from)?;
        // JSON Schema calls 5.0 an integer. The cast saturates.
        let float = || number.as_f64().filter(|n| *n >= 0.0 && n.fract() == 0.0).map(|n| n as u64);
        match number.as_u64().or_else(float) {
            Some(n) if n >= MIN.into() => Ok(Self(u32::try_from(n).unwrap_or(u32::MAX))),
            _ => Err(de::Error::custom(format!("expected an integer of at least {MIN}, got {number}"))),
        }
    }
}

impl<const MIN: u32> JsonSchema for WholeNumber<MIN> {
    fn schema_name() -> Cow<'static, str> {
        if MIN == 0 { "Offset".into() } else { "Count".into() }
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "integer", "minimum": MIN})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Result<u32, serde_json::Error> {
        serde_json::from_str::<Count>(json).map(|c| c.at_most(20))
    }

    #[test]
    fn numbers_that_do_not_fit_saturate() {
        for huge in ["1000000000", "18446744073709551616", "1e30", "1e308", &"9".repeat(60)] {
            assert_eq!(read(huge).unwrap(), 20, "{huge}");
        }
        assert_eq!(read("7").unwrap(), 7);
        assert_eq!(read("7.0").unwrap(), 7);
    }

    #[test]
    fn other_values_are_refused() {
        for bad in ["0", "-1", "0.0", "1.5", "\"5\"", "null", "[]", "-1e30"] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn an_offset_starts_at_zero() {
        let read = |json: &str| serde_json::from_str::<Offset>(json).map(|o| o.at_most(u32::MAX));
        assert_eq!((read("0").unwrap(), read("0.0").unwrap(), read("1e30").unwrap()), (0, 0, u32::MAX));
        assert!(read("-1").is_err() && read("0.5").is_err());
    }
}
