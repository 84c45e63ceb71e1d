//! Expensive schemas and data from servers: as with gates, except that only the bad tool is left out.

use serde_json::{Value, json};

use super::child;
use crate::{
    schemas::{call_beside_others, chain, with_definitions},
    support::{Client, Place, fault_of, text_of},
};

fn listing(tools: &[Value], more: &str) -> Place {
    let place = Place::with("", &["echo"]);
    let file = place.write("tools.json", serde_json::to_vec(tools).expect("JSON"));
    let block = child("s", &[&format!("tools={}", file.display())], more);
    place.write("presets.toml", block + "[gates.echo]\n[presets.all]\nservers = [\"s\"]\ngates.echo = {}\n");
    place
}

#[test]
fn a_tool_with_a_schema_that_hides_its_weight_is_left_out_alone() {
    let doubling = with_definitions(Value::Object(chain(40, |next| json!({"anyOf": [next, next]}))));
    let levels = chain(73, |next| (0..60).fold(next, |inner, _| json!({"not": inner})));
    let mut encoded = doubling.clone();
    encoded["$defs"]["%610"] = json!({});
    encoded["properties"]["x"]["$ref"] = json!("#/$defs/%610");
    let unicode = json!({"type": "object", "properties": {"x": {"pattern": "\\p{L}{500}"}}});
    let heavy = [doubling, with_definitions(Value::Object(levels)), encoded, unicode];
    let plain = json!({"type": "object"});
    let tools: Vec<_> = heavy
        .iter()
        .enumerate()
        .flat_map(|(number, schema)| {
            let tool = |which: &str, input: &Value, output: &Value| {
                json!({"name": format!("{which}{number}"), "inputSchema": input, "outputSchema": output})
            };
            [tool("takes", schema, &plain), tool("gives", &plain, schema)]
        })
        .collect();
    let place = listing(&tools, "");
    let mut client = Client::start(&place, "all");
    let listed = client.tools();
    // Tools with such an output schema work without it.
    assert_eq!(listed.iter().filter(|tool| tool.starts_with("s__")).count(), 16, "{listed:?}");
    assert!(listed.iter().all(|tool| !tool.starts_with("s__takes")), "{listed:?}");
    assert_eq!(client.call("s__gives0", json!({"reply": {"x": 1}}))["isError"], false);
    assert_eq!(client.text("s__echo", json!({"text": "the rest serves"})), "the rest serves");
    for number in 0..heavy.len() {
        client.log_with(&format!("'takes{number}'"));
        client.log_with(&format!("'gives{number}'"));
    }
}

#[test]
fn a_pattern_of_a_server_whose_automaton_is_huge_is_stopped() {
    let schema = json!({"type": "object", "properties": {"x": {"pattern": "[ab]*a[ab]{1900}c"}}});
    let plain = json!({"type": "object"});
    let tools = [
        json!({"name": "takes", "inputSchema": schema, "outputSchema": plain}),
        json!({"name": "gives", "inputSchema": plain, "outputSchema": schema}),
    ];
    let data = json!({"x": "ab".repeat(100_000)});
    let place = listing(&tools, "");
    let mut client = Client::start(&place, "all");
    let takes = call_beside_others(&mut client, "s__takes", &data);
    assert!(text_of(&takes).contains("they take more than 100 million steps to check"), "{takes}");
    let gives = call_beside_others(&mut client, "s__gives", &json!({"reply": data}));
    assert!(text_of(&gives).contains("has data that take more than 100 million steps"), "{gives}");

    let place = listing(&tools, "timeout = \"100 ms\"");
    let mut client = Client::start(&place, "all");
    for (tool, arguments) in [("s__takes", data.clone()), ("s__gives", json!({"reply": data}))] {
        let result = call_beside_others(&mut client, tool, &arguments);
        assert_eq!(fault_of(&result)["type"], "TIMEOUT", "{result}");
    }
}
