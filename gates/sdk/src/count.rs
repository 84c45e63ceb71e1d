//! A whole number from 1 up that no caller can overflow.

use std::{borrow::Cow, fmt};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, de};

/// How many of something a caller asks for. JSON knows no largest integer: `1e30` and a number of forty
/// digits are valid integers, so whatever does not fit becomes the largest number that does. The tool
/// then applies its own cap with [`Count::at_most`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct Count(u32);

impl Count {
    /// This number, or 1 where it is 0.
    pub const fn new(number: u32) -> Self {
        Self(if number == 0 { 1 } else { number })
    }

    /// The number, but no more than `cap`.
    pub fn at_most(self, cap: u32) -> u32 {
        self.0.min(cap)
    }
}

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Visitor)
    }
}

struct Visitor;

impl de::Visitor<'_> for Visitor {
    type Value = Count;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a whole number from 1 up")
    }

    fn visit_u64<E: de::Error>(self, n: u64) -> Result<Count, E> {
        match u32::try_from(n) {
            Ok(0) => Err(E::invalid_value(de::Unexpected::Unsigned(0), &self)),
            Ok(n) => Ok(Count(n)),
            Err(_) => Ok(Count(u32::MAX)),
        }
    }

    fn visit_i64<E: de::Error>(self, n: i64) -> Result<Count, E> {
        match u64::try_from(n) {
            Ok(n) => self.visit_u64(n),
            Err(_) => Err(E::invalid_value(de::Unexpected::Signed(n), &self)),
        }
    }

    fn visit_f64<E: de::Error>(self, n: f64) -> Result<Count, E> {
        // JSON Schema calls 5.0 an integer. The cast saturates.
        if n >= 1.0 && n.fract() == 0.0 {
            self.visit_u64(n as u64)
        } else {
            Err(E::invalid_value(de::Unexpected::Float(n), &self))
        }
    }
}

impl JsonSchema for Count {
    fn schema_name() -> Cow<'static, str> {
        "Count".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "integer", "minimum": 1})
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
    fn what_is_not_a_count_is_refused() {
        for bad in ["0", "-1", "0.0", "1.5", "\"5\"", "null", "[]", "-1e30"] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }
}
