//! Tests of the questions, of how long approvals last and what they apply to, and that nested calls cannot avoid them.

mod chains;
mod queue;

use std::{sync::Arc, time::Duration};

use serde_json::{Map, Value, json};

use super::*;
use crate::{
    Caller, Catalog, CompiledPreset, Effect, Pipeline, Preset, SourceId,
    approval::ApprovalRule,
    call::Call,
    outcome::{ContentPart, FaultKind},
    pipeline::{AdmitStage, DeadlineStage},
    testing::{FakeClient, Fixture, with_effect},
    tool::ToolSpec,
};

fn client(answer: Value) -> Arc<FakeClient> {
    Arc::new(FakeClient::new(move |_| Ok(answer.clone())))
}

fn approving_client() -> Arc<FakeClient> {
    client(json!({"action": "accept", "content": {"allow": true}}))
}

struct Host {
    pipeline: Arc<Pipeline>,
    catalog: Arc<Catalog>,
    queue: Arc<ApprovalQueue>,
}

impl Host {
    async fn new(tools: Vec<ToolSpec>, rules: Vec<ApprovalRule>) -> Self {
        let id = SourceId::Gate("desk".into());
        let preset = Preset {
            sources: vec![(id.clone(), Map::new())],
            aliases: [("wipe".to_owned(), "erase".to_owned())].into(),
            approve: rules,
            ..Preset::default()
        };
        let preset = CompiledPreset::compile(&[("p".to_owned(), preset)].into(), "p").expect("compiles");
        let source = Fixture::new(id, tools);
        let catalog = Catalog::build(&preset, vec![source.listed().await]).expect("a catalog");
        let queue = Arc::<ApprovalQueue>::default();
        let approve = Arc::new(ApproveStage::new(Arc::clone(&queue)));
        let stages: Vec<Arc<dyn Stage>> = vec![Arc::new(AdmitStage), Arc::new(DeadlineStage), approve];
        Self { pipeline: Arc::new(Pipeline::new(stages)), catalog: Arc::new(catalog), queue }
    }

    /// A host with `look` (read-only), `keep` (mutating), `erase` and `run` (external-exec), and one rule.
    async fn desk(rule: ApprovalRule) -> Self {
        let tools = vec![
            with_effect("look", Effect::ReadOnly),
            with_effect("keep", Effect::Mutating),
            with_effect("erase", Effect::ExternalExec),
            with_effect("run", Effect::ExternalExec),
        ];
        Self::new(tools, vec![rule]).await
    }

    fn context(&self, user: &Arc<FakeClient>, tool: &str) -> CallContext {
        let mut context = CallContext::new(&self.pipeline, Arc::clone(&self.catalog), tool);
        context.client = Arc::clone(user) as _;
        context
    }

    async fn call(&self, user: &Arc<FakeClient>, tool: &str, arguments: Value) -> Outcome {
        Call::new(self.context(user, tool), arguments).run().await
    }
}

fn of_tools(tools: &[&str], remember: ApprovalScope) -> ApprovalRule {
    ApprovalRule {
        tools: tools.iter().map(|tool| (*tool).to_owned()).collect(),
        remember,
        ..ApprovalRule::default()
    }
}

fn of_effect(effect: Effect) -> ApprovalRule {
    ApprovalRule { effect: Some(effect), ..ApprovalRule::default() }
}

#[tokio::test]
async fn user_sees_the_call_and_decides() {
    let host = Host::desk(of_tools(&["era*"], ApprovalScope::Call)).await;
    let user = approving_client();
    assert!(host.call(&user, "look", json!({})).await.is_ok());
    assert_eq!(user.asked().len(), 0, "no rule is about it");
    let reply = host.call(&user, "erase", json!({"path": "/a\nb"})).await.expect("a reply");
    assert_eq!(reply.content, [ContentPart::Text("erase {\"path\":\"/a\\nb\"}".into())]);
    let expected = "May 'erase' run (erase of gate 'desk', external-exec)? Approval applies for this call.\nArguments: {\"path\":\"/a\\nb\"}";
    assert_eq!(user.asked()[0], expected);
    let refusals = [json!({"action": "decline"}), json!({"action": "accept", "content": {"allow": false}})];
    for answer in refusals {
        let user = client(answer);
        let fault = host.call(&user, "erase", json!({})).await.expect_err("declined");
        assert_eq!((fault.kind, user.asked().len()), (FaultKind::Denied, 1));
        assert_eq!(fault.message, "the user was asked whether 'erase' may run, and declined");
        assert!(!fault.retryable);
    }
    let away = client(json!({"action": "cancel"}));
    let fault = host.call(&away, "erase", json!({})).await.expect_err("no answer");
    assert!(fault.message.ends_with("did not answer"), "{fault}");
}

