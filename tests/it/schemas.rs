//! Schemas and values that are expensive to check: rejected when the gate loads, or stopped in time, without effect on
//! other calls.

use std::time::Instant;

use serde_json::{Map, Value, json};

use crate::support::{Client, Place, fault_of, text_of};

/// A place whose preset `p` has a gate with these schemas that replies with its arguments.
fn place(input: Option<&Value>, output: Option<&Value>, limits: &str) -> Place {
    let quoted = |key: &str, schema: Option<&Value>| {
        schema.map(|schema| format!(", {key} = '''{schema}'''")).unwrap_or_default()
    };
    let params = format!("{{ lie = \"mirror\"{}{} }}", quoted("input", input), quoted("output", output));
    Place::with(
        &format!(
            "[gates.liar]\nlimits = {{ {limits} }}\n[presets.p]\ngates.liar = {params}\ngates.echo = {{}}\n\
             [presets.honest]\ngates.echo = {{}}\n"
        ),
        &["liar", "echo"],
    )
}

/// Returns the errors for a gate with this input schema, and with this output schema.
fn refusals(schema: &Value) -> [String; 2] {
    [(Some(schema), None), (None, Some(schema))].map(|(input, output)| {
        let place = place(input, output, "");
        let ran = place.run(&["presets", "check"]);
        assert_eq!(ran.code(), 1, "{}{}", ran.stdout(), ran.stderr());
        let mut honest = Client::start(&place, "honest");
        assert_eq!(honest.text("echo", json!({"text": "hi"})), "hi");
        let text = ran.stdout() + &ran.stderr();
        text.lines().find(|line| line.contains("gate 'liar'")).unwrap_or_else(|| panic!("{text}")).to_owned()
    })
}

pub(crate) fn with_definitions(definitions: Value) -> Value {
    json!({"type": "object", "properties": {"x": {"$ref": "#/$defs/a0"}}, "$defs": definitions})
}

/// Returns one definition for each level; `next` wraps the reference to the level below.
pub(crate) fn chain(levels: usize, next: impl Fn(Value) -> Value) -> Map<String, Value> {
    let mut definitions: Map<String, Value> = (0..levels)
        .map(|level| (format!("a{level}"), next(json!({"$ref": format!("#/$defs/a{}", level + 1)}))))
        .collect();
    definitions.insert(format!("a{levels}"), json!({"type": "string"}));
    definitions
}

#[test]
fn a_schema_that_hides_its_weight_is_refused_with_the_reason() {
    // `%610` decodes to `a0`, so readers disagree: one finds an empty schema, the other an expensive one.
    let twins = |own: Map<String, Value>| {
        let mut encoded = with_definitions(Value::Object(own));
        encoded["$defs"]["%610"] = json!({});
        encoded["properties"]["x"]["$ref"] = json!("#/$defs/%610");
        encoded
    };
    let encoded = twins(chain(2, |next| json!({"allOf": [next, next]})));
    let encoded_and_heavy = twins(chain(40, |next| json!({"allOf": [next, next]})));

    // A dialect and a base URI that change the meaning of the reference.
    let rebased = json!({"$schema": "http://json-schema.org/draft-04/schema#", "id": "https://example.org/x",
        "$ref": "#/$defs/a0", "$defs": chain(40, |next| json!({"allOf": [next, next]}))});
    let mut inner = with_definitions(json!({"a0": {}}));
    inner["properties"]["x"] = rebased;
    let mut anchored = with_definitions(json!({"a0": {"$anchor": "far"}}));
    anchored["properties"]["x"]["$ref"] = json!("#far");

    let doubling = chain(40, |next| json!({"anyOf": [next, next]}));
    let levels = chain(73, |next| (0..60).fold(next, |inner, _| json!({"not": inner})));
    let mut unused = with_definitions(Value::Object(levels.clone()));
    unused["properties"] = json!({});
    for (schema, expected) in [
        (encoded, "invalid reference '#/$defs/%610': percent-encoding is not supported"),
        (encoded_and_heavy, "is too large"),
        (inner, "uses $schema in a subschema"),
        (anchored, "invalid reference '#far': expected a JSON pointer from the root"),
        (with_definitions(Value::Object(doubling)), "is too large"),
        (with_definitions(Value::Object(levels)), "is nested more than 64 levels deep"),
        (unused, "is nested more than 64 levels deep"),
        (json!({"type": "object", "properties": {"x": {"pattern": "\\p{L}{500}"}}}), "compiles to more than"),
    ] {
        for (message, which) in refusals(&schema).iter().zip(["input", "output"]) {
            let subject = format!("tool 'lied': its {which} schema ");
            assert!(message.contains(&subject) && message.contains(expected), "{expected}: {message}");
        }
    }
}

