//! Tests of the gate's manifest and its cost.

use gatehouse_sdk::{Effect, conformance, testing};
use serde_json::{Value, json};

use super::TOOLS;
use crate::gate;

fn names(params: &str) -> Vec<String> {
    conformance::describe(&gate(), params).tools.into_iter().map(|tool| tool.name).collect()
}

#[test]
fn admin_tools_require_the_parameter() {
    assert_eq!(names("{}"), &TOOLS[..9]);
    assert_eq!(names(r#"{"admin":true}"#), TOOLS);
    for tool in &TOOLS[9..] {
        let fault = testing::call(&gate(), tool, "{}", "{}").unwrap_err();
        assert_eq!(fault.message, format!("gate 'proxy' has no tool '{tool}'"));
    }
}

#[test]
fn a_call_can_have_any_effect() {
    for tool in conformance::describe(&gate(), r#"{"admin":true}"#).tools {
        let expected = match tool.name.as_str() {
            "call_tool" | "add_mcp_server" => Effect::ExternalExec,
            "refresh_mcp_server" | "reset_tool_metrics" | "remove_mcp_server" => Effect::Mutating,
            _ => Effect::ReadOnly,
        };
        assert_eq!(tool.effect, expected, "{}", tool.name);
    }
}

#[test]
fn search_and_call_are_loaded_immediately() {
    let with_meta = |params: &str| {
        let tools = conformance::describe(&gate(), params).tools.into_iter();
        tools.filter_map(|tool| Some((tool.name, tool.meta?))).collect::<Vec<_>>()
    };
    let asked = r#"{"anthropic/alwaysLoad":true}"#.to_owned();
    // The host removes its own key. Keys are sorted.
    let forwards = |more: &str| format!(r#"{{{more}"gatehouse/forwards":true}}"#);
    let both = forwards(r#""anthropic/alwaysLoad":true,"#);
    assert_eq!(with_meta("{}"), [("search_tools".to_owned(), asked), ("call_tool".to_owned(), both)]);
    let alone = [("call_tool".to_owned(), forwards(""))];
    assert_eq!(with_meta(r#"{"always_load":false}"#), alone);
}

#[test]
fn tool_definitions_are_short() {
    let tools = conformance::describe(&gate(), "{}").tools;
    let shown = |text: &str| -> Value { serde_json::from_str(text).unwrap() };
    let whole: Vec<Value> = tools
        .iter()
        .map(|tool| {
            json!({"name": tool.name, "description": tool.description, "inputSchema": shown(&tool.input_schema)})
        })
        .collect();
    // About four bytes per token.
    let bytes = Value::from(whole).to_string().len();
    assert!(bytes < 2_900, "{bytes} bytes");
}
