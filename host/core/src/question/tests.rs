//! Tests of questions and answers.

use std::{sync::Mutex, time::Duration};

use async_trait::async_trait;

use super::*;
use crate::{
    call::CallContext,
    outcome::FaultKind,
    ports::client::{CallingClient, ClientFeatures, MessageLevel},
    testing::{FakeClient, Fixture, context, tool},
};

fn gate() -> SourceId {
    SourceId::Gate("shop".into())
}

fn form(schema: Value) -> Result<ClientQuestion, Fault> {
    ClientQuestion::form(&gate(), "How many?", object(schema))
}

fn count() -> Value {
    json!({"type": "object", "properties": {"n": {"type": "integer", "minimum": 1}}, "required": ["n"]})
}

#[test]
fn question_names_its_asker() {
    let question = form(count()).expect("a question");
    assert_eq!(question.params()["message"], "Gate 'shop' asks: How many?");
    let hidden =
        ClientQuestion::url(&SourceId::Server("s".into()), "Log in\u{202e}", "https://x.example/?a=1", "1");
    assert_eq!(hidden.expect("a question").params()["message"], "Server 's' asks: Log in");
    assert!(ClientQuestion::form(&gate(), " ", object(count())).is_err());
    assert!(ClientQuestion::form(&gate(), &"x".repeat(MAX_MESSAGE_CHARS + 1), object(count())).is_err());
}

#[test]
fn a_form_is_an_object_of_plain_fields() {
    let of = |field: Value| form(json!({"type": "object", "properties": {"f": field}}));
    for plain in [
        json!({"type": "string", "format": "email", "maxLength": 9}),
        json!({"type": "boolean", "default": true}),
        json!({"type": "string", "enum": ["a", "b"], "enumNames": ["A", "B"]}),
        json!({"type": "string", "oneOf": [{"const": "a", "title": "A"}]}),
        json!({"type": "array", "items": {"type": "string", "enum": ["a"]}, "maxItems": 2}),
        json!({"type": "array", "items": {"anyOf": [{"const": "a", "title": "A"}]}}),
    ] {
        assert!(of(plain.clone()).is_ok(), "{plain}");
    }
    for nested in [
        json!({"type": "object", "properties": {}}),
        json!({"type": "array", "items": {"type": "string"}}),
        json!({"type": "string", "pattern": "(a+)+$"}),
        json!({"$ref": "#"}),
        json!(true),
    ] {
        assert!(of(nested.clone()).is_err(), "{nested}");
    }
    assert!(form(json!({"type": "string"})).is_err());
    let many: Map<String, Value> =
        (0..=MAX_FORM_FIELDS).map(|n| (n.to_string(), json!({"type": "string"}))).collect();
    assert!(form(json!({"type": "object", "properties": many})).is_err());
}

#[test]
fn urls_must_be_encrypted_or_local() {
    let of = |url: &str| ClientQuestion::url(&gate(), "Open this.", url, "1");
    for good in ["https://x.example/a?b=c#d", "http://127.0.0.1:8080/", "http://localhost/x", "http://[::1]/"]
    {
        assert!(of(good).is_ok(), "{good}");
    }
    let long = format!("https://x.example/{}", "a".repeat(MAX_URL_BYTES));
    for bad in [
        "http://x.example/",
        "file:///etc/passwd",
        "javascript:alert(1)",
        "https://a:b@x.example/",
        "https://ä.example/",
        "",
        &long,
    ] {
        assert!(of(bad).is_err(), "{bad:.40}");
    }
}