#[tokio::test]
async fn calls_are_denied_with_a_hint_if_the_client_cannot_be_asked() {
    let host = Host::desk(of_effect(Effect::Mutating)).await;
    let mut blind = approving_client();
    Arc::get_mut(&mut blind).expect("the only one").profile.features.forms = false;
    for (tool, runs) in [("look", true), ("keep", false), ("erase", false), ("wipe", false)] {
        assert_eq!(host.call(&blind, tool, json!({})).await.is_ok(), runs, "{tool}");
    }
    let fault = host.call(&blind, "keep", json!({})).await.expect_err("refused");
    assert_eq!(fault.message, "'keep' requires user approval, but the client does not support forms");
    assert!(fault.hint.as_deref().is_some_and(|hint| hint.contains("[presets.p.approve]")), "{fault}");
    let context = CallContext::new(&host.pipeline, Arc::clone(&host.catalog), "keep");
    let fault = Call::new(context, json!({})).run().await.expect_err("refused");
    assert!(fault.message.ends_with("the caller is not an MCP client"), "{fault}");
}

#[tokio::test(start_paused = true)]
async fn an_approval_holds_for_as_long_as_the_rule_says_and_for_its_arguments() {
    let per_call = Host::desk(of_tools(&["look", "erase"], ApprovalScope::Call)).await;
    let session = Host::desk(of_tools(&["look", "erase"], ApprovalScope::Session)).await;
    let hour = Duration::from_secs(3_600);
    let timed = Host::desk(of_tools(&["look", "erase"], ApprovalScope::For(hour))).await;
    let user = approving_client();
    let asked = async |host: &Host, user: &Arc<FakeClient>, tool: &str, arguments: Value| {
        let before = user.asked().len();
        host.call(user, tool, arguments).await.expect("allowed");
        user.asked().len() > before
    };
    for _ in 0..2 {
        assert!(asked(&per_call, &user, "look", json!({})).await, "each call is one of its own");
    }
    assert!(asked(&session, &user, "look", json!({"a": 1})).await);
    assert!(!asked(&session, &user, "look", json!({"a": 2})).await, "it only reads");
    assert!(asked(&session, &user, "erase", json!({"a": 1})).await);
    assert!(!asked(&session, &user, "erase", json!({"a": 1})).await);
    assert!(!asked(&session, &user, "wipe", json!({"a": 1})).await, "the same tool by another name");
    assert!(asked(&session, &user, "erase", json!({"a": 2})).await, "what may destroy is asked about anew");
    let other = approving_client();
    assert!(asked(&session, &other, "look", json!({})).await, "another session");
    assert!(asked(&timed, &user, "erase", json!({})).await);
    assert!(!asked(&timed, &other, "erase", json!({})).await, "the same principal");
    let mut stranger = timed.context(&other, "erase");
    stranger.caller = Caller::named("eve");
    let before = other.asked().len();
    Call::new(stranger, json!({})).run().await.expect("allowed");
    assert_eq!(other.asked().len(), before + 1, "another principal");
    tokio::time::advance(hour).await;
    assert!(asked(&timed, &user, "erase", json!({})).await, "its time is up");
}

