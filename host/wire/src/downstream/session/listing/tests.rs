//! Tests of lists that end, fail or are silent.

use gatehouse_core::source::OmittedItems;
use tokio::sync::mpsc;

use super::*;
use crate::downstream::{
    peer::Lifecycle,
    testing::scripted::{begin_with, scripted_session},
};

/// Connects to a server that answers each request as `answer` does.
async fn session(
    mut answer: impl FnMut(&str, &Value) -> Option<Value> + Send + 'static,
) -> (ServerSession, mpsc::UnboundedReceiver<Value>) {
    let capabilities = json!({"tools": {}, "prompts": {}, "resources": {}});
    scripted_session(Lifecycle::Handshake, move |message| {
        let handshake_reply = begin_with(message, &capabilities);
        let method = message["method"].as_str().unwrap_or_default();
        let answer = handshake_reply.or_else(|| {
            message.get("id")?;
            let mut answer = answer(method, &message["params"]["cursor"])?;
            answer["id"] = message["id"].clone();
            Some(answer)
        });
        answer.into_iter().collect()
    })
    .await
}

fn tools(names: &[&str], cursor: Value) -> Value {
    let tools: Vec<_> =
        names.iter().map(|name| json!({"name": name, "inputSchema": {"type": "object"}})).collect();
    json!({"jsonrpc": "2.0", "result": {"tools": tools, "nextCursor": cursor}})
}

fn error(code: i32) -> Value {
    json!({"jsonrpc": "2.0", "error": {"code": code, "message": "no"}})
}

fn names(listing: &Listing) -> Vec<&str> {
    listing.tools.iter().map(|tool| &*tool.name).collect()
}

#[tokio::test(start_paused = true)]
async fn lists_end_in_many_ways() {
    type Page = fn(&Value) -> Option<Value>;
    let cases: [(&str, Page, &[&str], &str); 8] = [
        ("an empty cursor for the first page again", |_| Some(tools(&["a"], json!(""))), &["a"], ""),
        (
            "an empty cursor that is refused",
            |cursor| Some(if cursor.is_null() { tools(&["a"], json!("")) } else { error(-32602) }),
            &["a"],
            "",
        ),
        (
            "an empty cursor of a page",
            |cursor| {
                Some(match cursor.as_str() {
                    None => tools(&["a"], json!("")),
                    Some("") => tools(&["b"], json!("c")),
                    _ => tools(&["c"], Value::Null),
                })
            },
            &["a", "b", "c"],
            "",
        ),
        (
            "an empty cursor without an answer",
            |cursor| cursor.is_null().then(|| tools(&["a"], json!(""))),
            &["a"],
            "",
        ),
        (
            "the same cursor",
            |cursor| Some(tools(if cursor.is_null() { &["a"] } else { &["a", "b"] }, json!("2"))),
            &["a", "b"],
            "it answered with the cursor '2' again",
        ),
        ("a number", |_| Some(tools(&["a"], json!(2))), &["a"], "its `nextCursor` is 2 instead of a string"),
        (
            "an error",
            |cursor| Some(if cursor.is_null() { tools(&["a"], json!("2")) } else { error(-32603) }),
            &["a"],
            "it answered: no (-32603)",
        ),
        (
            "silence",
            |cursor| cursor.is_null().then(|| tools(&["a"], json!("2"))),
            &["a"],
            "it did not answer in time",
        ),
    ];
    for (name, page, expected, reason) in cases {
        let (session, _received) = session(move |method, cursor| match method {
            "tools/list" => page(cursor),
            _ => Some(error(-32601)),
        })
        .await;
        let listing = session.read_lists(Duration::from_secs(30)).await.expect("a listing");
        assert_eq!(names(&listing), expected, "{name}");
        let reasons: Vec<_> =
            (!reason.is_empty()).then(|| format!("part of tools/list: {reason}")).into_iter().collect();
        assert_eq!(listing.omitted.reasons, reasons, "{name}");
        assert_eq!(listing.incomplete, if reason.is_empty() { vec![] } else { vec![ServerList::Tools] });
    }
}

