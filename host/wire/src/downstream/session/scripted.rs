//! Sessions with a server of a test over pipes.

use std::sync::Arc;

use rmcp::service::ClientLifecycleMode;
use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, duplex},
    sync::mpsc,
};

use super::{PipeCalls, ServerSession};
use crate::downstream::{
    connection::ConnectionContext,
    host_client::HostClient,
    inbound::{InboundLimits, InboundReader},
    pipe_transport::PipeTransport,
};

/// Connects to a server that sends these messages when it receives one, and ends when it is to send null. The channel
/// yields what it received.
pub(super) async fn scripted_session(
    mode: ClientLifecycleMode,
    mut answers: impl FnMut(&Value) -> Vec<Value> + Send + 'static,
) -> (ServerSession, mpsc::UnboundedReceiver<Value>) {
    let (input, reader) = duplex(1 << 16);
    let (mut writer, output) = duplex(1 << 16);
    let (sender, received) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        let mut lines = BufReader::new(reader).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            let message: Value = serde_json::from_str(&line).expect("JSON");
            for answer in answers(&message) {
                if answer.is_null() {
                    return;
                }
                writer.write_all(format!("{answer}\n").as_bytes()).await.expect("a client");
            }
            let _ = sender.send(message);
        }
    });
    (session_on(mode, output, input).await, received)
}

/// Connects to a server at these pipes.
pub(super) async fn session_on(
    mode: ClientLifecycleMode,
    output: DuplexStream,
    input: DuplexStream,
) -> ServerSession {
    let context = ConnectionContext::of_test(None, InboundLimits::new(Arc::default()));
    let inbound = InboundReader::new(&context.limits);
    let client = HostClient::new(&"far".into(), inbound.clone(), &context);
    let transport = PipeTransport::new(output, input, &inbound);
    let writer = transport.writer();
    let running = client.serve(transport, mode).await.expect("a session");
    let calls = PipeCalls::new(&running, writer).await;
    ServerSession::new(running, None, Some(calls))
}
