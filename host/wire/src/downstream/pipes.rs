//! Framing over the pipes of a server process: one message per line.

use std::{io, sync::Arc, task::Poll, time::Duration};

use serde::Serialize;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader},
    runtime::Handle,
    sync::Mutex,
    time::{sleep, timeout},
};

use super::{
    connection::ConnectionEnd,
    peer::{MAX_MESSAGE, Peer},
    process::ServerProcess,
};
use crate::MAX_RETAINED_LINE;

/// Maximum wait for the writes of other calls.
const MAX_CLOSE_WAIT: Duration = Duration::from_secs(1);

/// Maximum time between the exit of a process and the end of its output, in either order.
const MAX_EXIT_WAIT: Duration = Duration::from_millis(500);

/// Input of a server process.
#[derive(Clone)]
pub(super) struct PipeWriter {
    /// `None` after it was closed.
    input: Arc<Mutex<Option<Box<dyn AsyncWrite + Send + Unpin>>>>,
    /// Runtime of the connection. That of a caller may end before a line is complete.
    runtime: Handle,
}

impl PipeWriter {
    pub(super) fn new(input: impl AsyncWrite + Send + Unpin + 'static) -> Self {
        Self { input: Arc::new(Mutex::new(Some(Box::new(input)))), runtime: Handle::current() }
    }

    /// Writes a message whole, even if the caller stops waiting.
    pub(super) async fn write(&self, message: &impl Serialize) -> io::Result<()> {
        let mut line = serde_json::to_vec(message)?;
        line.push(b'\n');
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

    /// Closes the input, so that the server exits. While a server does not read, a write keeps the input open; it fails
    /// when the process is ended, which waits for this.
    pub(super) async fn close(&self) {
        let close = async {
            if let Some(mut writer) = self.input.lock().await.take() {
                let _ = writer.shutdown().await;
            }
        };
        let _ = timeout(MAX_CLOSE_WAIT, close).await;
    }
}

/// Reads messages until the server closes its output, exits, or is to be closed.
pub(super) fn spawn_reader(
    peer: &Arc<Peer>,
    output: impl AsyncRead + Send + Unpin + 'static,
    process: Option<Arc<ServerProcess>>,
) {
    let peer = Arc::clone(peer);
    tokio::spawn(async move {
        let exit = async {
            match &process {
                // Its last messages may not be read yet.
                Some(process) => {
                    let exit_reason = process.ended().await;
                    sleep(MAX_EXIT_WAIT).await;
                    exit_reason
                }
                None => std::future::pending().await,
            }
        };
        let reason = tokio::select! {
            biased;
            reason = read_messages(&peer, output) => reason,
            () = peer.closing().cancelled() => "the connection is closed".into(),
            // A descendant may hold the output open after the process exits.
            exit_reason = exit => exit_reason,
        };
        // A process that exits closes its output a moment earlier.
        let exit_reason = match &process {
            Some(process) => timeout(MAX_EXIT_WAIT, process.ended()).await.ok(),
            None => None,
        };
        let stderr = process.and_then(|process| process.error_summary());
        let stderr = stderr.map(|stderr| format!("; stderr: {stderr}")).unwrap_or_default();
        peer.record_end(ConnectionEnd::new(format!("{}{stderr}", exit_reason.unwrap_or(reason))));
        peer.close().await;
    });
}

async fn read_messages(peer: &Arc<Peer>, output: impl AsyncRead + Unpin) -> String {
    let (mut output, mut line) = (BufReader::new(output), Vec::new());
    loop {
        match next_line(&mut output, &mut line).await {
            Ok(true) => {}
            Ok(false) => return "it closed its output".into(),
            Err(reason) => return reason,
        }
        peer.record_heard();
        if line.trim_ascii().is_empty() {
            peer.count_unrequested(1, line.len());
            line.clear();
            continue;
        }
        let next = Vec::with_capacity(line.len().min(MAX_RETAINED_LINE));
        for message in peer.read(std::mem::replace(&mut line, next)).await {
            peer.receive(message, None);
        }
    }
}

/// Reads one line. Returns `false` at the end of the output.
async fn next_line(
    output: &mut BufReader<impl AsyncRead + Unpin>,
    line: &mut Vec<u8>,
) -> Result<bool, String> {
    loop {
        let available =
            output.fill_buf().await.map_err(|error| format!("cannot read its output: {error}"))?;
        let end = memchr::memchr(b'\n', available);
        let count = end.map_or(available.len(), |at| at + 1);
        line.extend_from_slice(&available[..count]);
        output.consume(count);
        // End the connection: the request that this line answers would wait for its timeout.
        if line.len() > MAX_MESSAGE {
            return Err(format!("it sent a line of more than {MAX_MESSAGE} bytes"));
        }
        // The last line may have no newline.
        if end.is_some() || count == 0 {
            return Ok(!line.is_empty());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn lines(output: impl AsyncRead + Unpin) -> Result<Vec<usize>, String> {
        let (mut output, mut line, mut lengths) = (BufReader::new(output), Vec::new(), Vec::new());
        while next_line(&mut output, &mut line).await? {
            lengths.push(line.trim_ascii_end().len());
            line.clear();
        }
        Ok(lengths)
    }

    #[tokio::test]
    async fn lines_are_read_in_any_pieces() {
        let text = format!("one\n\n{}\r\nlast", "x".repeat(100_000));
        assert_eq!(lines(text.as_bytes()).await, Ok(vec![3, 0, 100_000, 4]));
    }

    #[tokio::test]
    async fn a_line_without_an_end_ends_the_connection() {
        let reason = lines(tokio::io::repeat(b'x')).await.expect_err("too long");
        assert_eq!(reason, "it sent a line of more than 16777216 bytes");
    }
}
