//! Limits on a server's messages.

use std::{
    collections::VecDeque,
    io,
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use rmcp::{
    model::{ClientJsonRpcMessage, ClientRequest, ClientResult, PingRequest},
    service::TxJsonRpcMessage,
    transport::Transport,
};
use serde_json::{Value, json};

use super::*;
use crate::downstream::{
    connection::{ConnectionContext, ListChanged},
    host_client::HostClient,
};

fn inbound(secrets: &[&str]) -> InboundReader {
    let secrets: Vec<_> = secrets.iter().map(|secret| Secret::new(*secret)).collect();
    InboundReader::new(&InboundLimits::new(Arc::new(Redactor::new(&secrets))))
}

struct Scripted(VecDeque<ServerMessage>);

impl Scripted {
    fn new(messages: impl IntoIterator<Item = Value>) -> Self {
        Self(
            messages.into_iter().map(|message| serde_json::from_value(message).expect("a message")).collect(),
        )
    }
}

impl Transport<RoleClient> for Scripted {
    type Error = io::Error;

    fn send(
        &mut self,
        _: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        std::future::ready(Ok(()))
    }

    async fn receive(&mut self) -> Option<ServerMessage> {
        self.0.pop_front()
    }

    async fn close(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn host(inbound: &InboundReader, changed: ListChanged) -> HostClient {
    let context = ConnectionContext::of_test(Some(changed), InboundLimits::new(Arc::default()));
    HostClient::new(&"far".into(), inbound.clone(), &context)
}

fn guarded(server: Scripted, inbound: &InboundReader) -> (GuardedTransport<Scripted>, Arc<AtomicUsize>) {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    let changed: ListChanged = Arc::new(move || {
        counted.fetch_add(1, Ordering::Relaxed);
    });
    (GuardedTransport::new(server, &host(inbound, changed)), count)
}

async fn send_ping(transport: &mut GuardedTransport<Scripted>, id: i64) {
    let ping = ClientRequest::PingRequest(PingRequest::default());
    transport.send(ClientJsonRpcMessage::request(ping, RequestId::Number(id))).await.expect("sent");
}

async fn read(inbound: &InboundReader, text: String) -> Option<Value> {
    inbound.read(text.into_bytes()).await.map(|message| serde_json::to_value(message).expect("JSON"))
}

#[tokio::test]
async fn changed_lists_are_handled_without_rmcp() {
    let kinds = ["tools", "prompts", "resources"];
    let changes =
        kinds.map(|kind| json!({"jsonrpc": "2.0", "method": format!("notifications/{kind}/list_changed")}));
    let log =
        json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": 1}});
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    let inbound = inbound(&[]);
    let messages = changes.into_iter().chain([log, ping]);
    let (mut transport, changed) = guarded(Scripted::new(messages), &inbound);
    assert!(matches!(transport.receive().await, Some(JsonRpcMessage::Request(_))));
    assert_eq!(changed.load(Ordering::Relaxed), 3);
}

struct Endless;

impl Transport<RoleClient> for Endless {
    type Error = io::Error;

    fn send(
        &mut self,
        _: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        std::future::ready(Ok(()))
    }

    async fn receive(&mut self) -> Option<ServerMessage> {
        tokio::time::advance(Duration::from_micros(900)).await;
        let changed = json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"});
        Some(serde_json::from_value(changed).expect("a message"))
    }

    async fn close(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test(start_paused = true)]
async fn a_flood_of_notifications_ends_the_connection() {
    let inbound = inbound(&[]);
    let mut transport = GuardedTransport::new(Endless, &host(&inbound, Arc::new(|| {})));
    let began = tokio::time::Instant::now();
    assert!(transport.receive().await.is_none());
    assert!((10..12).contains(&began.elapsed().as_secs()), "{:?}", began.elapsed());
    let why = "it sent more than 1000 unrequested messages a second for 10 s";
    assert_eq!(inbound.ended(), Some(ConnectionEnd { why: why.into(), is_abuse: true }));
}

#[tokio::test(start_paused = true)]
async fn a_flood_of_unrequested_messages_ends_the_connection() {
    for text in ["", "not a message", r#"{"jsonrpc":"2.0","id":7,"result":{"content":[]}}"#] {
        let inbound = inbound(&[]);
        let (mut transport, _) =
            guarded(Scripted::new([json!({"jsonrpc": "2.0", "id": 1, "method": "ping"})]), &inbound);
        for _ in 0..12_500 {
            assert!(inbound.ended().is_none_or(|end| end.is_abuse));
            assert_eq!(read(&inbound, text.to_owned()).await, None, "{text}");
            tokio::time::advance(Duration::from_micros(900)).await;
        }
        assert!(inbound.ended().is_some(), "{text}");
        assert!(transport.receive().await.is_none(), "it is not read on");
    }
}

#[tokio::test]
async fn reading_pauses_at_the_limit_of_unanswered_requests() {
    let ping = |id| json!({"jsonrpc": "2.0", "id": id, "method": "ping"});
    let (mut transport, _) = guarded(Scripted::new((0..40).map(ping)), &inbound(&[]));
    for _ in 0..32 {
        assert!(transport.receive().await.is_some());
    }
    assert!(futures_util::FutureExt::now_or_never(transport.receive()).is_none(), "33 unanswered requests");
    let answer = |id| ClientJsonRpcMessage::response(ClientResult::empty(()), RequestId::Number(id));
    let unsent = transport.send(answer(0));
    assert!(futures_util::FutureExt::now_or_never(transport.receive()).is_none(), "the answer is not sent");
    unsent.await.expect("sent");
    assert!(transport.receive().await.is_some());
}

#[tokio::test]
async fn a_response_with_too_many_values_fails_its_request_alone() {
    let inbound = inbound(&[]);
    let (mut transport, _) = guarded(Scripted::new([]), &inbound);
    send_ping(&mut transport, 7).await;
    let flood = format!("{}0", "0,".repeat(600_000));
    let response = format!(
        r#"{{"jsonrpc":"2.0","result":{{"content":[],"structuredContent":{{"a":[{flood}]}}}},"id":7}}"#
    );
    let error = read(&inbound, response).await.expect("an error");
    assert_eq!(error["id"], 7);
    let why = "it has 600009 values; the limit is 500000";
    assert_eq!(inbound.take_response(&RequestId::Number(7)).refused.as_deref(), Some(why));

    send_ping(&mut transport, 8).await;
    let objects = "{\"a\":{}},".repeat(150_000);
    let response = format!(r#"{{"jsonrpc":"2.0","id":8,"result":{{"a":[{objects}0]}}}}"#);
    read(&inbound, response).await.expect("an error");
    let why = inbound.take_response(&RequestId::Number(8)).refused.expect("a reason");
    assert!(why.ends_with("of memory as JSON; the limit is 100 MiB"), "{why}");
}

#[tokio::test]
async fn an_answer_that_does_not_parse_fails_its_request() {
    let inbound = inbound(&[]);
    let (mut transport, _) = guarded(Scripted::new([]), &inbound);
    for (id, result) in [(1, "[".repeat(200)), (2, "{\"a\":NaN}".into())] {
        send_ping(&mut transport, id).await;
        let error = read(&inbound, format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)).await;
        assert_eq!(
            error.map(|error| error["id"] == id && error["error"].is_object()),
            Some(true),
            "{result}"
        );
        let why = inbound.take_response(&RequestId::Number(id)).refused.expect("a reason");
        assert!(why.starts_with("it is not an MCP message: "), "{why}");
    }
    assert_eq!(read(&inbound, "no JSON".into()).await, None);
}

#[tokio::test]
async fn unrequested_responses_are_dropped() {
    let inbound = inbound(&[]);
    let (mut transport, _) = guarded(Scripted::new([]), &inbound);
    let answer = |id: &str| format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[]}}}}"#);
    assert_eq!(read(&inbound, answer("1")).await, None, "never asked");
    send_ping(&mut transport, 1).await;
    assert!(read(&inbound, answer("\"1\"")).await.is_some(), "the id as a string");
    assert_eq!(read(&inbound, answer("1")).await, None, "answered twice");
}

