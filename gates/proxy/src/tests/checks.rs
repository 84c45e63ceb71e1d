//! Tests of checks before a call that changes something.

use gatehouse_sdk::Reply;
use serde_json::{Value, json};

use super::requests::{host, request};

#[test]
fn a_check_gets_the_target_as_its_only_required_argument_or_is_a_dry_run() {
    let check = |schemas: fn(&str) -> Value, params: Value| {
        let calls = std::rc::Rc::new(std::cell::RefCell::new(Vec::new()));
        let seen = calls.clone();
        let host = host(move |tool: &str, arguments: &str, _| {
            seen.borrow_mut().push(format!("{tool} {arguments}"));
            Ok(Reply::markdown("done"))
        });
        let host = host.schema(move |name| Ok(schemas(name).to_string()));
        let answer = request(host, json!({"intent": "MODIFY", "action": "edit", "params": params}));
        (answer, calls.take())
    };
    let by_title = |name: &str| match name {
        "edit" => json!({"x-target": "page", "x-precheck": "look"}),
        _ => json!({"properties": {"title": {}, "offset": {}}, "required": ["title"]}),
    };
    let (answer, calls) = check(by_title, json!({"page": "x", "n": 1}));
    assert_eq!(
        (&answer["ok"], calls),
        (&json!(true), vec![r#"look {"title":"x"}"#.into(), r#"edit {"page":"x","n":1}"#.into()])
    );
    let by_itself = |_: &str| json!({"x-precheck": "edit"});
    let (answer, calls) = check(by_itself, json!({"page": "x"}));
    assert_eq!(
        (&answer["ok"], calls),
        (&json!(true), vec![r#"edit {"page":"x","dry_run":true}"#.to_owned(), r#"edit {"page":"x"}"#.into()])
    );
    let ambiguous = |name: &str| match name {
        "edit" => json!({"x-target": "page", "x-precheck": "look"}),
        _ => json!({"properties": {"a": {}, "b": {}}, "required": ["a", "b"]}),
    };
    let (answer, calls) = check(ambiguous, json!({"page": "x"}));
    assert_eq!((&answer["error"]["type"], calls.len()), (&json!("VALIDATION"), 0), "{answer}");
    let absent = |_: &str| json!({"x-target": "page", "x-precheck": "gone"});
    let (answer, calls) = check(absent, json!({"page": "x"}));
    assert!(
        answer["error"]["message"].as_str().is_some_and(|reason| reason.contains("checked by 'gone'")),
        "{answer}"
    );
    assert!(calls.is_empty());
}
