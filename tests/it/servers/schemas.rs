//! Expensive schemas and data from servers: a schema is checked as far as it can be, and a check ends in time.

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
fn a_schema_that_hides_its_weight_is_passed_on_and_checked_in_part() {
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
    assert_eq!(listed.iter().filter(|tool| tool.starts_with("s__")).count(), 20, "{listed:?}");
    for number in 0..heavy.len() {
        assert_eq!(
            client.call(&format!("s__takes{number}"), json!({"x": "y", "reply": {}}))["isError"],
            false,
            "{number}"
        );
        let gives = client.call(&format!("s__gives{number}"), json!({"reply": {"x": "y"}}));
        assert_eq!(gives["isError"], false, "{number}");
    }
    drop(client);
    let refreshed = place.run(&["servers", "refresh"]).stdout();
    for part in [
        "checks the arguments of 8 tools only in part",
        "'takes0': its input schema is too large",
        "'gives1': its",
    ] {
        assert!(refreshed.contains(part), "{part}: {refreshed}");
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
