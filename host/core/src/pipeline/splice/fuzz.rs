//! Fuzzes artifact markers in arguments.

use serde_json::Value;

use super::marker;
use crate::{budget::ByteBudget, json};

/// An artifact with lines of JSON. The last one is invalid.
const TEXT: &str = "{\"items\":[1,{\"a/b\":\"~\"},null]}\n[1e400]\nnot JSON\n";

pub(crate) fn arguments(input: &[u8]) {
    let Ok(sent) = std::str::from_utf8(input) else { return };
    let Ok(mut sent) = json::parse(sent) else { return };
    let mut markers = Vec::new();
    if marker::find(&sent, &mut markers).is_err() {
        return;
    }
    let mut reader = json::JsonReader::new(&ByteBudget::new(1 << 20));
    let values = markers.iter().map(|marker| {
        let _ = (marker.is_whole(), marker.part());
        marker.value(TEXT.to_owned(), &mut reader).unwrap_or(Value::Null)
    });
    let values: Vec<Value> = values.collect();
    marker::replace(&mut sent, &mut values.into_iter());
}
