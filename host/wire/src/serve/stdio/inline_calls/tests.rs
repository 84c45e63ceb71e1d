//! Tests of inline calls over pipes.

use std::{
    io,
    sync::atomic::{AtomicUsize, Ordering},
    task::Context,
};

use async_trait::async_trait;
use gatehouse_core::{
    Call, Catalog, CompiledPreset, ContentPart, Fault, Outcome, Pipeline, Reply, Source, SourceId, ToolSpec,
    catalog::{SourceListing, ToolEntry},
    pipeline::DeadlineStage,
    source::Listing,
};
use serde_json::{Map, Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncWrite, AsyncWriteExt, BufReader, DuplexStream, duplex},
    sync::Notify,
    task::{JoinHandle, yield_now},
};

use super::*;
use crate::serve::{
    PresetView, ServedPresets,
    stdio::{self, InFlightRequests, StdioError},
};

/// Scheduler turns for other tasks before a check; far more than needed.
const TURNS: usize = 2_000;

struct Tools {
    id: SourceId,
    let_go: Notify,
    /// Notified when a call starts to wait.
    waiting: Notify,
    given_up: Arc<Notify>,
}

/// Notifies on drop that its call is over.
struct Ended(Arc<Notify>);

impl Drop for Ended {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}

#[async_trait]
impl Source for Tools {
    fn id(&self) -> &SourceId {
        &self.id
    }

    fn time_limit(&self) -> Duration {
        Duration::from_secs(30)
    }

    async fn list(&self, _: &Map<String, Value>) -> Result<Arc<Listing>, Fault> {
        let tool = |name: &str| Arc::new(ToolSpec::new(name, ""));
        let tools = ["echo", "panics", "waits"].map(tool).into();
        Ok(Arc::new(Listing { name: "tools".into(), tools, ..Listing::default() }))
    }

    async fn call(&self, call: &Call, tool: &ToolEntry) -> Outcome {
        match &*tool.id.name {
            "panics" => panic!("as it was asked to"),
            "waits" => {
                let _ended = Ended(Arc::clone(&self.given_up));
                self.waiting.notify_one();
                self.let_go.notified().await;
            }
            _ => {}
        }
        let text = call.arguments["text"].as_str().unwrap_or_default().to_owned();
        Ok(Reply { content: vec![ContentPart::Text(text)], structured: None, is_error: false, meta: None })
    }
}

struct Counting(DuplexStream, Arc<AtomicUsize>);

impl AsyncWrite for Counting {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.1.fetch_add(1, Ordering::Relaxed);
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}

/// A host and its client, after the handshake.
struct Connection {
    tools: Arc<Tools>,
    input: DuplexStream,
    output: BufReader<DuplexStream>,
    writes: Arc<AtomicUsize>,
    host: JoinHandle<Result<(), StdioError>>,
}

impl Connection {
    /// Starts a host whose output pipe holds this many bytes.
    async fn open(room: usize) -> Self {
        let id = SourceId::Gate("tools".into());
        let (let_go, waiting, given_up) = Default::default();
        let tools = Arc::new(Tools { id, let_go, waiting, given_up });
        let listing = tools.list(&Map::new()).await.expect("a listing");
        let source = Arc::clone(&tools) as _;
        let listed = SourceListing { source, listing, params: Map::new(), problem: None, pending: None };
        let exposure = CompiledPreset::from_sources("p", Vec::new());
        let catalog = Catalog::build(&exposure, vec![listed]).expect("a catalog");
        let view = PresetView { catalog, instructions: None };
        let presets =
            ServedPresets::new(Pipeline::new(vec![Arc::new(DeadlineStage)]), view, Default::default());

        let (input, reader) = duplex(1 << 16);
        let (writer, output) = duplex(room);
        let writes = Arc::<AtomicUsize>::default();
        let pipes = (reader, Counting(writer, Arc::clone(&writes)));
        let pending = Arc::<InFlightRequests>::default();
        let host = tokio::spawn(stdio::serve(Arc::new(presets), pending, pipes, Workers::default()));
        let mut connection = Self { tools, input, output: BufReader::new(output), writes, host };
        let client = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}});
        connection.say(&[json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": client})]).await;
        connection.reply().await;
        connection.say(&[json!({"jsonrpc": "2.0", "method": "notifications/initialized"})]).await;
        connection.settle().await;
        connection.writes.store(0, Ordering::Relaxed);
        connection
    }

    async fn say(&mut self, messages: &[Value]) {
        let lines: String = messages.iter().map(|message| format!("{message}\n")).collect();
        self.input.write_all(lines.as_bytes()).await.expect("a host that reads");
    }

    async fn reply(&mut self) -> (u64, String) {
        let mut line = String::new();
        self.output.read_line(&mut line).await.expect("a line");
        let reply: Value = serde_json::from_str(&line).expect("JSON");
        let text = &reply["result"]["content"][0]["text"];
        (reply["id"].as_u64().expect("an id"), text.as_str().unwrap_or_default().to_owned())
    }

    async fn settle(&self) {
        for _ in 0..TURNS {
            yield_now().await;
        }
    }
}

