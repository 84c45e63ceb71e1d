//! Shape of a result: its JSON paths without list indices.

use std::collections::BTreeSet;

use serde_json::Value;

const MAX_SHAPE_BYTES: usize = 1 << 20;

/// Returns the paths, one per line. `None` if the result is too long.
pub(super) fn from_text(text: &str) -> Option<String> {
    if text.len() > MAX_SHAPE_BYTES {
        return None;
    }
    let Ok(value) = serde_json::from_str::<Value>(text) else { return Some("text".into()) };
    let mut paths = BTreeSet::new();
    collect(&value, &mut String::new(), &mut paths);
    Some(paths.into_iter().collect::<Vec<_>>().join("\n"))
}

fn collect(value: &Value, path: &mut String, into: &mut BTreeSet<String>) {
    let length = path.len();
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                path.push('/');
                path.push_str(key);
                collect(value, path, into);
                path.truncate(length);
            }
        }
        Value::Array(items) => {
            path.push_str("[]");
            items.iter().for_each(|item| collect(item, path, into));
            path.truncate(length);
        }
        _ => drop(into.insert(path.clone())),
    }
}
