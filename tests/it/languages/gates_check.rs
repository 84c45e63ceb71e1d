//! `gates check` finds mistakes and names the place.

use serde_json::Value;

use crate::support::{
    Place,
    place::{SHIPPED, built},
};

fn checked(place: &Place, file: &str, code: i32) -> Value {
    let ran = place.run(&["gates", "check", file, "--json"]);
    assert_eq!(ran.code(), code, "{}\n{}", ran.stdout(), ran.stderr());
    serde_json::from_str(&ran.stdout()).expect("JSON")
}

fn line<'a>(report: &'a Value, check: &str) -> &'a Value {
    let mut lines = report["checks"].as_array().expect("checks").iter();
    lines
        .find(|line| line["check"].as_str().is_some_and(|text| text.contains(check)))
        .unwrap_or_else(|| panic!("{check}: {report:#}"))
}

#[test]
fn the_shipped_gates_pass_without_any_configuration() {
    let place = Place::with("this is not a configuration", &SHIPPED);
    for gate in SHIPPED {
        let report = checked(&place, &format!("gates/{gate}.wasm"), 0);
        assert_eq!(report["passed"], true, "{report:#}");
    }
    let text = place.run(&["gates", "check", "gates/idea.wasm"]).stdout();
    assert!(text.lines().all(|line| line.starts_with("ok ")), "{text}");
}

#[test]
fn a_gate_that_dies_of_what_its_schema_allows_fails_with_the_call() {
    let place = Place::with("", &["echo"]);
    let report = checked(&place, "gates/echo.wasm", 1);
    let big = line(&report, "tool 'big'");
    assert_eq!(big["verdict"], "failed", "{report:#}");
    assert!(big["said"].as_str().is_some_and(|message| message.starts_with("with 'bytes' as ")), "{big}");
    assert_eq!(line(&report, "tool 'echo'")["verdict"], "ok", "{report:#}");
    assert_eq!(line(&report, "not found")["verdict"], "failed", "its fault has another kind: {report:#}");
    let ran = place.run(&["gates", "check", "gates/echo.wasm"]);
    assert!(ran.stdout().contains("FAILED   tool 'big'"), "{}", ran.stdout());
    assert!(ran.stderr().contains("gates/echo.wasm: 2 of 10 checks failed"), "{}", ran.stderr());
}

fn with_schema(schema: &str) -> Vec<u8> {
    let mut component = built("liar");
    let plain = br#"{"type":"object"}     "#;
    let at = component.windows(plain.len()).position(|window| window == plain).expect("room for a schema");
    component[at..at + schema.len()].copy_from_slice(schema.as_bytes());
    component
}

#[test]
fn what_model_providers_refuse_is_a_warning_with_tool_place_and_provider() {
    let place = Place::with("", &[]);
    let schema = r##"{"type":"object","properties":{"a":{"type":["string","null"]},"b":true,"c":{"$ref":"#/$defs/d"}},"$defs":{"d":{"type":"string"}},"oneOf":[{"required":["a"]},{"required":["b"]}]}"##;
    place.write("picky.wasm", with_schema(schema));
    let report = checked(&place, "picky.wasm", 0);
    let warned = line(&report, "tool 'lied' is accepted by every model provider");
    assert_eq!(warned["verdict"], "warning", "{report:#}");
    let message = warned["said"].as_str().expect("text");
    for part in [
        "'oneOf' at the top is refused by Anthropic, OpenAI and Gemini",
        "/properties/a: a list of types is refused by Gemini",
        "/properties/b: a bare true is refused by OpenAI and Gemini",
        "/properties/c: '$ref' is refused by Gemini",
    ] {
        assert!(message.contains(part), "'{part}' is not in: {message}");
    }
    let text = place.run(&["gates", "check", "picky.wasm"]).stdout();
    assert!(text.contains("warning  tool 'lied'"), "{text}");
    place.write("plain.wasm", with_schema(r#"{"type":"object"}"#));
    assert!(!place.run(&["gates", "check", "plain.wasm"]).stdout().contains("warning"));
}

#[test]
fn what_is_no_gate_fails_the_first_check() {
    let place = Place::with("", &[]);
    place.write("x.wasm", "garbage");
    let report = checked(&place, "x.wasm", 1);
    assert!(
        report["checks"][0]["said"].as_str().is_some_and(|reason| reason.contains("is not WebAssembly")),
        "{report}"
    );
    assert_eq!(report["checks"].as_array().map(Vec::len), Some(1));
}
