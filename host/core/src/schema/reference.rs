//! References within a schema.

use serde_json::{Map, Value};

/// Keywords whose value is a map of schemas.
const MAPS: [&str; 6] =
    ["properties", "patternProperties", "dependentSchemas", "dependencies", "$defs", "definitions"];

/// Keywords whose value is a list of schemas. `items` is one in earlier drafts.
const LISTS: [&str; 5] = ["allOf", "anyOf", "oneOf", "prefixItems", "items"];

/// Keywords whose value is a schema.
const SCHEMAS: [&str; 11] = [
    "not",
    "if",
    "then",
    "else",
    "contains",
    "items",
    "propertyNames",
    "additionalProperties",
    "additionalItems",
    "unevaluatedItems",
    "unevaluatedProperties",
];

/// Returns the subschema that a reference points to. The error describes the fault of the reference.
pub(super) fn resolve<'a>(root: &'a Map<String, Value>, reference: &str) -> Result<&'a Value, &'static str> {
    let path = reference
        .strip_prefix("#/")
        .ok_or("expected a JSON pointer from the root, such as '#/$defs/name'")?;
    if path.contains('%') {
        return Err("percent-encoding is not supported; write the name without '%'");
    }
    const NO_SCHEMA: &str = "there is no such subschema";
    let mut steps = path.split('/').map(|step| step.replace("~1", "/").replace("~0", "~")).peekable();
    let mut object = root;
    loop {
        let has_base = ["$id", "id"].iter().any(|key| object.get(*key).is_some_and(Value::is_string));
        if has_base && !std::ptr::eq(object, root) {
            return Err("it leads into a subschema with its own $id");
        }
        let keyword = steps.next().ok_or(NO_SCHEMA)?;
        let value = object.get(&keyword).ok_or(NO_SCHEMA)?;
        let is_in = |keywords: &[&str]| keywords.contains(&keyword.as_str());
        let subschema = match value {
            Value::Object(_) | Value::Bool(_) if is_in(&SCHEMAS) => Some(value),
            Value::Object(map) if is_in(&MAPS) => steps.next().and_then(|name| map.get(&name)),
            Value::Array(list) if is_in(&LISTS) => {
                let digits = steps.next().filter(|step| step == "0" || !step.starts_with(['0', '+']));
                digits.and_then(|digits| list.get(digits.parse::<usize>().ok()?))
            }
            _ => None,
        };
        let subschema = subschema.ok_or(NO_SCHEMA)?;
        if steps.peek().is_none() {
            return Ok(subschema);
        }
        object = subschema.as_object().ok_or(NO_SCHEMA)?;
    }
}
