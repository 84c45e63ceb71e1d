//! Sessions with a server of a test over pipes.

use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, duplex},
    sync::mpsc,
};

use crate::downstream::{
    connection::ConnectionContext,
    peer::{Channel, InboundLimits, Lifecycle, NegotiationFailure, Peer},
    pipes::{PipeWriter, spawn_reader},
    session::ServerSession,
};

pub(in crate::downstream) const LIFECYCLES: [Lifecycle; 2] = [Lifecycle::Handshake, Lifecycle::Discovery];

/// Answers the messages that begin a session.
pub(in crate::downstream) fn begin(message: &Value) -> Option<Value> {
    begin_with(message, &json!({"tools": {}}))
}

pub(in crate::downstream) fn begin_with(message: &Value, capabilities: &Value) -> Option<Value> {
    let result = match message["method"].as_str() {
        Some("initialize") => json!({
            "protocolVersion": "2025-11-25", "capabilities": capabilities,
            "serverInfo": {"name": "s", "version": "1"},
        }),
        Some("server/discover") => json!({
            "resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": capabilities,
            "ttlMs": 0, "cacheScope": "private",
        }),
        _ => return None,
    };
    Some(json!({"jsonrpc": "2.0", "id": message["id"], "result": result}))
}

/// Connects to a server that sends these messages when it receives one, and ends when it is to send null. The channel
/// yields what it received.
pub(in crate::downstream) async fn scripted_session(
    lifecycle: Lifecycle,
    answers: impl FnMut(&Value) -> Vec<Value> + Send + 'static,
) -> (ServerSession, mpsc::UnboundedReceiver<Value>) {
    let context = ConnectionContext::of_test(None, InboundLimits::new(Default::default()));
    let (session, received) = try_session(lifecycle, context, answers).await;
    (session.expect("a session"), received)
}

pub(in crate::downstream) async fn try_session(
    lifecycle: Lifecycle,
    context: ConnectionContext,
    mut answers: impl FnMut(&Value) -> Vec<Value> + Send + 'static,
) -> (Result<ServerSession, NegotiationFailure>, mpsc::UnboundedReceiver<Value>) {
    let (input, reader) = duplex(1 << 16);
    let (mut writer, output) = duplex(1 << 16);
    let (sender, received) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        let mut lines = BufReader::new(reader).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            let message: Value = serde_json::from_str(&line).expect("JSON");
            let _ = sender.send(message.clone());
            for answer in answers(&message) {
                // A text is sent as it is.
                let line = match answer {
                    Value::Null => return,
                    Value::String(text) => text,
                    answer => answer.to_string(),
                };
                if writer.write_all(format!("{line}\n").as_bytes()).await.is_err() {
                    return;
                }
            }
        }
    });
    (session_on(lifecycle, context, output, input).await, received)
}

/// Connects to a server at these pipes.
pub(in crate::downstream) async fn session_on(
    lifecycle: Lifecycle,
    context: ConnectionContext,
    output: DuplexStream,
    input: DuplexStream,
) -> Result<ServerSession, NegotiationFailure> {
    let peer = Peer::new(&"far".into(), Channel::Pipes(PipeWriter::new(input)), context);
    spawn_reader(&peer, output, None);
    let info = peer.negotiate(lifecycle).await?;
    Ok(ServerSession::new(peer, info, None))
}
