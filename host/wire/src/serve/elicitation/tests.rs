//! Tests over pipes of calls that ask the client for input, with and without sessions.

use std::{sync::Arc, time::Duration};

use gatehouse_core::{
    Call, Catalog, CompiledPreset, ContentPart, Outcome, Pipeline, Reply, Source, SourceId, ToolSpec,
    catalog::{SourceListing, ToolEntry},
    pipeline::DeadlineStage,
    source::Listing,
};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, duplex},
    sync::Notify,
    task::JoinHandle,
};

use gatehouse_core::lock;

use super::*;
use crate::serve::{
    PresetView, ServedPresets,
    stdio::{self, InFlightRequests},
    workers::Workers,
};

/// A tool that asks as often as its arguments request, and logs each answer.
struct Asker {
    id: SourceId,
    over: Arc<Notify>,
}

struct Ended(Arc<Notify>);

impl Drop for Ended {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}

fn object(value: Value) -> Map<String, Value> {
    value.as_object().cloned().expect("an object")
}

#[async_trait]
impl Source for Asker {
    fn id(&self) -> &SourceId {
        &self.id
    }

    fn time_limit(&self) -> Duration {
        Duration::from_secs(30)
    }

    async fn list(&self, _: &Map<String, Value>) -> Result<Arc<Listing>, Fault> {
        let tool = ToolSpec::new("ask", "");
        Ok(Arc::new(Listing { name: "asker".into(), tools: vec![Arc::new(tool)], ..Listing::default() }))
    }

    async fn call(&self, call: &Call, _: &ToolEntry) -> Outcome {
        let _ended = Ended(Arc::clone(&self.over));
        let form = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
        let question = ClientQuestion::form(&self.id, "How many?", object(form))?;
        let mut text = String::new();
        for _ in 0..call.arguments["times"].as_u64().unwrap_or(1) {
            let answer = call.context.ask_client(std::slice::from_ref(&question)).await?;
            call.context.notify_client(MessageLevel::Info, self.id.name(), json!("answered"));
            text += &json!(answer[0]).to_string();
        }
        Ok(Reply { content: vec![ContentPart::Text(text)], ..Reply::default() })
    }
}

struct Connection {
    presets: Arc<ServedPresets>,
    over: Arc<Notify>,
    input: DuplexStream,
    output: BufReader<DuplexStream>,
    _host: JoinHandle<Result<(), stdio::StdioError>>,
}

impl Connection {
    async fn open() -> Self {
        let over = Arc::<Notify>::default();
        let asker = Arc::new(Asker { id: SourceId::Gate("asker".into()), over: Arc::clone(&over) });
        let listing = asker.list(&Map::new()).await.expect("a listing");
        let listed =
            SourceListing { source: asker, listing, params: Map::new(), problem: None, pending: None };
        let catalog = Catalog::build(&CompiledPreset::from_sources("p", Vec::new()), vec![listed]);
        let view = PresetView { catalog: catalog.expect("a catalog"), instructions: None };
        let pipeline = Pipeline::new(vec![Arc::new(DeadlineStage)]);
        let presets = Arc::new(ServedPresets::new(pipeline, view, Default::default()));
        let (input, reader) = duplex(1 << 16);
        let (writer, output) = duplex(1 << 16);
        let serving = stdio::serve(
            Arc::clone(&presets),
            Arc::<InFlightRequests>::default(),
            (reader, writer),
            Workers::default(),
        );
        let host = tokio::spawn(serving);
        Self { presets, over, input, output: BufReader::new(output), _host: host }
    }

    async fn with_session(capabilities: Value) -> Self {
        let mut client = Self::open().await;
        let who = json!({"name": "c", "version": "1"});
        let params =
            json!({"protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": who});
        client.say(json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})).await;
        client.hear().await;
        client.say(json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
        client
    }

    async fn say(&mut self, message: Value) {
        self.input.write_all(format!("{message}\n").as_bytes()).await.expect("a host that reads");
    }

    async fn hear(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).await.expect("a line");
        serde_json::from_str(&line).expect("JSON")
    }

    async fn call(&mut self, id: u64, params: Value) {
        self.say(json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})).await;
    }

    /// Calls a tool as a client since 2026-07-28, and returns the result.
    async fn result(&mut self, id: u64, more: Value) -> Value {
        let mut params = object(json!({"name": "ask", "arguments": {}, "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "c", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}},
        }}));
        params.extend(object(more));
        self.call(id, Value::Object(params)).await;
        self.hear().await
    }
}

fn text(message: &Value) -> &str {
    message["result"]["content"][0]["text"].as_str().unwrap_or_default()
}

fn accepted(n: u64) -> Value {
    json!({"action": "accept", "content": {"n": n}})
}

