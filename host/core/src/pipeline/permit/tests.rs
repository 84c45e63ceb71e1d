//! Tests of limits on arguments.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::*;
use crate::{
    CallContext, Catalog, CompiledPreset, Pipeline, Preset,
    access::{AccessRule, AccessRules, AllowedValues, ArgumentLimit, NumberRange},
    call::{Caller, Principal},
    outcome::{ContentPart, FaultKind},
    overrides::ToolOverride,
    pipeline::{AdmitStage, ValidateStage},
    testing::{Fixture, forwarding_tool, tool},
    tool::{SourceId, ToolSpec},
};

fn limit(tools: &str, pointer: &str, allowed: AllowedValues) -> ArgumentLimit {
    ArgumentLimit { tools: tools.into(), pointer: pointer.into(), allowed }
}

fn rule(tools: &str, when: Vec<ArgumentLimit>) -> AccessRule {
    AccessRule {
        place: "presets.toml:1".into(),
        who: vec!["*".into()],
        tools: vec![tools.into()],
        when,
        ..AccessRule::default()
    }
}

fn owners(tools: &str) -> Vec<ArgumentLimit> {
    vec![limit(tools, "/owner", AllowedValues::OneOf(vec![json!("acme")]))]
}

fn listed_tool() -> ToolSpec {
    let schema = json!({"type": "object", "properties": {
        "owner": {"type": "string"}, "limit": {"type": "integer", "default": 50}}});
    ToolSpec { input_schema: Arc::new(schema.as_object().cloned().expect("an object")), ..tool("list", None) }
}

/// Calls a tool through the stages that precede a source, with these rules.
async fn call(rules: Vec<AccessRule>, fixed: Value, name: &str, arguments: Value) -> Outcome {
    let (gate, server) = (SourceId::Gate("proxy".into()), SourceId::Server("github".into()));
    let change =
        ToolOverride { fixed: fixed.as_object().cloned().unwrap_or_default(), ..ToolOverride::default() };
    let preset = Preset {
        sources: vec![(gate.clone(), Map::new()), (server.clone(), Map::new())],
        tools: [("github__list".to_owned(), change)].into(),
        ..Preset::default()
    };
    let preset = CompiledPreset::compile(&[("p".to_owned(), preset)].into(), "p").expect("compiles");
    let gate = Fixture::new(gate, vec![forwarding_tool("call_tool")]);
    let server = Fixture::new(server, vec![listed_tool()]);
    let catalog =
        Catalog::build(&preset, vec![gate.listed().await, server.listed().await]).expect("a catalog");
    let rules = AccessRules::compile(rules).expect("valid rules");
    let caller = Arc::new(Caller::new(Principal::Named("key:a".into()), "key a"));
    let catalog = Arc::new(catalog.restricted(&rules.access_of(&caller)));
    let stages: Vec<Arc<dyn Stage>> =
        vec![Arc::new(AdmitStage), Arc::new(ValidateStage), Arc::new(PermitStage)];
    let mut context = CallContext::new(&Arc::new(Pipeline::new(stages)), catalog, name);
    context.caller = caller;
    Call::new(context, arguments).run().await
}

fn received(outcome: Outcome) -> String {
    match outcome.expect("a reply").content.pop() {
        Some(ContentPart::Text(text)) => text,
        other => panic!("{other:?}"),
    }
}

fn is_denied(outcome: Outcome) -> bool {
    let Err(fault) = outcome else { return false };
    assert_eq!(fault.kind, FaultKind::Denied);
    assert_eq!(fault.message, "access to 'github__list' with these arguments is not allowed");
    assert_eq!(fault.hint, None, "only operators learn the rule");
    true
}

#[tokio::test]
async fn other_arguments_are_denied_and_missing_ones_too() {
    let rules = || vec![rule("*", owners("github__*"))];
    let outcome = call(rules(), json!({}), "github__list", json!({"owner": "acme"})).await;
    assert_eq!(received(outcome), r#"list {"owner":"acme"}"#);
    for wrong in
        [json!({"owner": "other"}), json!({}), json!({"owner": "acme/../other"}), json!({"Owner": "acme"})]
    {
        assert!(is_denied(call(rules(), json!({}), "github__list", wrong.clone()).await), "{wrong}");
    }
    let text = json!(r#"{"owner":"other"}"#);
    assert!(is_denied(call(rules(), json!({}), "github__list", text).await), "arguments as a JSON string");
    let twice = json!(r#"{"owner":"acme","owner":"other"}"#);
    let outcome = call(rules(), json!({}), "github__list", twice).await;
    assert!(outcome.is_err(), "the tool would get the last of two");
}

#[tokio::test]
async fn a_rule_without_limits_for_the_tool_allows_any_arguments() {
    let rules = vec![rule("*", owners("github__*")), rule("github__list", Vec::new())];
    let outcome = call(rules, json!({}), "github__list", json!({"owner": "other"})).await;
    assert_eq!(received(outcome), r#"list {"owner":"other"}"#);
    let elsewhere = vec![rule("*", owners("gitlab__*"))];
    assert!(call(elsewhere, json!({}), "github__list", json!({"owner": "other"})).await.is_ok());
}

#[tokio::test]
async fn the_arguments_that_the_preset_sets_are_checked_and_not_those_of_the_client() {
    let rules = || vec![rule("*", owners("*list"))];
    let outcome = call(rules(), json!({"owner": "acme"}), "github__list", json!({"owner": "other"})).await;
    assert_eq!(received(outcome), r#"list {"owner":"acme"}"#);
    let outcome = call(rules(), json!({"owner": "other"}), "github__list", json!({"owner": "acme"})).await;
    assert!(is_denied(outcome));
}

#[tokio::test]
async fn a_default_is_checked_and_sent() {
    let most = |max: u64| {
        let range = NumberRange { min: None, max: Some(max.into()) };
        vec![rule("*", vec![limit("github__*", "/limit", AllowedValues::Range(range))])]
    };
    let outcome = call(most(100), json!({}), "github__list", json!({"owner": "acme"})).await;
    assert_eq!(received(outcome), r#"list {"owner":"acme","limit":50}"#);
    assert!(is_denied(call(most(49), json!({}), "github__list", json!({"owner": "acme"})).await));
    assert!(is_denied(call(most(100), json!({}), "github__list", json!({"limit": 101})).await));
}

#[tokio::test]
async fn calls_that_tools_make_are_checked_too() {
    let rules = || vec![rule("*", owners("github__*"))];
    let nested = |owner: &str| json!({"nested": "github__list", "with": {"owner": owner}});
    assert!(call(rules(), json!({}), "call_tool", nested("acme")).await.is_ok());
    assert!(is_denied(call(rules(), json!({}), "call_tool", nested("other")).await));
}

#[tokio::test]
async fn a_hidden_tool_is_unknown_also_to_tools_that_call_it() {
    let rules = || vec![rule("call_tool", Vec::new())];
    let nested = json!({"nested": "github__list", "with": {}});
    let fault = call(rules(), json!({}), "call_tool", nested).await.expect_err("hidden");
    assert_eq!(
        (fault.kind, fault.message.as_str()),
        (FaultKind::UnknownTool, "Unknown tool: 'github__list'.")
    );
    let fault = call(rules(), json!({}), "github__list", json!({})).await.expect_err("hidden");
    assert_eq!(fault.kind, FaultKind::UnknownTool);
}
