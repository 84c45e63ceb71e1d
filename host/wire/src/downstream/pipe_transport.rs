//! Transport over the pipes of a server process: one message per line.

use std::io;

use rmcp::{
    RoleClient,
    service::TxJsonRpcMessage,
    transport::{Transport, async_rw::AsyncRwTransport},
};
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, BufReader, Empty};

use super::{
    connection::ConnectionEnd,
    inbound::{InboundReader, MAX_MESSAGE, MessageReader, ServerMessage},
};
use crate::MAX_RETAINED_LINE;

pub(super) struct PipeTransport<R, W: AsyncWrite> {
    output: BufReader<R>,
    line: Vec<u8>,
    incoming: MessageReader,
    inbound: InboundReader,
    writer: AsyncRwTransport<RoleClient, Empty, W>,
}

impl<R, W> PipeTransport<R, W>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin + Send + 'static,
{
    pub(super) fn new(output: R, input: W, inbound: &InboundReader) -> Self {
        Self {
            output: BufReader::new(output),
            line: Vec::new(),
            incoming: MessageReader::new(inbound),
            inbound: inbound.clone(),
            writer: AsyncRwTransport::new_client(tokio::io::empty(), input),
        }
    }

    /// Reads one line. Cancel safe. Returns `None` at the end of the output.
    async fn next_line(&mut self) -> Option<Vec<u8>> {
        loop {
            let available = match self.output.fill_buf().await {
                Ok(available) => available,
                Err(error) => {
                    self.inbound.end(ConnectionEnd::new(format!("cannot read its output: {error}")));
                    return None;
                }
            };
            let end = memchr::memchr(b'\n', available);
            let count = end.map_or(available.len(), |at| at + 1);
            self.line.extend_from_slice(&available[..count]);
            self.output.consume(count);
            // End the connection: the request that this line answers would wait for its timeout.
            if self.line.len() > MAX_MESSAGE {
                let why = format!("it sent a line of more than {MAX_MESSAGE} bytes");
                self.inbound.end(ConnectionEnd::new(why));
                return None;
            }
            // The last line may have no newline.
            if end.is_some() || count == 0 {
                let empty = Vec::with_capacity(self.line.len().min(MAX_RETAINED_LINE));
                let line = std::mem::replace(&mut self.line, empty);
                return (end.is_some() || !line.is_empty()).then_some(line);
            }
        }
    }
}

impl<R, W> Transport<RoleClient> for PipeTransport<R, W>
where
    R: AsyncRead + Unpin + Send,
    W: AsyncWrite + Unpin + Send + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        self.writer.send(message)
    }

    async fn receive(&mut self) -> Option<ServerMessage> {
        loop {
            if let Some(message) = self.incoming.finish().await {
                return Some(message);
            }
            let line = self.next_line().await?;
            self.incoming.begin(line);
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.writer.close().await
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use gatehouse_core::http::Redactor;

    use super::*;
    use crate::downstream::inbound::InboundLimits;

    fn pipes<R: AsyncRead + Unpin>(output: R) -> (PipeTransport<R, tokio::io::Sink>, InboundReader) {
        let inbound = InboundReader::new(&InboundLimits::new(Arc::new(Redactor::default())));
        (PipeTransport::new(output, tokio::io::sink(), &inbound), inbound)
    }

    #[tokio::test]
    async fn messages_are_read_in_any_pieces() {
        let text = "x".repeat(100_000);
        let ping = r#"{"jsonrpc":"2.0","id":"\ud83d","method":"ping"}"#;
        let long = format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/message","params":{{"level":"info","data":"{text}"}}}}"#
        );
        let output = format!("{ping}\n\nnot a message\n{long}\n{ping}");
        let (mut pipes, inbound) = pipes(output.as_bytes());
        let mut came = Vec::new();
        while let Some(message) = pipes.receive().await {
            came.push(serde_json::to_value(&message).expect("JSON"));
        }
        let expected: serde_json::Value =
            serde_json::from_str(&ping.replace("\\ud83d", "\\ufffd")).expect("JSON");
        assert_eq!(came.len(), 3, "{came:?}");
        assert_eq!((&came[0]["id"], &came[2]), (&expected["id"], &came[0]));
        assert_eq!(came[1]["params"]["data"], text);
        assert!(inbound.ended().is_none());
    }

    #[tokio::test]
    async fn a_line_without_end_ends_the_connection() {
        let (mut pipes, inbound) = pipes(tokio::io::repeat(b'x'));
        assert!(pipes.receive().await.is_none());
        let end = inbound.ended().expect("a reason");
        assert_eq!(end.why, "it sent a line of more than 16777216 bytes");
    }
}
