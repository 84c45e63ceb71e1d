//! Resolves `$ref` JSON pointers to subschemas.

use serde_json::{Map, Value};

pub(super) enum SubschemaShape {
    Schema,
    List,
    Map,
    /// A schema or, in earlier drafts, a list of schemas.
    Either,
    /// Data, or an unknown keyword.
    Other,
}

pub(super) fn subschema_shape(keyword: &str) -> SubschemaShape {
    match keyword {
        "not"
        | "if"
        | "then"
        | "else"
        | "contains"
        | "propertyNames"
        | "additionalProperties"
        | "additionalItems"
        | "unevaluatedItems"
        | "unevaluatedProperties" => SubschemaShape::Schema,
        "allOf" | "anyOf" | "oneOf" | "prefixItems" => SubschemaShape::List,
        "properties" | "patternProperties" | "dependentSchemas" | "dependencies" | "$defs"
        | "definitions" => SubschemaShape::Map,
        "items" => SubschemaShape::Either,
        _ => SubschemaShape::Other,
    }
}

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
        let keyword = steps.next().ok_or(NO_SCHEMA)?;
        let found = object.get(&keyword).ok_or(NO_SCHEMA)?;
        let found = match (subschema_shape(&keyword), found) {
            (SubschemaShape::Schema | SubschemaShape::Either, Value::Object(_) | Value::Bool(_)) => {
                Some(found)
            }
            (SubschemaShape::Map, Value::Object(map)) => steps.next().and_then(|name| map.get(&name)),
            (SubschemaShape::List | SubschemaShape::Either, Value::Array(list)) => {
                let digits = steps.next().filter(|step| step == "0" || !step.starts_with(['0', '+']));
                digits.and_then(|digits| list.get(digits.parse::<usize>().ok()?))
            }
            _ => None,
        };
        let found = found.ok_or(NO_SCHEMA)?;
        if steps.peek().is_none() {
            return Ok(found);
        }
        object = found.as_object().ok_or(NO_SCHEMA)?;
    }
}