fn call(id: u64, tool: &str, text: &str) -> Value {
    let params = json!({"name": tool, "arguments": {"text": text}});
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
}

#[tokio::test]
async fn replies_come_in_the_order_of_the_calls_and_few_writes() {
    let mut connection = Connection::open(1 << 20).await;
    let calls: Vec<Value> = (1..=100).map(|id| call(id, "echo", &format!("text {id}"))).collect();
    connection.say(&calls).await;
    for id in 1..=100 {
        assert_eq!(connection.reply().await, (id, format!("text {id}")));
    }
    // A slow machine may write before all replies are ready.
    let writes = connection.writes.load(Ordering::Relaxed);
    assert!((100 / MAX_BATCHED_REPLIES..=50).contains(&writes), "{writes}");
}

#[tokio::test]
async fn a_reply_does_not_wait_for_a_line_that_is_not_there() {
    let mut connection = Connection::open(1 << 20).await;
    connection.say(&[call(1, "echo", "alone")]).await;
    assert_eq!(connection.reply().await, (1, "alone".into()));
    // An incomplete line does not count as input.
    connection
        .input
        .write_all(format!("{}\n{{\"json", call(2, "echo", "whole")).as_bytes())
        .await
        .expect("sent");
    assert_eq!(connection.reply().await, (2, "whole".into()));
}

#[tokio::test]
async fn a_call_that_waits_holds_no_other_up() {
    let mut connection = Connection::open(1 << 20).await;
    connection.say(&[call(1, "waits", "late"), call(2, "echo", "soon"), call(3, "panics", "")]).await;
    assert_eq!(connection.reply().await, (2, "soon".into()));
    let (failed, text) = connection.reply().await;
    assert!(failed == 3 && text.contains("the host failed on this call"), "{text}");
    connection.tools.let_go.notify_one();
    assert_eq!(connection.reply().await, (1, "late".into()));
}

#[tokio::test]
async fn after_its_input_is_closed_the_host_ends_with_the_last_reply() {
    let mut connection = Connection::open(1 << 20).await;
    connection.say(&[call(1, "waits", "late"), call(2, "echo", "soon")]).await;
    connection.tools.waiting.notified().await;
    connection.input.shutdown().await.expect("closed");
    assert_eq!(connection.reply().await, (2, "soon".into()));
    connection.tools.let_go.notify_one();
    assert_eq!(connection.reply().await, (1, "late".into()));
    assert!(connection.host.await.expect("no panic").is_ok());
}

#[tokio::test]
async fn a_client_that_reads_nothing_can_still_give_a_call_up() {
    let mut connection = Connection::open(16).await;
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 9}});
    connection.say(&[call(9, "waits", "never")]).await;
    connection.tools.waiting.notified().await;
    for id in 1..=5 {
        connection.say(&[call(id, "echo", "nobody reads this")]).await;
        connection.settle().await;
    }
    connection.say(&[cancel]).await;
    connection.tools.given_up.notified().await;
    for id in 1..=5 {
        assert_eq!(connection.reply().await.0, id, "and nothing is lost");
    }
}

#[tokio::test]
async fn a_client_that_reads_nothing_is_not_read_from_for_ever() {
    let Connection { tools: _tools, mut input, output, host, .. } = Connection::open(16).await;
    let sent = Arc::<AtomicUsize>::default();
    let (calls, text, count) = (2_000, "x".repeat(1_000), Arc::clone(&sent));
    let feeding = tokio::spawn(async move {
        for id in 1..=calls {
            input.write_all(format!("{}\n", call(id, "echo", &text)).as_bytes()).await.expect("sent");
            count.fetch_add(1, Ordering::Relaxed);
        }
    });
    for _ in 0..10 * TURNS {
        yield_now().await;
    }
    // The write queue, the read queue and the pipe between them.
    let taken = sent.load(Ordering::Relaxed);
    assert!((60..300).contains(&taken), "{taken}");
    let mut lines = output.lines();
    for id in 1..=calls {
        let line = lines.next_line().await.expect("a line").expect("one for each call");
        assert!(line.contains(&format!("\"id\":{id},")), "{line}");
    }
    feeding.await.expect("fed");
    assert!(host.await.expect("no panic").is_ok());
}