#[tokio::test]
async fn a_client_with_a_session_is_sent_the_questions() {
    let mut client = Connection::with_session(json!({"elicitation": {}})).await;
    client
        .say(json!({"jsonrpc": "2.0", "id": 1, "method": "logging/setLevel", "params": {"level": "info"}}))
        .await;
    assert_eq!(client.hear().await["result"], json!({}));
    client.call(2, json!({"name": "ask", "arguments": {"times": 2}})).await;
    for answer in [accepted(7), json!({"action": "decline"})] {
        let asked = client.hear().await;
        assert_eq!(asked["method"], "elicitation/create");
        assert_eq!(asked["params"]["message"], "Gate 'asker' asks: How many?");
        assert_eq!(asked["params"]["requestedSchema"]["properties"]["n"]["type"], "integer");
        client.say(json!({"jsonrpc": "2.0", "id": asked["id"], "result": answer})).await;
        let notification = client.hear().await;
        assert_eq!(notification["method"], "notifications/message");
        assert_eq!(notification["params"], json!({"level": "info", "logger": "asker", "data": "answered"}));
    }
    let reply = client.hear().await;
    assert_eq!(text(&reply), r#"{"action":"accept","content":{"n":7}}{"action":"decline"}"#);
}

#[tokio::test]
async fn a_client_that_cannot_or_will_not_is_named() {
    let mut client = Connection::with_session(json!({})).await;
    client.call(1, json!({"name": "ask"})).await;
    let reply = client.hear().await;
    assert!(text(&reply).starts_with("the client 'c' cannot show a form to the user"), "{reply}");

    let mut client = Connection::with_session(json!({"elicitation": {}})).await;
    client.call(1, json!({"name": "ask"})).await;
    let asked = client.hear().await;
    let error = json!({"code": -32603, "message": "no screen"});
    client.say(json!({"jsonrpc": "2.0", "id": asked["id"], "error": error})).await;
    let reply = client.hear().await;
    assert!(text(&reply).starts_with("the client refused the question: no screen (-32603)"), "{reply}");
}

#[tokio::test]
async fn since_2026_the_error_names_the_missing_client_capabilities() {
    let mut client = Connection::open().await;
    for declared in [json!({}), json!({"sampling": {}})] {
        let meta = json!({"_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": declared,
        }});
        let error = &client.result(1, meta).await["error"];
        assert_eq!(error["code"], -32021, "{error}");
        assert_eq!(error["data"], json!({"requiredCapabilities": {"elicitation": {"form": {}}}}));
        assert!(
            error["message"].as_str().is_some_and(|reason| reason.contains("cannot show a form to the user"))
        );
    }
}

#[tokio::test]
async fn a_call_that_is_given_up_asks_no_more() {
    let mut client = Connection::with_session(json!({"elicitation": {}})).await;
    client.call(1, json!({"name": "ask"})).await;
    let asked = client.hear().await;
    let params = json!({"requestId": 1});
    client.say(json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})).await;
    client.over.notified().await;
    let cancelled = client.hear().await;
    assert_eq!(cancelled["method"], "notifications/cancelled");
    assert_eq!(cancelled["params"]["requestId"], asked["id"]);
}

#[tokio::test]
async fn a_client_without_a_session_repeats_its_request_with_the_answers() {
    let mut client = Connection::open().await;
    let twice = json!({"times": 2});
    let mut reply = client.result(1, json!({"arguments": twice})).await;
    for n in 1..=2 {
        let result = &reply["result"];
        assert_eq!(result["resultType"], "input_required", "{reply}");
        let question = &result["inputRequests"]["1"];
        assert_eq!(question["method"], "elicitation/create");
        assert_eq!(question["params"]["message"], "Gate 'asker' asks: How many?");
        let (state, answers) = (result["requestState"].clone(), json!({"1": accepted(n)}));
        let retry = json!({"arguments": twice, "requestState": state, "inputResponses": answers});
        reply = client.result(n + 1, retry).await;
    }
    let both = r#"{"action":"accept","content":{"n":1}}{"action":"accept","content":{"n":2}}"#;
    assert_eq!(text(&reply), both, "{reply}");
    assert_eq!(lock(&client.presets.paused_calls.calls).len(), 0);
}

#[tokio::test]
async fn only_the_same_call_goes_on() {
    let mut client = Connection::open().await;
    let asked = client.result(1, json!({"arguments": {"times": 1}})).await;
    let state = asked["result"]["requestState"].clone();
    let answers = json!({"1": accepted(1)});
    for wrong in [
        json!({"arguments": {"times": 2}, "requestState": state, "inputResponses": answers}),
        json!({"arguments": {"times": 1}, "requestState": "guessed", "inputResponses": answers}),
    ] {
        let error = client.result(2, wrong).await;
        assert_eq!(error["error"]["code"], -32602, "{error}");
        assert!(
            error["error"]["message"].as_str().is_some_and(|reason| reason.contains("Call the tool again"))
        );
    }
    // Without all answers, the host asks again with a new state token.
    let again = client.result(3, json!({"arguments": {"times": 1}, "requestState": state})).await;
    let other = again["result"]["requestState"].clone();
    assert!(other.is_string() && other != state, "{again}");
    let unfit = json!({"1": {"action": "accept", "content": {"n": "many"}}});
    let reply = client
        .result(4, json!({"arguments": {"times": 1}, "requestState": other, "inputResponses": unfit}))
        .await;
    assert!(text(&reply).contains("does not match the question"), "{reply}");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_nobody_answers_is_given_up() {
    let mut client = Connection::open().await;
    let asked = client.result(1, json!({})).await;
    assert_eq!(lock(&client.presets.paused_calls.calls).len(), 1);
    // The call's own limit of thirty seconds is paused.
    tokio::time::advance(Duration::from_secs(599)).await;
    assert_eq!(lock(&client.presets.paused_calls.calls).len(), 1);
    client.over.notified().await;
    let state = asked["result"]["requestState"].clone();
    let late = client.result(2, json!({"requestState": state, "inputResponses": {"1": accepted(1)}})).await;
    assert!(late["error"]["message"].is_string() || text(&late).contains("no answer arrived"), "{late}");
}
