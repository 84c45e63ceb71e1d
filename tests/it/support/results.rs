//! Results of calls: text, faults, and presets with structured replies.

use serde_json::Value;

pub(crate) fn text_of(result: &Value) -> String {
    result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text in {result}")).to_owned()
}

/// Returns the fault of a result: type, message, recoverable, suggestion. Checks that the text has the same content,
/// and that the fault is not structured content, which some clients would drop.
pub(crate) fn fault_of(result: &Value) -> &Value {
    assert_eq!(result["isError"], true, "{result}");
    assert!(result.get("structuredContent").is_none(), "{result}");
    let fault = &result["_meta"]["gatehouse/error"];
    let part = |name: &str| fault[name].as_str().unwrap_or_else(|| panic!("no {name} in {result}"));
    let text = text_of(result);
    assert!(text.contains(&format!("{} [{}]", part("message"), part("type"))), "{result}");
    assert!(fault["suggestion"].as_str().is_none_or(|next| text.ends_with(next)), "{result}");
    fault
}

/// Adds `structured = true` to each preset.
pub(crate) fn structured(presets: &str) -> String {
    let line = |line: &str| {
        let preset = line.starts_with("[presets.") && line.ends_with(']');
        if preset { format!("{line}\nstructured = true\n") } else { format!("{line}\n") }
    };
    presets.lines().map(line).collect()
}
