//! Tests of the questions, of how long approvals last, and that nested calls cannot avoid them.

mod chains;
mod redefined;

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use serde_json::{Map, Value, json};

use super::*;
use crate::{
    Catalog, CompiledPreset, Effect, Pipeline, Preset, Principal, SourceId,
    approval::ApprovalRule,
    call::Call,
    outcome::{ContentPart, FaultKind},
    pipeline::{AdmitStage, DeadlineStage},
    ports::client::{CallingClient, ClientProfile, MessageLevel},
    testing::{Fixture, tool},
    tool::ToolSpec,
};

struct Person {
    forms: bool,
    answer: Value,
    asked: Mutex<Vec<String>>,
    session: ApprovalStore,
}

impl Person {
    fn who(answer: Value) -> Arc<Self> {
        Arc::new(Self { forms: true, answer, asked: Mutex::default(), session: ApprovalStore::default() })
    }

    fn who_allows() -> Arc<Self> {
        Self::who(json!({"action": "accept", "content": {"allow": true}}))
    }

    fn times(&self) -> usize {
        lock(&self.asked).len()
    }
}

#[async_trait]
impl CallingClient for Person {
    fn profile(&self) -> ClientProfile {
        ClientProfile { forms: self.forms, protocol: "2025-11-25".into(), ..ClientProfile::default() }
    }

    fn approvals(&self) -> Option<&ApprovalStore> {
        Some(&self.session)
    }

    async fn ask(&self, questions: &[ClientQuestion]) -> Result<Vec<Map<String, Value>>, Fault> {
        let message = |question: &ClientQuestion| question.params()["message"].as_str().map(str::to_owned);
        lock(&self.asked).extend(questions.iter().filter_map(message));
        Ok(questions.iter().filter_map(|_| self.answer.as_object().cloned()).collect())
    }

    fn send_log_message(&self, _: MessageLevel, _: &str, _: Value) {}
}

fn with_effect(name: &str, effect: Effect) -> ToolSpec {
    ToolSpec { effect, ..tool(name, None) }
}

struct Host {
    pipeline: Arc<Pipeline>,
    catalog: Arc<Catalog>,
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
        let exposure = CompiledPreset::compile(&[("p".to_owned(), preset)].into(), "p").expect("compiles");
        let source = Fixture::new(id, tools);
        let catalog = Catalog::build(&exposure, vec![source.listed().await]).expect("a catalog");
        let stages: Vec<Arc<dyn Stage>> =
            vec![Arc::new(AdmitStage), Arc::new(DeadlineStage), Arc::new(ApproveStage::default())];
        Self { pipeline: Arc::new(Pipeline::new(stages)), catalog: Arc::new(catalog) }
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

    fn context(&self, person: &Arc<Person>, tool: &str) -> CallContext {
        let mut context = CallContext::new(&self.pipeline, Arc::clone(&self.catalog), tool);
        context.client = Arc::clone(person) as _;
        context
    }