/// Calls a tool and sends pings and other calls until it answers. Returns the result.
pub(crate) fn call_beside_others(client: &mut Client, tool: &str, arguments: &Value) -> Value {
    let id = client.ask("tools/call", json!({"name": tool, "arguments": arguments}));
    let mut slowest = std::time::Duration::ZERO;
    for _ in 0..20 {
        let asked = Instant::now();
        client.request("ping", json!({}));
        assert_eq!(client.text("echo", json!({"text": "still here"})), "still here");
        slowest = slowest.max(asked.elapsed());
    }
    // Not asserted, because the machine may be shared.
    eprintln!("during a long check, the slowest ping and call took {slowest:?}");
    client.answer(id)["result"].clone()
}

/// Sends a value as an argument and as a reply, with a schema for its member `x`, while other calls run.
fn as_argument_and_reply(x: &Value, value: &Value, limits: &str) -> [Value; 2] {
    let schema = json!({"type": "object", "properties": {"x": x}});
    let value = json!({"x": value});
    let as_argument = place(Some(&schema), None, limits);
    let mut client = Client::start(&as_argument, "p");
    let argument = call_beside_others(&mut client, "lied", &value);
    assert_eq!(client.close(), Some(0));
    let as_reply = place(None, Some(&schema), limits);
    let mut client = Client::start(&as_reply, "p");
    let reply = call_beside_others(&mut client, "lied", &json!({"reply": value}));
    [argument, reply]
}

#[test]
fn a_pattern_whose_automaton_is_huge_is_stopped() {
    let pattern = json!({"pattern": "[ab]*a[ab]{1900}c"});
    let text = json!("ab".repeat(100_000));
    let [argument, reply] = as_argument_and_reply(&pattern, &text, "time = \"5 min\"");
    let message = text_of(&argument);
    assert!(
        message.contains("invalid arguments: they take more than 100 million steps to check"),
        "{message}"
    );
    let message = text_of(&reply);
    assert!(
        message.contains("the reply of 'lied' has data that take more than 100 million steps"),
        "{message}"
    );
    let matched = json!(format!("{}c", "a".repeat(1_901)));
    for result in as_argument_and_reply(&pattern, &matched, "") {
        assert_ne!(result["isError"], true, "{result}");
    }
}

#[test]
fn a_long_check_ends_at_the_deadline_of_its_call() {
    let pattern = json!({"pattern": "[ab]*a[ab]{1900}c"});
    let text = json!("ab".repeat(100_000));
    for result in as_argument_and_reply(&pattern, &text, "time = \"100 ms\"") {
        let error = fault_of(&result);
        assert_eq!(error["type"], "TIMEOUT", "{result}");
        assert_eq!(error["message"], "'lied' was stopped after 0.1 s");
    }
}

#[test]
fn hundreds_of_thousands_of_values_are_checked_beside_other_calls() {
    let numbers = json!({"items": {"anyOf": [{"type": "integer"}, {"type": "null"}]}});
    let mut values = vec![json!(0); 400_000];
    for result in as_argument_and_reply(&numbers, &json!(values), "") {
        assert_ne!(result["isError"], true, "{result}");
    }
    values.push(json!("wrong"));
    let [argument, reply] = as_argument_and_reply(&numbers, &json!(values), "");
    assert!(
        text_of(&argument).contains("'x.400000' must be an integer or null, got a string."),
        "{argument}"
    );
    assert!(text_of(&reply).contains("'x.400000' must be an integer or null, got a string"), "{reply}");
}

#[test]
fn arguments_in_a_long_string_are_read_and_checked_beside_other_calls() {
    let schema = json!({"type": "object", "properties": {"x": {"items": {"type": "integer"}}}});
    let place = place(Some(&schema), None, "");
    let mut client = Client::start(&place, "p");
    let text = json!({"x": vec![0; 400_000]}).to_string();
    assert_ne!(call_beside_others(&mut client, "lied", &json!(text))["isError"], true);
    let broken = call_beside_others(&mut client, "lied", &json!(&text[1..]));
    assert!(text_of(&broken).contains("invalid arguments: the arguments are a string that"), "{broken}");
}

/// Checks that outlive their calls would delay other calls and the host's exit.
#[cfg(unix)]
#[test]
fn many_long_checks_delay_only_their_gate_and_not_the_end() {
    use std::os::unix::process::ExitStatusExt;

    let schema = json!({"type": "object", "properties": {"x": {"pattern": "[ab]*a[ab]{1900}c"}}});
    let place = place(Some(&schema), None, "time = \"5 min\"");
    let mut client = Client::start(&place, "p");
    let text = json!({"x": "ab".repeat(1 << 20)});
    let calls: Vec<u64> =
        (0..16).map(|_| client.ask("tools/call", json!({"name": "lied", "arguments": text}))).collect();
    for _ in 0..20 {
        client.request("ping", json!({}));
        assert_eq!(client.text("echo", json!({"text": "hi"})), "hi");
    }
    let cancelled = json!({"requestId": calls[15]});
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancelled}));
    let first = client.answer(calls[0]);
    assert!(text_of(&first["result"]).contains("100 million steps"), "{first}");
    let killed = std::process::Command::new("kill").arg(client.pid().to_string()).status();
    assert!(killed.expect("kill").success());
    let status = client.ended();
    assert!(status.code().is_some() || status.signal() == Some(15), "it does not abort: {status}");
}
