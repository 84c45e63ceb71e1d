//! Comparison of a value with text while it is parsed. It stops at the first difference, so that aliases of YAML, which
//! repeat a part of it, cannot expand to more than the value.

use std::fmt;

use serde::{
    Deserializer,
    de::{DeserializeSeed, Error, MapAccess, SeqAccess, Visitor},
};
use serde_json::{Map, Value};

/// An object that the text must have. Parsing fails otherwise.
#[derive(Clone, Copy)]
pub(super) struct ExpectedObject<'a>(pub(super) &'a Map<String, Value>);

#[derive(Clone, Copy)]
struct ExpectedValue<'a>(&'a Value);

fn differs<E: Error>() -> E {
    E::custom("another value")
}

impl<'de> DeserializeSeed<'de> for ExpectedObject<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, text: D) -> Result<(), D::Error> {
        text.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ExpectedObject<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let mut remaining_keys: Vec<&String> = self.0.keys().collect();
        while let Some(key) = members.next_key::<String>()? {
            let place = remaining_keys.iter().position(|candidate| **candidate == key).ok_or_else(differs)?;
            members.next_value_seed(ExpectedValue(&self.0[remaining_keys.swap_remove(place)]))?;
        }
        if remaining_keys.is_empty() { Ok(()) } else { Err(differs()) }
    }
}

impl<'de> DeserializeSeed<'de> for ExpectedValue<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, text: D) -> Result<(), D::Error> {
        text.deserialize_any(self)
    }
}

impl ExpectedValue<'_> {
    fn is<E: Error>(self, value: impl Into<Value>) -> Result<(), E> {
        if *self.0 == value.into() { Ok(()) } else { Err(differs()) }
    }
}

impl<'de> Visitor<'de> for ExpectedValue<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value of JSON")
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<(), E> {
        self.is(value)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<(), E> {
        self.is(value)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<(), E> {
        self.is(value)
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<(), E> {
        // `1e-05` and `0.00001` are one number.
        if self.0.is_f64() && self.0.as_f64() == Some(value) { Ok(()) } else { Err(differs()) }
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<(), E> {
        if self.0.as_str() == Some(value) { Ok(()) } else { Err(differs()) }
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.is(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        for expected in self.0.as_array().ok_or_else(differs)? {
            items.next_element_seed(ExpectedValue(expected))?.ok_or_else(differs)?;
        }
        // Another element would have to be parsed to be skipped.
        match items.next_element_seed(NoValue)? {
            Some(()) => Err(differs()),
            None => Ok(()),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<(), A::Error> {
        ExpectedObject(self.0.as_object().ok_or_else(differs)?).visit_map(members)
    }
}

/// An element that must not exist.
struct NoValue;

impl<'de> DeserializeSeed<'de> for NoValue {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, _: D) -> Result<(), D::Error> {
        Err(differs())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn text_is_compared_to_the_last_member_and_no_further() {
        let value = json!({"a": 1, "b": [true, null, "x", 1.5], "c": {"d": -2}});
        let expected = value.as_object().expect("an object");
        let compare = |text: &str| {
            ExpectedObject(expected).deserialize(yaml_serde::Deserializer::from_str(text)).is_ok()
        };
        assert!(compare("a: 1\nb: [true, null, x, 1.5]\nc: {d: -2}\n"));
        assert!(compare("c:\n  d: -2\nb:\n- true\n- ~\n- \"x\"\n- 1.5\na: 1"));
        for text in [
            "",
            "a: 1",
            "a: 1\nb: [true, null, x, 1.5]\nc: {d: -2}\ne: 1",
            "a: 1\na: 1\nb: [true, null, x, 1.5]\nc: {d: -2}",
            "a: 1\nb: [true, null, x, 1.5, 2]\nc: {d: -2}",
            "a: 1\nb: [true, null, x]\nc: {d: -2}",
            "a: '1'\nb: [true, null, x, 1.5]\nc: {d: -2}",
            "[1]",
        ] {
            assert!(!compare(text), "{text}");
        }
        let zeros = vec!["0"; 10_000].join(",");
        let aliases = vec!["*a"; 10_000].join(",");
        assert!(!compare(&format!("x: &a [{zeros}]\ny: [{aliases}]")));
    }
}