#[tokio::test(start_paused = true)]
async fn a_list_that_fails_affects_no_other() {
    for failing in ["tools/list", "prompts/list", "resources/list", "resources/templates/list"] {
        for silent in [false, true] {
            let (session, _received) = session(move |method, _| {
                if method == failing {
                    return (!silent).then(|| error(-32603));
                }
                let result = match method {
                    "tools/list" => return Some(tools(&["a"], Value::Null)),
                    "prompts/list" => json!({"prompts": [{"name": "p"}]}),
                    "resources/list" => json!({"resources": [{"uri": "kelp://1", "name": "r"}]}),
                    _ => json!({"resourceTemplates": [{"uriTemplate": "kelp://{id}", "name": "t"}]}),
                };
                Some(json!({"jsonrpc": "2.0", "result": result}))
            })
            .await;
            let listing = session.read_lists(Duration::from_secs(30)).await.expect("a listing");
            let counts = [
                listing.tools.len(),
                listing.prompts.len(),
                listing.known_resources.len(),
                listing.templates.len(),
            ];
            assert_eq!(counts.iter().sum::<usize>(), 3, "{failing} {silent}: {counts:?}");
            assert_eq!((listing.incomplete.len(), listing.omitted.count), (1, 1), "{failing} {silent}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn undeclared_tools_are_asked_for_once() {
    for (answer, expected) in
        [(Some(tools(&["a"], Value::Null)), vec!["a"]), (Some(error(-32601)), vec![]), (None, vec![])]
    {
        let (session, mut received) = scripted_session(Lifecycle::Handshake, move |message| {
            let handshake_reply = begin_with(message, &json!({}));
            let answered = handshake_reply.or_else(|| {
                let mut answer = answer.clone().filter(|_| message["method"] == "tools/list")?;
                answer["id"] = message["id"].clone();
                Some(answer)
            });
            answered.into_iter().collect()
        })
        .await;
        let listing = session.read_lists(Duration::from_secs(30)).await.expect("a listing");
        assert_eq!(names(&listing), expected);
        assert!(listing.omitted.is_empty() && listing.incomplete.is_empty(), "{listing:?}");
        drop(session);
        let mut lists = 0;
        while let Some(message) = received.recv().await {
            lists += usize::from(message["method"].as_str().is_some_and(|method| method.ends_with("/list")));
        }
        assert_eq!(lists, 1);
    }
}

#[tokio::test]
async fn a_server_without_any_list_fails() {
    let (session, _received) = session(|_, _| Some(error(-32601))).await;
    assert!(matches!(session.read_lists(Duration::from_secs(30)).await, Err(CallFailure::Refused { .. })));
}

#[test]
fn an_invalid_item_does_not_affect_the_others() {
    let page = json!({"nextCursor": "2", "ttlMs": 7, "tools": [
        {"name": "bare"}, {"name": "well", "inputSchema": {"type": "object"}}, 5]});
    let ListPage { items, next, ttl_ms } = read_page("tools/list", "tools", page).expect("a list");
    let mut listing = Listing::default();
    let listed = ListItems { items, ttl_ms, incomplete: None };
    let names: Vec<_> =
        read_items::<Tool>("tool", TOOLS, listed, &mut listing).into_iter().map(|tool| tool.name).collect();
    assert_eq!((next, names), (json!("2"), vec!["well".into()]));
    let OmittedItems { count, reasons, .. } = &listing.omitted;
    assert_eq!((*count, &*reasons[0]), (2, "tool 'bare': missing field `inputSchema`"));
    assert_eq!(listing.ttl_ms, Some(7));
    for page in [json!({"tools": 5}), json!(5), json!({})] {
        assert!(read_page("tools/list", "tools", page).is_err());
    }
    for page in [json!([5]), json!({"tools": {"x": 5}})] {
        let page = read_page("tools/list", "tools", page);
        assert_eq!(page, Ok(ListPage { items: vec![json!(5)], next: Value::Null, ttl_ms: None }));
    }
}
