//! Bounded parsing of untrusted JSON: 16 MiB of `[0,0,…]` are eight million values of about seventy bytes.

use std::io;

use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{
    InvalidValue,
    budget::{ByteBudget, ByteReservation},
    invalid::ensure,
};

/// Maximum values of a document. 16 MiB of rows have a tenth of them.
pub const MAX_VALUES: usize = 500_000;

/// Returns true if a text may contain more than [`MAX_VALUES`] values.
pub fn too_many_values(text: &[u8]) -> bool {
    text.len() > MAX_VALUES && max_value_count(text) > MAX_VALUES
}

/// Returns an upper bound of the values in a text, from its punctuation.
pub fn max_value_count(text: &[u8]) -> usize {
    text.iter().filter(|byte| matches!(byte, b',' | b'[' | b'{')).count()
}

/// Reads a type from a value. Unlike serde_json's own function, it accepts integers of 65 to 128 bits inside types with a
/// tag: serde can buffer those only from text.
pub fn from_value<T: DeserializeOwned>(value: Value) -> serde_json::Result<T> {
    let text = has_wide_integer(&value).then(|| value.to_string());
    text.map_or_else(|| serde_json::from_value(value), |text| serde_json::from_str(&text))
}

fn has_wide_integer(value: &Value) -> bool {
    match value {
        // Short texts, which are nearly all, are not parsed.
        Value::Number(number) => {
            let is_long = number.as_str().len() >= 19;
            is_long && !number.is_i64() && !number.is_u64() && number.as_i128().is_some()
        }
        Value::Array(items) => items.iter().any(has_wide_integer),
        Value::Object(members) => members.values().any(has_wide_integer),
        _ => false,
    }
}

