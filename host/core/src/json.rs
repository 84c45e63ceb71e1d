//! Reading JSON that somebody else wrote, within bounds. Sixteen megabytes of `[0,0,…]` are eight million
//! values, and a value in memory takes some seventy bytes.

use serde_json::Value;

/// The most values a document may hold; a reply of 16 MiB of rows has a tenth of them.
pub const MAX_VALUES: usize = 500_000;

/// Whether a text can hold more than [`MAX_VALUES`] values.
pub fn too_many_values(text: &[u8]) -> bool {
    text.len() > MAX_VALUES && at_most(text) > MAX_VALUES
}

/// How many values a text can hold at most. Counts what begins or separates values, in strings too, so it
/// may err on the side of caution.
pub fn at_most(text: &[u8]) -> usize {
    text.iter().filter(|byte| matches!(byte, b',' | b'[' | b'{')).count()
}

/// Parses a document; the error says what is wrong with it.
pub fn parse(text: &str) -> Result<Value, String> {
    if too_many_values(text.as_bytes()) {
        return Err(format!("has more than {MAX_VALUES} values"));
    }
    serde_json::from_str(text).map_err(|error| format!("is not JSON: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_fill_the_memory_is_refused_before_it_is_read() {
        let flood = format!("[{}0]", "0,".repeat(MAX_VALUES + 1));
        assert_eq!(parse(&flood), Err(format!("has more than {MAX_VALUES} values")));
        assert!(parse(&format!("[{}0]", "0,".repeat(1000))).is_ok());
        assert!(parse(&"[".repeat(100_000)).is_err(), "depth is bounded by the parser");
    }
}