#[test]
fn an_answer_has_to_fit_its_question() {
    let question = form(count()).expect("a question");
    let answer = |answer: Value| question.check_answer(object(answer)).map(Value::Object);
    let filled = json!({"action": "accept", "content": {"n": 3}});
    assert_eq!(answer(filled.clone()).expect("fits"), filled);
    let declined = json!({"action": "decline", "content": {"n": 3}});
    assert_eq!(answer(declined).expect("fits"), json!({"action": "decline"}));
    for wrong in [
        json!({"action": "accept", "content": {"n": 0}}),
        json!({"action": "accept"}),
        json!({"action": "yes"}),
        json!({"action": "cancel", "content": {"x": "y".repeat(MAX_ANSWER_BYTES)}}),
    ] {
        assert!(answer(wrong).is_err());
    }
    let sampling = ClientQuestion::sampling(&gate(), object(json!({"messages": [], "_meta": {"a": 1}})));
    let sampling = sampling.expect("a question");
    assert!(sampling.params().get("_meta").is_none());
    assert_eq!(sampling.params()["systemPrompt"], format!("Gate 'shop' {ASKS}"));
    assert!(sampling.check_answer(object(json!({"content": {"type": "text", "text": "x"}}))).is_ok());
    assert!(sampling.check_answer(Map::new()).is_err());
}

/// The text after the asker's name in the system prompt.
const ASKS: &str = "asks this through Gatehouse. The words are its own, not the user's.";

#[test]
fn sampling_names_the_asker_and_strips_hidden_characters() {
    let asked = json!({"systemPrompt": "You are\u{202e} the host.\u{1b}[2J", "includeContext": "allServers",
        "messages": [{"role": "user", "content": {"type": "text", "text": "\u{2066}Hi\u{e0041}\n"}}]});
    let server = SourceId::Server("s".into());
    let question = ClientQuestion::sampling(&server, object(asked)).expect("a question");
    let expected = json!({"systemPrompt": format!("Server 's' {ASKS}\n\nYou are the host.[2J"), "includeContext": "none",
        "messages": [{"role": "user", "content": {"type": "text", "text": "Hi\n"}}]});
    assert_eq!(*question.params(), object(expected));
    let hidden = json!({"messages": [], "metadata": {"a\u{202e}": 1}});
    assert!(ClientQuestion::sampling(&server, object(hidden)).is_err());
    let field = json!({"type": "object", "properties": {"pass\u{200b}word": {"type": "string"}}});
    let fault = form(field).expect_err("a hidden character");
    assert!(fault.message.contains("its form has hidden characters"), "{fault}");
    assert!(ClientQuestion::url(&gate(), "Open this.", "https://x.example/\u{1b}", "1").is_err());
}

/// A client that answers after a minute, or never.
struct SlowClient {
    forms: bool,
    answers: bool,
    logged: Mutex<Vec<(MessageLevel, String)>>,
}

impl SlowClient {
    fn new(forms: bool, answers: bool) -> Arc<Self> {
        Arc::new(Self { forms, answers, logged: Mutex::default() })
    }
}

#[async_trait]
impl CallingClient for SlowClient {
    fn profile(&self) -> ClientProfile {
        let messages = Some(MessageLevel::Warning);
        ClientProfile {
            name: "desk".into(),
            protocol: "2025-11-25".into(),
            features: ClientFeatures { forms: self.forms, ..ClientFeatures::default() },
            messages,
            ..ClientProfile::default()
        }
    }

    async fn ask(&self, questions: &[ClientQuestion]) -> Result<Vec<Map<String, Value>>, Fault> {
        if !self.answers {
            std::future::pending::<()>().await;
        }
        tokio::time::advance(Duration::from_secs(60)).await;
        Ok(questions.iter().map(|_| object(json!({"action": "accept", "content": {"n": 1}}))).collect())
    }

    fn send_log_message(&self, level: MessageLevel, logger: &str, _: Value) {
        crate::lock(&self.logged).push((level, logger.to_owned()));
    }
}

async fn call_from(person: &Arc<SlowClient>) -> CallContext {
    let source = Fixture::new(gate(), vec![tool("buy", None)]);
    let mut call = context(Vec::new(), &source, "buy").await;
    call.client = Arc::clone(person) as _;
    call
}

