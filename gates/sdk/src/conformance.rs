//! Checks for the tests of every gate (feature `testing`). They panic on failure, like assertions.

use serde_json::Value;

use crate::{
    Fault, Gate, Params, Reply,
    bindings::gatehouse::gate::types::{Manifest, Tool},
};

/// Describes the gate twice and asserts that the manifests are equal, schemas are valid, tools have descriptions, and
/// parameters have a type, a default and a description.
#[track_caller]
pub fn describe<P: Params>(gate: &Gate<P>, params: &str) -> Manifest {
    let manifest = gate.describe(params).unwrap_or_else(|fault| panic!("describe: {fault:?}"));
    assert_eq!(gate.describe(params).ok().as_ref(), Some(&manifest), "describe is not deterministic");
    for tool in &manifest.tools {
        let name = &tool.name;
        assert!(!tool.description.is_empty(), "{name} has no description");
        let input = json(&tool.input_schema);
        assert_eq!(input["type"], "object", "{name}: arguments must be an object");
        assert_eq!(input["additionalProperties"], false, "{name}: unknown arguments must be refused");
        for schema in [Some(&tool.input_schema), tool.output_schema.as_ref()].into_iter().flatten() {
            let valid = jsonschema::draft202012::meta::is_valid(&json(schema));
            assert!(valid, "{name}: not a JSON Schema: {schema}");
        }
    }
    let params = json(&manifest.params_schema);
    for (name, schema) in params["properties"].as_object().into_iter().flatten() {
        for key in ["type", "default", "description"] {
            assert!(schema.get(key).is_some(), "parameter '{name}' has no {key}");
        }
    }
    manifest
}

/// Asserts that the reply's data matches the tool's output schema, and returns the data.
#[track_caller]
pub fn structured<P: Params>(gate: &Gate<P>, tool: &str, reply: &Reply) -> Value {
    let schema = declared(gate, tool).output_schema.unwrap_or_else(|| panic!("'{tool}' declares no output"));
    let data = json(reply.structured.as_deref().unwrap_or_else(|| panic!("'{tool}' sent no data")));
    if let Err(error) = jsonschema::draft202012::validate(&json(&schema), &data) {
        panic!("'{tool}': {error} at {}", error.instance_path());
    }
    data
}

/// Returns whether the host would accept these arguments for the tool.
#[track_caller]
pub fn accepts<P: Params>(gate: &Gate<P>, tool: &str, arguments: &str) -> bool {
    jsonschema::draft202012::is_valid(&json(&declared(gate, tool).input_schema), &json(arguments))
}

/// Calls a tool after asserting that its schema accepts the arguments.
#[track_caller]
pub fn call<P: Params>(gate: &Gate<P>, tool: &str, arguments: &Value, params: &str) -> Result<Reply, Fault> {
    let arguments = arguments.to_string();
    assert!(accepts(gate, tool, &arguments), "the schema of '{tool}' refuses {arguments}");
    crate::testing::call(gate, tool, &arguments, params)
}

#[track_caller]
fn declared<P: Params>(gate: &Gate<P>, name: &str) -> Tool {
    let manifest = gate.describe("{}").unwrap_or_else(|fault| panic!("describe: {fault:?}"));
    let tool = manifest.tools.into_iter().find(|tool| tool.name == name);
    tool.unwrap_or_else(|| panic!("no tool '{name}'"))
}

#[track_caller]
fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|e| panic!("not JSON: {e}: {text}"))
}
