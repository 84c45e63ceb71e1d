//! Parameters of a gate: reads the values that a preset sets, and fills in defaults.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use crate::{Fault, schema};

/// Type of a gate's parameters, implemented for every type with these traits. `Default` provides the defaults, and doc
/// comments describe the parameters to preset authors.
pub trait Params: Default + Serialize + DeserializeOwned + JsonSchema + 'static {}

impl<T: Default + Serialize + DeserializeOwned + JsonSchema + 'static> Params for T {}

/// Parameters of a gate without any.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NoParams {}

/// Returns the parameter schema with all defaults.
pub(crate) fn schema<P: Params>() -> Result<Value, Fault> {
    let mut schema = schema::for_arguments::<P>();
    if let Value::Object(map) = &mut schema {
        map.remove("required"); // Each parameter has a default.
    }
    for (name, default) in defaults::<P>()? {
        schema::set_default(&mut schema, &name, default);
    }
    Ok(schema)
}

/// Reads parameters and rejects unknown ones. `describe` uses it to validate a preset.
pub(crate) fn check<P: Params>(json: &str) -> Result<P, Fault> {
    let params = object(json)?;
    let defaults = defaults::<P>()?;
    let names: Vec<&str> = defaults.keys().map(String::as_str).collect();
    match params.keys().find(|key| !names.contains(&key.as_str())) {
        Some(key) => Err(unknown(key, &names)),
        None => read(json),
    }
}

fn unknown(key: &str, names: &[&str]) -> Fault {
    let hint = match nearest_name(key, names.iter().copied()) {
        Some(suggestion) => format!("Did you mean '{suggestion}'?"),
        None if names.is_empty() => "This gate has no parameters.".into(),
        None => format!("The parameters are {}.", list_names(names.iter().copied())),
    };
    Fault::invalid(format!("unknown parameter '{key}'")).hint(hint)
}

/// Reads parameters and fills in defaults. `call` uses it, because the host has already checked the parameters.
pub(crate) fn read<P: Params>(json: &str) -> Result<P, Fault> {
    let params = object(json)?;
    let defaults = defaults::<P>()?;
    let with = |extra: Map<String, Value>| {
        let mut values = defaults.clone();
        values.extend(extra);
        serde_json::from_value::<P>(Value::Object(values))
    };
    with(params.clone()).map_err(|error| {
        // serde does not name the field, so find the one that fails with only defaults around it.
        let invalid = params.into_iter().find(|entry| with(Map::from_iter([entry.clone()])).is_err());
        match invalid {
            Some((key, _)) => Fault::invalid(format!("parameter '{key}': {error}")),
            None => Fault::invalid(format!("parameters: {error}")),
        }
    })
}

fn object(json: &str) -> Result<Map<String, Value>, Fault> {
    match serde_json::from_str(if json.trim().is_empty() { "{}" } else { json }) {
        Ok(Value::Object(map)) => Ok(map),
        Ok(_) => Err(Fault::invalid("parameters must be a JSON object")),
        Err(e) => Err(Fault::invalid(format!("parameters are not JSON: {e}"))),
    }
}

fn defaults<P: Params>() -> Result<Map<String, Value>, Fault> {
    match serde_json::to_value(P::default()) {
        Ok(Value::Object(map)) => Ok(map),
        _ => Err(Fault::internal("the parameter type must be a struct with named fields")),
    }
}

/// Returns the candidate most similar to `name`, or `None` without a similar one.
fn nearest_name<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let scored = candidates.into_iter().map(|c| (strsim::jaro_winkler(name, c), c));
    scored.filter(|(score, _)| *score > 0.7).max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, c)| c)
}

/// Formats names as `'a', 'b', 'c'`.
pub(crate) fn list_names<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    names.into_iter().map(|n| format!("'{n}'")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Count, FaultKind};

    #[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    struct P {
        /// How many.
        top_k: Count,
        /// Whether to show it.
        show: bool,
    }

    impl Default for P {
        fn default() -> Self {
            Self { top_k: Count::new(5), show: true }
        }
    }

    #[test]
    fn missing_parameters_get_their_defaults() {
        assert_eq!(check::<P>("").unwrap(), P::default());
        assert_eq!(check::<P>("{\"show\":false}").unwrap(), P { show: false, ..P::default() });
        assert_eq!(check::<NoParams>("{}").unwrap(), NoParams {});
    }

    #[test]
    fn unknown_parameters_are_refused_by_name() {
        let fault = check::<P>("{\"topk\":3}").unwrap_err();
        assert_eq!(fault.kind, FaultKind::InvalidArguments);
        assert_eq!(fault.message, "unknown parameter 'topk'");
        assert_eq!(fault.hint.as_deref(), Some("Did you mean 'top_k'?"));
        let fault = check::<P>("{\"zebra\":3}").unwrap_err();
        assert_eq!(fault.hint.as_deref(), Some("The parameters are 'top_k', 'show'."));
        assert!(check::<NoParams>("{\"a\":1}").is_err());
    }

    #[test]
    fn a_wrong_type_names_the_parameter() {
        let fault = check::<P>("{\"top_k\":3,\"show\":\"yes\"}").unwrap_err();
        assert_eq!(fault.message, "parameter 'show': invalid type: string \"yes\", expected a boolean");
        assert!(check::<P>("{\"top_k\":0}").unwrap_err().message.contains("'top_k'"));
        assert!(check::<P>("[]").is_err());
        assert!(check::<P>("{").is_err());
    }

    #[test]
    fn schema_has_a_default_and_a_description_each() {
        let expected = serde_json::json!({
            "type": "object",
            "properties": {
                "top_k": {"type": "integer", "minimum": 1, "description": "How many.", "default": 5},
                "show": {"type": "boolean", "description": "Whether to show it.", "default": true}
            },
            "additionalProperties": false
        });
        assert_eq!(schema::<P>().unwrap(), expected);
    }

    #[test]
    fn only_a_similar_name_is_suggested() {
        assert_eq!(nearest_name("topk", ["include_content", "top_k"]), Some("top_k"));
        assert_eq!(nearest_name("zebra", ["include_content", "top_k"]), None);
        assert_eq!(nearest_name("x", []), None);
    }
}
