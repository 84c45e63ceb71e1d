//! What may be asked, in whose name, and which answers fit.

use std::{sync::Mutex, time::Duration};

use async_trait::async_trait;

use super::*;
use crate::{
    ports::client::Client,
    testing::{Fixture, context, tool},
};

fn gate() -> SourceId {
    SourceId::Gate("shop".into())
}

fn form(schema: Value) -> Result<Question, Fault> {
    Question::form(&gate(), "How many?", object(schema))
}

fn count() -> Value {
    json!({"type": "object", "properties": {"n": {"type": "integer", "minimum": 1}}, "required": ["n"]})
}

#[test]
fn a_question_names_who_asks() {
    let question = form(count()).expect("a question");
    assert_eq!(question.params()["message"], "Gate 'shop' asks: How many?");
    let hidden =
        Question::url(&SourceId::Server("s".into()), "Log in\u{202e}", "https://x.example/?a=1", "1");
    assert_eq!(hidden.expect("a question").params()["message"], "Server 's' asks: Log in");
    assert!(Question::form(&gate(), " ", object(count())).is_err());
    assert!(Question::form(&gate(), &"x".repeat(MAX_MESSAGE + 1), object(count())).is_err());
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
        (0..=MAX_FIELDS).map(|n| (n.to_string(), json!({"type": "string"}))).collect();
    assert!(form(json!({"type": "object", "properties": many})).is_err());
}

#[test]
fn an_address_is_shown_only_where_nobody_listens_on_the_way() {
    let of = |url: &str| Question::url(&gate(), "Open this.", url, "1");
    for good in ["https://x.example/a?b=c#d", "http://127.0.0.1:8080/", "http://localhost/x", "http://[::1]/"]
    {
        assert!(of(good).is_ok(), "{good}");
    }
    let long = format!("https://x.example/{}", "a".repeat(MAX_URL));
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
    let answer = |answer: Value| question.checked(object(answer)).map(Value::Object);
    let filled = json!({"action": "accept", "content": {"n": 3}});
    assert_eq!(answer(filled.clone()).expect("fits"), filled);
    let declined = json!({"action": "decline", "content": {"n": 3}});
    assert_eq!(answer(declined).expect("fits"), json!({"action": "decline"}));
    for wrong in [
        json!({"action": "accept", "content": {"n": 0}}),
        json!({"action": "accept"}),
        json!({"action": "yes"}),
        json!({"action": "cancel", "content": {"x": "y".repeat(MAX_ANSWER)}}),
    ] {
        assert!(answer(wrong).is_err());
    }
    let sampling = Question::sampling(&gate(), object(json!({"messages": [], "_meta": {"a": 1}})));
    let sampling = sampling.expect("a question");
    assert!(sampling.params().get("_meta").is_none());
    assert!(sampling.checked(object(json!({"content": {"type": "text", "text": "x"}}))).is_ok());
    assert!(sampling.checked(Map::new()).is_err());
}

/// Thinks for a minute, or for ever.
struct Person {
    forms: bool,
    answers: bool,
    told: Mutex<Vec<(MessageLevel, String)>>,
}

impl Person {
    fn new(forms: bool, answers: bool) -> Arc<Self> {
        Arc::new(Self { forms, answers, told: Mutex::default() })
    }
}

#[async_trait]
impl Client for Person {
    fn abilities(&self) -> Abilities {
        let messages = Some(MessageLevel::Warning);
        Abilities {
            name: "desk".into(),
            protocol: "2025-11-25".into(),
            forms: self.forms,
            messages,
            ..Abilities::default()
        }
    }

    async fn ask(&self, questions: &[Question]) -> Result<Vec<Map<String, Value>>, Fault> {
        if !self.answers {
            std::future::pending::<()>().await;
        }
        tokio::time::advance(Duration::from_secs(60)).await;
        Ok(questions.iter().map(|_| object(json!({"action": "accept", "content": {"n": 1}}))).collect())
    }

    fn tell(&self, level: MessageLevel, logger: &str, _: Value) {
        crate::lock(&self.told).push((level, logger.to_owned()));
    }
}

async fn call_from(person: &Arc<Person>) -> CallContext {
    let source = Fixture::new(gate(), vec![tool("buy", None)]);
    let mut call = context(Vec::new(), &source, "buy").await;
    call.client = Arc::clone(person) as _;
    call
}

#[tokio::test(start_paused = true)]
async fn a_person_who_thinks_uses_up_no_time_of_the_call() {
    let call = call_from(&Person::new(true, true)).await;
    let question = form(count()).expect("a question");
    for _ in 0..2 {
        let answers = call.ask_client(std::slice::from_ref(&question)).await.expect("answers");
        assert_eq!(answers[0]["content"]["n"], 1);
    }
    assert_eq!(call.deadline().remaining(), call.time_limit());
}

#[tokio::test(start_paused = true)]
async fn nobody_is_waited_for_for_ever_and_only_who_can_answer_is_asked() {
    let question = form(count()).expect("a question");
    let call = call_from(&Person::new(true, false)).await;
    let fault = call.ask_client(std::slice::from_ref(&question)).await.expect_err("nobody answers");
    assert_eq!(fault.message, "'buy' asked a question that nobody answered in 10 min.");
    let again = call.ask_client(std::slice::from_ref(&question)).await;
    assert_eq!(again.expect_err("no time left").kind, FaultKind::TimedOut);

    let call = call_from(&Person::new(false, true)).await;
    let fault = call.ask_client(&[question]).await.expect_err("it cannot");
    assert_eq!(fault.message, "The client 'desk' cannot show a person a form.");
    assert!(fault.hint.is_some_and(|hint| hint.contains("elicitation.form")));
}

#[tokio::test]
async fn a_client_is_told_what_it_wants_to_hear() {
    let person = Person::new(true, true);
    let call = call_from(&person).await;
    call.tell_client(MessageLevel::Info, &gate(), json!("less"));
    call.tell_client(MessageLevel::Error, &gate(), json!("more"));
    call.tell_client(MessageLevel::Error, &gate(), json!("x".repeat(MAX_TOLD)));
    assert_eq!(*crate::lock(&person.told), [(MessageLevel::Error, "shop".to_owned())]);
}