    async fn call(&self, person: &Arc<Person>, tool: &str, arguments: Value) -> Outcome {
        Call::new(self.context(person, tool), arguments).run().await
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
async fn a_person_sees_what_would_run_and_decides() {
    let host = Host::desk(of_tools(&["era*"], ApprovalScope::Call)).await;
    let person = Person::who_allows();
    assert!(host.call(&person, "look", json!({})).await.is_ok());
    assert_eq!(person.times(), 0, "no rule is about it");
    let reply = host.call(&person, "erase", json!({"path": "/a\nb"})).await.expect("a reply");
    assert_eq!(reply.content, [ContentPart::Text("erase {\"path\":\"/a\\nb\"}".into())]);
    let expected = "May 'erase' run (erase of gate 'desk', external-exec)? Approval applies for this call.\nArguments: {\"path\":\"/a\\nb\"}";
    assert_eq!(lock(&person.asked)[0], expected);
    let said_no = [json!({"action": "decline"}), json!({"action": "accept", "content": {"allow": false}})];
    for answer in said_no {
        let person = Person::who(answer);
        let fault = host.call(&person, "erase", json!({})).await.expect_err("declined");
        assert_eq!((fault.kind, person.times()), (FaultKind::Denied, 1));
        assert_eq!(fault.message, "the user was asked whether 'erase' may run, and declined");
        assert!(!fault.retryable);
    }
    let away = Person::who(json!({"action": "cancel"}));
    let fault = host.call(&away, "erase", json!({})).await.expect_err("no answer");
    assert!(fault.message.ends_with("did not answer"), "{fault}");
}

#[tokio::test]
async fn where_nobody_can_be_asked_nothing_runs_and_the_way_out_is_said() {
    let host = Host::desk(of_effect(Effect::Mutating)).await;
    let blind = Arc::new(Person { forms: false, ..Arc::into_inner(Person::who_allows()).expect("one") });
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
    let person = Person::who_allows();
    let asked = async |host: &Host, person: &Arc<Person>, tool: &str, arguments: Value| {
        let before = person.times();
        host.call(person, tool, arguments).await.expect("allowed");
        person.times() > before
    };
    for _ in 0..2 {
        assert!(asked(&per_call, &person, "look", json!({})).await, "each call is one of its own");
    }
    assert!(asked(&session, &person, "look", json!({"a": 1})).await);
    assert!(!asked(&session, &person, "look", json!({"a": 2})).await, "it only reads");
    assert!(asked(&session, &person, "erase", json!({"a": 1})).await);
    assert!(!asked(&session, &person, "erase", json!({"a": 1})).await);
    assert!(!asked(&session, &person, "wipe", json!({"a": 1})).await, "the same tool by another name");
    assert!(asked(&session, &person, "erase", json!({"a": 2})).await, "what may destroy is asked about anew");
    let other = Person::who_allows();
    assert!(asked(&session, &other, "look", json!({})).await, "another session");
    assert!(asked(&timed, &person, "erase", json!({})).await);
    assert!(!asked(&timed, &other, "erase", json!({})).await, "the same principal");
    let mut stranger = timed.context(&other, "erase");
    stranger.principal = Principal::Named("eve".into());
    let before = other.times();
    Call::new(stranger, json!({})).run().await.expect("allowed");
    assert_eq!(other.times(), before + 1, "another principal");
    tokio::time::advance(hour).await;
    assert!(asked(&timed, &person, "erase", json!({})).await, "its time is up");
}

#[tokio::test]
async fn a_call_that_causes_others_asks_once_for_each_and_takes_no_for_an_answer() {
    let host = Host::desk(of_tools(&["erase"], ApprovalScope::Call)).await;
    let person = Person::who_allows();
    let outer = host.context(&person, "run");
    let deadline = outer.deadline();
    for _ in 0..3 {
        outer.call_nested(&deadline, "erase", json!({"a": 1})).await.expect("allowed");
        outer.call_nested(&deadline, "wipe", json!({"a": 1})).await.expect("allowed");
    }
    assert_eq!(person.times(), 1);
    assert!(lock(&person.asked)[0].contains("external-exec, called by 'run')"));
    outer.call_nested(&deadline, "erase", json!({"a": 2})).await.expect("allowed");
    assert_eq!(person.times(), 2);
    let no = Person::who(json!({"action": "decline"}));
    let outer = host.context(&no, "run");
    for number in 0..5 {
        outer.call_nested(&deadline, "erase", json!({"a": number})).await.expect_err("declined");
    }
    assert_eq!(no.times(), 1, "nobody is nagged");
    let many = host.context(&person, "run");
    let all = (0..8).map(|_| many.call_nested(&deadline, "erase", json!({"a": 9})));
    let all = futures_util::future::join_all(all).await;
    assert!(all.iter().all(Result::is_ok));
    assert_eq!(person.times(), 3, "those at the same time wait for one answer");
}

#[tokio::test]
async fn long_arguments_are_shown_from_both_ends_with_a_digest() {
    let host = Host::desk(of_tools(&["erase"], ApprovalScope::Call)).await;
    let person = Person::who_allows();
    host.call(&person, "erase", json!({"a": "x".repeat(100_000), "b": "the end\u{202e}"}))
        .await
        .expect("allowed");
    let message = lock(&person.asked)[0].clone();
    assert!(message.chars().count() < 3_000, "{}", message.len());
    assert!(message.contains("97628 characters are not shown; SHA-256 of all "), "{message}");
    assert!(message.ends_with("\"b\":\"the end\\u202e\"}"), "{message}");
}

#[tokio::test]
async fn what_only_passes_calls_on_is_left_out_of_rules_about_effects_and_of_no_other() {
    let id = |name: &str| SourceId::Gate(name.into());
    for (gate, rule, asked) in [
        ("proxy", of_effect(Effect::ExternalExec), 0),
        ("mine", of_effect(Effect::ExternalExec), 1),
        ("proxy", of_tools(&["call_tool"], ApprovalScope::Call), 1),
        ("proxy", ApprovalRule { except: Some(Vec::new()), ..of_effect(Effect::ExternalExec) }, 1),
    ] {
        let preset =
            Preset { sources: vec![(id(gate), Map::new())], approve: vec![rule], ..Preset::default() };
        let exposure = CompiledPreset::compile(&[("p".to_owned(), preset)].into(), "p").expect("compiles");
        let source = Fixture::new(id(gate), vec![with_effect("call_tool", Effect::ExternalExec)]);
        let catalog = Catalog::build(&exposure, vec![source.listed().await]).expect("a catalog");
        let pipeline = Arc::new(Pipeline::new(vec![Arc::new(ApproveStage::default())]));
        let host = Host { pipeline, catalog: Arc::new(catalog) };
        let person = Person::who_allows();
        host.call(&person, "call_tool", json!({})).await.expect("allowed");
        assert_eq!(person.times(), asked, "{gate}");
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