#[tokio::test]
async fn large_messages_share_the_memory_of_their_server() {
    let inbound = inbound(&[]);
    let (mut transport, _) = guarded(Scripted::new([]), &inbound);
    let rows = "{\"a\":1},".repeat(120_000);
    let response = |id| {
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[],"structuredContent":{{"a":[{rows}0]}}}}}}"#
        )
    };
    for id in [1, 2] {
        send_ping(&mut transport, id).await;
    }
    assert!(read(&inbound, response(1)).await.is_some());
    let mut second = Box::pin(inbound.read(response(2).into_bytes()));
    let first = inbound.take_response(&RequestId::Number(1));
    assert!(first.memory.is_counted() && first.memory.bytes > 900_000);
    let waits = tokio::time::timeout(Duration::from_millis(200), &mut second).await;
    assert!(waits.is_err(), "both take more than there is");
    drop(first);
    assert!(second.await.is_some());
}

#[tokio::test]
async fn a_large_result_bypasses_rmcp() {
    let inbound = inbound(&["s3cret-token"]);
    let (mut transport, _) = guarded(Scripted::new([]), &inbound);
    send_ping(&mut transport, 1).await;
    let text = format!("s3cret-token {}", "x".repeat(100_000));
    let content = json!([{"type": "text", "text": text}]);
    let response = json!({"jsonrpc": "2.0", "id": 1, "result": {"content": content}}).to_string();
    let message = inbound.read_with_detached_result(response.into_bytes()).await.expect("a message");
    assert!(serde_json::to_string(&message).expect("JSON").len() < 100);
    let Some(ServerResult::CallToolResult(result)) = inbound.take_response(&RequestId::Number(1)).result
    else {
        panic!("the result of a call");
    };
    let shown = serde_json::to_string(&result.content).expect("JSON");
    assert!(shown.contains("[redacted] xxx") && !shown.contains("s3cret"), "{}", &shown[..60]);
}