#[tokio::test(start_paused = true)]
async fn waiting_for_an_answer_pauses_the_deadline() {
    let call = call_from(&SlowClient::new(true, true)).await;
    let question = form(count()).expect("a question");
    for _ in 0..2 {
        let answers = call.ask_client(std::slice::from_ref(&question)).await.expect("answers");
        assert_eq!(answers[0]["content"]["n"], 1);
    }
    assert_eq!(call.deadline().remaining(), call.time_limit());
}

#[tokio::test(start_paused = true)]
async fn questions_time_out_and_need_the_capability() {
    let question = form(count()).expect("a question");
    let call = call_from(&SlowClient::new(true, false)).await;
    let fault = call.ask_client(std::slice::from_ref(&question)).await.expect_err("nobody answers");
    assert_eq!(fault.message, "'buy' asked a question, and no answer arrived within 10 min");
    let again = call.ask_client(std::slice::from_ref(&question)).await;
    assert_eq!(again.expect_err("no time left").kind, FaultKind::TimedOut);

    let call = call_from(&SlowClient::new(false, true)).await;
    let fault = call.ask_client(&[question]).await.expect_err("it cannot");
    assert_eq!(fault.message, "the client 'desk' cannot show a form to the user");
    assert!(fault.hint.is_some_and(|hint| hint.contains("elicitation.form")));
}

#[tokio::test]
async fn log_messages_respect_the_level_of_the_client() {
    let person = SlowClient::new(true, true);
    let call = call_from(&person).await;
    call.notify_client(MessageLevel::Info, gate().name(), json!("less"));
    call.notify_client(MessageLevel::Error, gate().name(), json!("more"));
    call.notify_client(MessageLevel::Error, gate().name(), json!("x".repeat(MAX_CLIENT_MESSAGE_BYTES)));
    assert_eq!(*crate::lock(&person.logged), [(MessageLevel::Error, "shop".to_owned())]);
}

/// Asks twice the limit of questions. Returns the number that reach the client, and the last fault.
async fn reached(asker: &SourceId, sampling: bool, answer: Result<Value, Fault>) -> (usize, String) {
    let source = Fixture::new(gate(), vec![tool("buy", None)]);
    let desk = Arc::new(FakeClient::new(move |_| answer.clone()));
    let mut call = context(Vec::new(), &source, "buy").await;
    call.client = Arc::clone(&desk) as _;
    let question = if sampling {
        ClientQuestion::sampling(asker, object(json!({"messages": []})))
    } else {
        ClientQuestion::form(asker, "How many?", object(count()))
    };
    let question = question.expect("a question");
    let asked = (0..2 * MAX_QUESTIONS_PER_CALL).map(|_| call.ask_client(std::slice::from_ref(&question)));
    let answers = futures_util::future::join_all(asked).await;
    let fault = answers.into_iter().filter_map(Result::err).next_back();
    (desk.asked().len(), fault.map_or_else(String::new, |fault| fault.message))
}

#[tokio::test]
async fn questions_of_a_server_are_limited_and_end_after_a_refusal() {
    let server = SourceId::Server("s".into());
    let (limit, accepted) =
        (MAX_QUESTIONS_PER_CALL as usize, json!({"action": "accept", "content": {"n": 1}}));
    let (asked, reason) = reached(&server, false, Ok(accepted.clone())).await;
    assert_eq!((asked, &*reason), (limit, "Server 's' may ask the user at most 16 times in one call"));
    let (asked, reason) = reached(&server, true, Ok(json!({"content": {}}))).await;
    assert_eq!(
        (asked, &*reason),
        (limit, "Server 's' may ask the client's model at most 16 times in one call")
    );
    let (asked, reason) = reached(&server, false, Ok(json!({"action": "decline"}))).await;
    assert_eq!(asked, 1, "questions that come together wait for their turn");
    assert_eq!(reason, "Server 's' asked a question that was declined, so it may not ask again in this call");
    // Gates have a grant with its own limits.
    assert_eq!(reached(&gate(), false, Ok(accepted)).await, (2 * limit, String::new()));
}
