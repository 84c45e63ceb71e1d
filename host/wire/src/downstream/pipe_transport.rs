//! Transport over the pipes of a server process: one message per line.

use std::{io, sync::Arc, task::Poll, time::Duration};

use rmcp::{RoleClient, service::TxJsonRpcMessage, transport::Transport};
use serde::Serialize;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader},
    runtime::Handle,
    sync::Mutex,
    time::timeout,
};

use super::{
    connection::ConnectionEnd,
    inbound::{InboundReader, MAX_MESSAGE, MessageReader, ServerMessage},
};
use crate::MAX_RETAINED_LINE;

/// Maximum wait for the writes of other calls.
const MAX_CLOSE_WAIT: Duration = Duration::from_secs(1);

pub(super) struct PipeTransport<R> {
    output: BufReader<R>,
    line: Vec<u8>,
    incoming: MessageReader,
    writer: PipeWriter,
}

impl<R> Drop for PipeTransport<R> {
    /// Closes the input, so that the server exits. Other owners of the writer may live longer.
    fn drop(&mut self) {
        if let Ok(mut input) = self.writer.input.try_lock() {
            input.take();
        }
    }
}

/// Input of a server process.
#[derive(Clone)]
pub(super) struct PipeWriter {
    /// `None` after it was closed.
    input: Arc<Mutex<Option<Box<dyn AsyncWrite + Send + Unpin>>>>,
    /// Runtime of the connection. That of a caller may end before a line is complete.
    runtime: Handle,
}

impl PipeWriter {
    /// Writes a message whole, even if the caller stops waiting.
    pub(super) async fn write(&self, message: &impl Serialize) -> io::Result<()> {
        let mut line = serde_json::to_vec(message)?;
        line.push(b'\n');
        self.write_line(line).await
    }

    async fn write_line(&self, line: Vec<u8>) -> io::Result<()> {
        let mut writer = Arc::clone(&self.input).lock_owned().await;
        let mut writing = Box::pin(async move {
            let writer = writer.as_mut().ok_or(io::ErrorKind::NotConnected)?;
            writer.write_all(&line).await?;
            writer.flush().await
        });
        match futures_util::poll!(&mut writing) {
            Poll::Ready(written) => written,
            Poll::Pending => self.runtime.spawn(writing).await?,
        }
    }

    async fn close(&self) -> io::Result<()> {
        match self.input.lock().await.take() {
            Some(mut writer) => writer.shutdown().await,
            None => Ok(()),
        }
    }
}

impl<R: AsyncRead + Unpin> PipeTransport<R> {
    pub(super) fn new(
        output: R,
        input: impl AsyncWrite + Send + Unpin + 'static,
        inbound: &InboundReader,
    ) -> Self {
        Self {
            output: BufReader::new(output),
            line: Vec::new(),
            incoming: MessageReader::new(inbound),
            writer: PipeWriter {
                input: Arc::new(Mutex::new(Some(Box::new(input)))),
                runtime: Handle::current(),
            },
        }
    }

    pub(super) fn writer(&self) -> PipeWriter {
        self.writer.clone()
    }

    /// Reads one line. Cancel safe. Returns `None` at the end of the output.
    async fn next_line(&mut self) -> Option<Vec<u8>> {
        loop {
            let available = match self.output.fill_buf().await {
                Ok(available) => available,
                Err(error) => {
                    self.incoming.inbound.end(ConnectionEnd::new(format!("cannot read its output: {error}")));
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
                self.incoming.inbound.end(ConnectionEnd::new(why));
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

impl<R: AsyncRead + Unpin + Send> Transport<RoleClient> for PipeTransport<R> {
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let writer = self.writer.clone();
        async move { writer.write(&message).await }
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
        // While a server does not read, a write keeps the input open. It fails when the process is ended, which waits for
        // this.
        timeout(MAX_CLOSE_WAIT, self.writer.close()).await.unwrap_or(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use gatehouse_core::http::Redactor;
    use tokio::io::AsyncReadExt as _;

    use super::*;
    use crate::downstream::inbound::InboundLimits;

    fn pipes<R: AsyncRead + Unpin>(output: R) -> (PipeTransport<R>, InboundReader) {
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
    async fn a_message_is_written_whole_although_its_caller_is_gone() {
        let (input, mut reader) = tokio::io::duplex(16);
        let inbound = InboundReader::new(&InboundLimits::new(Arc::new(Redactor::default())));
        let transport = PipeTransport::new(tokio::io::empty(), input, &inbound);
        let writer = transport.writer();
        let text = "x".repeat(1_000);
        let mut first = Box::pin(writer.write(&text));
        assert!(futures_util::poll!(&mut first).is_pending(), "the pipe is full");
        drop(first);
        let mut second = Box::pin(writer.write(&1));
        assert!(futures_util::poll!(&mut second).is_pending(), "the first comes first");
        drop(second);
        tokio::spawn(async move {
            writer.write(&2).await.expect("a reader");
            drop(transport);
        });
        let mut received = String::new();
        reader.read_to_string(&mut received).await.expect("text");
        assert_eq!(received, format!("\"{text}\"\n2\n"));
    }

    #[tokio::test]
    async fn a_line_without_end_ends_the_connection() {
        let (mut pipes, inbound) = pipes(tokio::io::repeat(b'x'));
        assert!(pipes.receive().await.is_none());
        let end = inbound.ended().expect("a reason");
        assert_eq!(end.why, "it sent a line of more than 16777216 bytes");
    }
}
