//! Prompts and resources that ask the client, from gates and from servers.

use serde_json::{Value, json};

use super::{PRESETS, accept, client, place};
use crate::support::{
    Client, Http, Place,
    place::binary,
    session::{events, message},
};

/// A host whose only server is `inner`, another host with a gate that asks.
fn outer(inner: &Place) -> Place {
    let (command, config, state) = (binary(), inner.path("presets.toml"), inner.path("state"));
    Place::with(
        &format!(
            "[servers.far]\ncommand = {command:?}\nargs = [\"serve\", \"--preset\", \"all\", \"--config\", {config:?}]\n\
             env = {{ GATEHOUSE_STATE = {state:?} }}\n[presets.all]\nservers = [\"far\"]\n"
        ),
        &[],
    )
}

/// Requests that ask before they answer: method, parameters, pointer to the answer in the result, and the question.
fn offers(prefix: &str, before: &str) -> [(&'static str, Value, &'static str, &'static str); 2] {
    let prompt = json!({"name": format!("{prefix}as_answered")});
    let resource = json!({"uri": format!("{before}ask://asker/door")});
    [
        ("prompts/get", prompt, "/messages/0/content/text", "What is the prompt about?"),
        ("resources/read", resource, "/contents/0/text", "What stands at ask://asker/door?"),
    ]
}

#[test]
fn a_prompt_and_a_resource_ask_a_session() {
    let inner = place();
    let far = outer(&inner);
    let of_server = offers("far__", "gatehouse://server/far/");
    for (place, offers) in [(&inner, offers("", "")), (&far, of_server)] {
        let mut client = client(place, json!({"elicitation": {}}));
        for (method, params, answer, question) in offers {
            let request = client.ask(method, params);
            let asked = client.next_question();
            assert_eq!(asked["method"], "elicitation/create", "{asked}");
            let message = asked["params"]["message"].as_str().unwrap_or_default();
            assert!(message.contains("asks: ") && message.ends_with(question), "{asked}");
            client.send(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": accept(7)}));
            let response = client.answer(request);
            assert_eq!(response["result"].pointer(answer), Some(&json!("{\"n\":7}")), "{response}");
        }
    }
}

#[test]
fn a_client_that_cannot_be_asked_gets_the_reason() {
    let place = place();
    let mut mute = client(&place, json!({}));
    for (method, params, ..) in offers("", "") {
        let reason = mute.request(method, params)["error"].to_string();
        assert!(reason.contains("the client 'test' cannot show a form to the user"), "{reason}");
    }
    let place = Place::with(&PRESETS.replace("\"elicitation\", ", ""), &["asker", "echo"]);
    let mut asked = client(&place, json!({"elicitation": {}}));
    for (method, params, ..) in offers("", "") {
        let reason = asked.request(method, params)["error"].to_string();
        assert!(reason.contains("to grants under [gates.asker]"), "{reason}");
    }
    let mut new = Client::raw(&place, &["serve", "--preset", "all"], &[]);
    for (method, params, ..) in offers("", "") {
        let error = new.request(method, since_2026(params, json!({})))["error"].clone();
        assert_ne!(error["code"], -32021, "a missing grant is not a missing client capability: {error}");
    }
    let place = self::place();
    let mut new = Client::raw(&place, &["serve", "--preset", "all"], &[]);
    for (method, params, ..) in offers("", "") {
        let error = new.request(method, since_2026(params, json!({})))["error"].clone();
        assert_eq!(error["code"], -32021, "{error}");
        assert_eq!(error["data"]["requiredCapabilities"], json!({"elicitation": {"form": {}}}));
    }
}

fn since_2026(mut params: Value, capabilities: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    });
    params
}

#[test]
fn a_prompt_and_a_resource_ask_a_client_without_a_session() {
    let inner = place();
    let far = outer(&inner);
    let of_server = offers("far__", "gatehouse://server/far/");
    for (place, offers) in [(&inner, offers("", "")), (&far, of_server)] {
        let host = Http::start(place, "all", &[]);
        for (method, params, answer, question) in offers {
            let name = params["name"].as_str().or(params["uri"].as_str()).expect("a name").to_owned();
            let headers =
                [("mcp-protocol-version", "2026-07-28"), ("mcp-method", method), ("mcp-name", name.as_str())];
            let post = |params: &Value| {
                let (_, _, body) = host.post("/mcp", &message(1, method, params.clone()), &headers);
                let last = events(&body).last().map(|event| event.message());
                last.unwrap_or_else(|| {
                    serde_json::from_str(&body).unwrap_or_else(|_| panic!("no answer: {body}"))
                })
            };
            let mut params = since_2026(params, json!({"elicitation": {"form": {}}}));
            let asked = post(&params);
            assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
            let shown =
                asked["result"]["inputRequests"]["1"]["params"]["message"].as_str().unwrap_or_default();
            assert!(shown.ends_with(question), "{asked}");
            params["requestState"] = asked["result"]["requestState"].clone();
            params["inputResponses"] = json!({"1": accept(7)});
            let response = post(&params);
            assert_eq!(response["result"].pointer(answer), Some(&json!("{\"n\":7}")), "{response}");
            let again = post(&params);
            assert_eq!(again["error"]["code"], -32602, "an answer can be used once: {again}");
        }
    }
}