#[tokio::test]
async fn nested_calls_ask_once_and_a_refusal_is_final() {
    let host = Host::desk(of_tools(&["erase"], ApprovalScope::Call)).await;
    let user = approving_client();
    let outer = host.context(&user, "run");
    let deadline = outer.deadline();
    for _ in 0..3 {
        outer.call_nested(&deadline, "erase", json!({"a": 1})).await.expect("allowed");
        outer.call_nested(&deadline, "wipe", json!({"a": 1})).await.expect("allowed");
    }
    assert_eq!(user.asked().len(), 1);
    assert!(user.asked()[0].contains("external-exec, called by 'run')"));
    outer.call_nested(&deadline, "erase", json!({"a": 2})).await.expect("allowed");
    assert_eq!(user.asked().len(), 2);
    let no = client(json!({"action": "decline"}));
    let outer = host.context(&no, "run");
    for number in 0..5 {
        outer.call_nested(&deadline, "erase", json!({"a": number})).await.expect_err("declined");
    }
    assert_eq!(no.asked().len(), 1, "nobody is nagged");
    let many = host.context(&user, "run");
    let all = (0..8).map(|_| many.call_nested(&deadline, "erase", json!({"a": 9})));
    let all = futures_util::future::join_all(all).await;
    assert!(all.iter().all(Result::is_ok));
    assert_eq!(user.asked().len(), 3, "those at the same time wait for one answer");
}

#[tokio::test]
async fn long_arguments_are_shown_from_both_ends_with_a_digest() {
    let host = Host::desk(of_tools(&["erase"], ApprovalScope::Call)).await;
    let user = approving_client();
    host.call(&user, "erase", json!({"a": "x".repeat(100_000), "b": "the end\u{202e}"}))
        .await
        .expect("allowed");
    let message = user.asked()[0].clone();
    assert!(message.chars().count() < 3_000, "{}", message.len());
    assert!(message.contains("97628 characters are not shown; SHA-256 of all "), "{message}");
    assert!(message.ends_with("\"b\":\"the end\\u202e\"}"), "{message}");
}

#[tokio::test]
async fn forwarding_tools_are_exempt_from_effect_rules_only() {
    let id = |name: &str| SourceId::Gate(name.into());
    for (gate, rule, asked) in [
        ("proxy", of_effect(Effect::ExternalExec), 0),
        ("mine", of_effect(Effect::ExternalExec), 1),
        ("proxy", of_tools(&["call_tool"], ApprovalScope::Call), 1),
        ("proxy", ApprovalRule { except: Some(Vec::new()), ..of_effect(Effect::ExternalExec) }, 1),
    ] {
        let preset =
            Preset { sources: vec![(id(gate), Map::new())], approve: vec![rule], ..Preset::default() };
        let preset = CompiledPreset::compile(&[("p".to_owned(), preset)].into(), "p").expect("compiles");
        let source = Fixture::new(id(gate), vec![with_effect("call_tool", Effect::ExternalExec)]);
        let catalog = Catalog::build(&preset, vec![source.listed().await]).expect("a catalog");
        let pipeline = Arc::new(Pipeline::new(vec![Arc::new(ApproveStage::default())]));
        let host = Host { pipeline, catalog: Arc::new(catalog), queue: Arc::default() };
        let user = approving_client();
        host.call(&user, "call_tool", json!({})).await.expect("allowed");
        assert_eq!(user.asked().len(), asked, "{gate}");
    }
}

#[test]
fn rules_of_a_base_hold_as_well() {
    let rule = |tool: &str, remember| vec![of_tools(&[tool], remember)];
    let base = Preset { approve: rule("a", ApprovalScope::Session), ..Preset::default() };
    let mine =
        Preset { extends: vec!["base".into()], approve: rule("b", ApprovalScope::Call), ..Preset::default() };
    let presets = [("base".to_owned(), base), ("mine".to_owned(), mine)].into();
    assert_eq!(CompiledPreset::compile(&presets, "mine").expect("compiles").approvals.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_is_redefined_is_asked_about_again() {
    let minutes = ApprovalScope::For(Duration::from_secs(1_800));
    for remember in [minutes, ApprovalScope::Session] {
        let says = |text: &str| {
            let keep = with_effect("keep", Effect::Mutating);
            ToolSpec { additive: true, description: text.into(), ..keep }
        };
        let tools = |text| vec![says(text), with_effect("erase", Effect::ExternalExec)];
        let host = |text| Host::new(tools(text), vec![of_tools(&["keep"], remember)]);
        let first = host("Adds a note.").await;
        // The same host after its source listed other tools.
        let second = Host { pipeline: Arc::clone(&first.pipeline), ..host("Deletes a note.").await };
        let user = approving_client();
        for (host, times) in [(&first, 1), (&first, 1), (&second, 2), (&second, 2), (&first, 2)] {
            assert!(host.call(&user, "keep", json!({})).await.is_ok());
            assert_eq!(user.asked().len(), times);
        }
    }
}
