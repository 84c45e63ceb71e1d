//! Tests of the principal of requests, and of the thread that runs them.

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    sync::{Arc, Mutex},
    thread::{self, ThreadId},
    time::Duration,
};

use async_trait::async_trait;
use gatehouse_core::{
    Call, Catalog, CompiledPreset, Fault, Outcome, Pipeline, Principal, Reply, Source, SourceId, ToolSpec,
    catalog::{SourceListing, ToolEntry},
    lock,
    outcome::EmbeddedResource,
    ports::readiness::{ReadinessCheck, ReadinessReport},
    resource::UriTemplate,
    source::Listing,
};
use serde_json::{Map, Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    task::JoinHandle,
};
use tokio_util::sync::CancellationToken;

use super::{Credentials, HttpSettings, bind};
use crate::serve::{BearerToken, PresetView, SealKeys, ServedPresets};

mod people;

const TOKEN: &str = "0123456789abcdef0123456789abcdef";

const URI: &str = "test://who";

/// A source with one tool and one resource that records its callers.
struct Recorder {
    id: SourceId,
    callers: Mutex<Vec<Principal>>,
    /// Threads that ran its calls.
    threads: Mutex<Vec<ThreadId>>,
}

#[async_trait]
impl Source for Recorder {
    fn id(&self) -> &SourceId {
        &self.id
    }

    fn time_limit(&self) -> Duration {
        Duration::from_secs(10)
    }

    async fn list(&self, _: &Map<String, Value>) -> Result<Arc<Listing>, Fault> {
        let object = || Arc::new(Map::from_iter([("type".to_owned(), json!("object"))]));
        let tool = ToolSpec { input_schema: object(), ..ToolSpec::new("who", "Remembers who calls.") };
        let tools = vec![Arc::new(tool)];
        Ok(Arc::new(Listing {
            name: "recorder".into(),
            params_schema: object(),
            tools,
            resources: true,
            templates: vec![UriTemplate {
                uri_template: URI.into(),
                name: "who".into(),
                title: None,
                description: None,
                mime_type: None,
            }],
            ..Listing::default()
        }))
    }

    async fn call(&self, call: &Call, _: &ToolEntry) -> Outcome {
        lock(&self.callers).push(call.context.principal().clone());
        lock(&self.threads).push(thread::current().id());
        Ok(Reply::default())
    }

    async fn read_resource(
        &self,
        call: &Call,
        _: &Arc<str>,
        _: &str,
    ) -> Result<Vec<EmbeddedResource>, Fault> {
        lock(&self.callers).push(call.context.principal().clone());
        Ok(Vec::new())
    }
}

impl Default for Recorder {
    fn default() -> Self {
        let id = SourceId::Gate("recorder".into());
        Self { id, callers: Mutex::default(), threads: Mutex::default() }
    }
}

/// Returns the principal of a call with this header, on a host with this token.
async fn callers(token: Option<&str>, header: &str) -> Vec<Principal> {
    let called = asked(token, header, "tools/call", json!({"name": "who", "arguments": {}})).await;
    assert_eq!(asked(token, header, "resources/read", json!({"uri": URI})).await, called);
    called
}

async fn asked(token: Option<&str>, header: &str, method: &str, params: Value) -> Vec<Principal> {
    lock(&sent(token, header, method, params).await.callers).clone()
}

struct AlwaysReady;

#[async_trait]
impl ReadinessCheck for AlwaysReady {
    async fn report(&self) -> ReadinessReport {
        ReadinessReport::default()
    }
}

/// A host with a recorder, on a free port.
struct TestHost {
    source: Arc<Recorder>,
    address: SocketAddr,
    stop: CancellationToken,
    served: JoinHandle<()>,
}

impl TestHost {
    async fn start(credentials: Credentials) -> Self {
        let source = Arc::new(Recorder::default());
        let listing = source.list(&Map::new()).await.expect("a listing");
        let offer = SourceListing {
            source: Arc::clone(&source) as _,
            listing,
            params: Map::new(),
            problem: None,
            pending: None,
        };
        let catalog =
            Catalog::build(&CompiledPreset::from_sources("p", Vec::new()), vec![offer]).expect("a catalog");
        let view = PresetView { catalog, instructions: None };
        let presets = Arc::new(ServedPresets::new(Pipeline::new(Vec::new()), view, BTreeMap::new()));
        let http = bind("127.0.0.1:0".parse().expect("an address"), credentials).await.expect("a port");
        let (address, stop) = (http.address, CancellationToken::new());
        let seal = SealKeys::new(&[SealKeys::random_key().expect("random")]).expect("a key");
        let served = tokio::spawn(http.serve(
            presets,
            HttpSettings::default(),
            seal,
            Arc::new(AlwaysReady),
            stop.clone(),
        ));
        Self { source, address, stop, served }
    }

    /// Sends a request and returns the whole answer. `headers` end with a line break each.
    async fn send(&self, method: &str, path: &str, headers: &str, body: &str) -> String {
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\ncontent-type: application/json\r\n\
             accept: application/json, text/event-stream\r\n{headers}content-length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        );
        let mut client = TcpStream::connect(self.address).await.expect("connected");
        client.write_all(request.as_bytes()).await.expect("sent");
        let mut answer = Vec::new();
        client.read_to_end(&mut answer).await.expect("answered");
        String::from_utf8_lossy(&answer).into_owned()
    }

    async fn end(self) -> Arc<Recorder> {
        self.stop.cancel();
        self.served.await.expect("ended");
        self.source
    }
}

/// Sends a request to a host with a recorder. Its name or URI is also in a header.
async fn sent(token: Option<&str>, header: &str, method: &str, mut params: Value) -> Arc<Recorder> {
    let token = token.map(|token| BearerToken::new(token.to_owned()).expect("a token"));
    let host = TestHost::start(Credentials { token, authenticator: None }).await;
    let about = params.get("name").or(params.get("uri")).and_then(Value::as_str).expect("a name").to_owned();
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
    let headers =
        format!("mcp-method: {method}\r\nmcp-name: {about}\r\nmcp-protocol-version: 2026-07-28\r\n{header}");
    host.send("POST", "/mcp", &headers, &body).await;
    host.end().await
}

#[tokio::test]
async fn a_call_is_made_in_the_name_that_its_request_was_admitted_under() {
    assert_eq!(callers(None, "").await, [Principal::Local]);
    let bearer = format!("authorization: Bearer {TOKEN}\r\n");
    assert_eq!(
        callers(None, &bearer).await,
        [Principal::Local],
        "a token is ignored if the host does not require one"
    );
    assert_eq!(callers(Some(TOKEN), &bearer).await, [Principal::Named("token".into())]);
    assert_eq!(callers(Some(TOKEN), "").await, []);
}

#[tokio::test]
async fn large_requests_leave_the_threads_of_small_ones_alone() {
    let threads = async |text: String| {
        let params = json!({"name": "who", "arguments": {"text": text}});
        lock(&sent(None, "", "tools/call", params).await.threads).clone()
    };
    let here = thread::current().id();
    assert_eq!(threads("x".into()).await, [here], "this runtime has one thread");
    let large = threads("x".repeat(100 << 10)).await;
    assert!(large.len() == 1 && large[0] != here, "{large:?}");
}