/// Passes a value's JSON text to `take` in pieces, without building the text.
pub(crate) fn for_each_piece(value: &impl Serialize, take: impl FnMut(&[u8])) -> serde_json::Result<()> {
    struct PieceWriter<F>(F);
    impl<F: FnMut(&[u8])> io::Write for PieceWriter<F> {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            (self.0)(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    serde_json::to_writer(PieceWriter(take), value)
}

/// Returns the length of a value's JSON text in bytes, without building the text.
pub fn encoded_len(value: &impl Serialize) -> usize {
    let mut length = 0;
    for_each_piece(value, |piece| length += piece.len()).map_or(0, |()| length)
}

/// Parses a document. The error continues a sentence about it.
pub fn parse(text: &str) -> Result<Value, InvalidValue> {
    ensure!(!too_many_values(text.as_bytes()), "has more than {MAX_VALUES} values");
    serde_json::from_str(text).map_err(|error| format!("is not JSON: {error}").into())
}

/// Maximum bytes of an array's item: the capacity doubles.
const ITEM_BYTES: usize = 2 * size_of::<Value>();

/// Bytes of an object's member without its value.
const MEMBER_BYTES: usize = 96;

/// Bytes of an array's first allocation, for four values.
const ARRAY_BYTES: usize = 4 * size_of::<Value>();

/// Bytes of an object's first allocation, for four members.
const OBJECT_BYTES: usize = 4 * (size_of::<Value>() + 32) + 64;

/// Estimated size of a JSON text once parsed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MessageSize {
    /// Values, not counting punctuation within strings.
    pub values: usize,
    /// Upper bound of the memory in bytes.
    pub memory: usize,
}

impl MessageSize {
    pub fn from_text(text: &[u8]) -> Self {
        let (mut values, mut memory) = (1, text.len());
        let mut rest = text;
        while let Some((byte, after)) = rest.split_first() {
            rest = after;
            match byte {
                b',' => (values, memory) = (values + 1, memory + ITEM_BYTES),
                b':' => memory += MEMBER_BYTES,
                b'[' => (values, memory) = (values + 1, memory + ARRAY_BYTES),
                b'{' => (values, memory) = (values + 1, memory + OBJECT_BYTES),
                b'"' => rest = skip_string(after),
                _ => {}
            }
        }
        Self { values, memory }
    }
}

fn skip_string(mut inside: &[u8]) -> &[u8] {
    while let Some(at) = memchr::memchr2(b'"', b'\\', inside) {
        let skip = if inside[at] == b'"' { 1 } else { 2 };
        let rest = inside.get(at + skip..).unwrap_or_default();
        if skip == 1 {
            return rest;
        }
        inside = rest;
    }
    &[]
}

/// Parser for the documents of one message, which share one limit.
pub struct JsonReader {
    values_left: usize,
    reservation: ByteReservation,
}

impl JsonReader {
    /// Creates a reader limited to [`MAX_VALUES`] values and the bytes left in the budget.
    pub fn new(budget: &ByteBudget) -> Self {
        Self { values_left: MAX_VALUES, reservation: budget.reserve() }
    }

    /// Parses a document. The error continues a sentence about it.
    pub fn parse(&mut self, text: &str) -> Result<Value, InvalidValue> {
        let MessageSize { values, memory: bytes } = MessageSize::from_text(text.as_bytes());
        let Some(left) = self.values_left.checked_sub(values) else {
            return Err(format!("has more than {MAX_VALUES} values, including the parts before it").into());
        };
        let (fits, mib) = (self.reservation.take(bytes), bytes >> 20);
        ensure!(fits, "takes {mib} MiB as JSON, which is more than the call has left");
        self.values_left = left;
        serde_json::from_str(text).map_err(|error| format!("is not JSON: {error}").into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn oversized_json_is_refused_before_parsing() {
        let flood = format!("[{}0]", "0,".repeat(MAX_VALUES + 1));
        assert_eq!(parse(&flood), Err(format!("has more than {MAX_VALUES} values").into()));
        assert!(parse(&format!("[{}0]", "0,".repeat(1000))).is_ok());
        assert!(parse(&"[".repeat(100_000)).is_err(), "depth is bounded by the parser");
    }

    #[test]
    fn integers_of_any_size_are_read_into_types_with_a_tag() {
        #[derive(Debug, PartialEq, serde::Deserialize)]
        #[serde(tag = "type", rename_all = "lowercase")]
        enum Block {
            Text { meta: Value },
        }
        for digits in ["1", "18446744073709551615", "18446744073709551616", "-9223372036854775809", "1.50"] {
            let value: Value =
                serde_json::from_str(&format!(r#"{{"type":"text","meta":{digits}}}"#)).unwrap();
            let Block::Text { meta } = from_value(value).unwrap();
            assert_eq!(meta.to_string(), digits);
        }
    }

    #[test]
    fn documents_of_one_message_count_together() {
        let budget = ByteBudget::new(1 << 30);
        let mut reader = JsonReader::new(&budget);
        let third = format!("[{}0]", "0,".repeat(MAX_VALUES / 3));
        assert!(reader.parse(&third).is_ok() && reader.parse(&third).is_ok());
        let reason = reader.parse(&third).expect_err("too many").to_string();
        assert!(reason.starts_with("has more than 500000 values"), "{reason}");
        assert!(JsonReader::new(&budget).parse(&third).is_ok(), "another message");
    }

    #[test]
    fn message_is_limited_by_its_budget() {
        let budget = ByteBudget::new(1 << 20);
        let objects = format!("[{}0]", "{\"a\":0},".repeat(4_000));
        assert!(objects.len() < 50_000);
        let reason = JsonReader::new(&budget).parse(&objects).expect_err("too large").to_string();
        assert!(reason.contains("MiB as JSON"), "{reason}");
        let prose = format!("\"{}\"", "{\\\"a\\\": [0, 1]}, ".repeat(20_000));
        assert!(JsonReader::new(&budget).parse(&prose).is_ok(), "punctuation in a string does not count");
    }
}
