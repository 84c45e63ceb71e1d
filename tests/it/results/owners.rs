//! Two principals with one store: a client of an HTTP host with a token, and a user of a host over stdio. Neither can
//! access the other's results.

use serde_json::{Value, json};

use super::{log, place, shortened};
use crate::support::{Client, Http, Place, session::reply_to};

const TOKEN: &str = "0123456789abcdef-token";
const AUTHORIZATION: (&str, &str) = ("authorization", "Bearer 0123456789abcdef-token");

struct Bearer {
    host: Http,
    session: String,
}

impl Bearer {
    fn new(place: &Place) -> Self {
        let host = Http::start(place, "work", &[("GATEHOUSE_TOKEN", TOKEN)]);
        let session = host.session("/mcp", &[AUTHORIZATION]);
        Self { host, session }
    }

    fn request(&self, method: &str, params: Value) -> Value {
        let message = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
        let headers = [("mcp-session-id", &*self.session), AUTHORIZATION];
        let (status, _, body) = self.host.post("/mcp", &message, &headers);
        assert_eq!(status, 200, "{body}");
        reply_to(7, &body)
    }

    fn call(&self, tool: &str, arguments: Value) -> Value {
        self.request("tools/call", json!({"name": tool, "arguments": arguments}))["result"].clone()
    }
}

/// Returns the answers of one caller to every request that could reveal a stored result.
fn ways(id: &str, mut request: impl FnMut(&str, Value) -> Value) -> Vec<(String, Value)> {
    let mut call = |tool: &str, arguments: Value| {
        let answer = request("tools/call", json!({"name": tool, "arguments": arguments}));
        (format!("{tool} {arguments}"), answer["result"].clone())
    };
    let mut ways = vec![
        call("get_workspace_file", json!({"path": id})),
        call("get_workspace_file", json!({"path": id, "offset": 8_000})),
        call("get_workspace_file", json!({"path": id, "lines": "1-3"})),
        call("get_workspace_file", json!({"path": id, "json_pointer": "/0"})),
        call("get_workspace_file", json!({"path": id, "jq": "."})),
        call("echo", json!({"text": {"$artifact": id}})),
        call("echo", json!({"text": {"$artifact": id, "range": [1, 2]}})),
        call("echo", json!({"text": {"$artifact": id, "pointer": "/0"}})),
        call("get_artifact_context", json!({"ids": [id]})),
        call("search_workspace", json!({})),
        call("search_workspace", json!({"query": "echo"})),
        call("semantic_search", json!({"query": "disk quota exceeded on volume nimbus-7"})),
    ];
    ways.push((
        "read".into(),
        request("resources/read", json!({"uri": format!("gatehouse://artifact/{id}")})),
    ));
    ways.push(("list".into(), request("resources/list", json!({}))));
    ways
}

fn without(id: &str, answer: &Value) -> String {
    answer.to_string().replace(id, "ID")
}

#[test]
fn what_one_keeps_is_as_unknown_to_the_other_as_what_was_never_there() {
    const NEVER: &str = "art-0123456789ab";
    let place = place();
    let mut local = Client::start(&place, "work");
    let (_, id) = shortened(&mut local, &log());
    let bearer = Bearer::new(&place);
    let theirs = ways(&id, |method, params| bearer.request(method, params));
    let never = ways(NEVER, |method, params| bearer.request(method, params));
    for ((what, answer), (_, unknown)) in theirs.iter().zip(&never) {
        assert_eq!(without(&id, answer), without(NEVER, unknown), "{what}");
        assert!(!answer.to_string().contains("nimbus-7"), "{what}: {answer}");
    }
    // The owner gets the result from every request, except those for JSON.
    for (what, answer) in ways(&id, |method, params| local.request(method, params)) {
        let is_json = what.contains("pointer") || what.contains("jq");
        let reached = answer.to_string().contains(if what.starts_with("search") { &id } else { "http: GET" })
            || answer.to_string().contains("disk quota")
            || answer.to_string().contains(&format!("gatehouse://artifact/{id}"));
        assert_eq!(reached, !is_json, "{what}: {answer}");
    }
}

#[test]
fn the_same_result_of_two_is_kept_for_each() {
    let place = place();
    let mut local = Client::start(&place, "work");
    let (short, id) = shortened(&mut local, &log());
    let bearer = Bearer::new(&place);
    let reply = bearer.call("echo", json!({"text": log()}));
    assert!(reply["content"][0]["text"].as_str().is_some_and(|text| text.contains(&id)), "{reply}");
    let page = |answer: Value| answer["result"]["contents"][0]["text"].clone();
    let uri = json!({"uri": format!("gatehouse://artifact/{id}")});
    assert_eq!(page(bearer.request("resources/read", uri.clone())), log());
    assert_eq!(page(local.request("resources/read", uri)), log());
    assert_eq!(shortened(&mut local, &log()).0, short);
}
