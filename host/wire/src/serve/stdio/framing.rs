//! Newline-delimited messages, as MCP uses over stdio. Malformed and oversized requests get an error reply too, so that
//! no client waits forever.

mod message;

use std::{
    io,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
};

use gatehouse_core::lock;
use rmcp::{
    RoleServer,
    model::{GetExtensions, JsonRpcMessage},
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::Transport,
};
use tokio::{
    io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader},
    task::{JoinHandle, spawn_blocking},
};

use self::message::{ParsedLine, ends_handshake, parse_line, too_long};
use crate::{MAX_RETAINED_LINE, MIN_LARGE_MESSAGE};

/// Maximum length of a line in bytes. More than over HTTP, because a stdio client can only harm itself.
const MAX_LINE: usize = 16 << 20;

/// Maximum unwritten bytes before reading pauses.
const MAX_QUEUED_BYTES: usize = 64 << 10;

/// Bytes at each end of an oversized line to search for its ID.
const MAX_END_BYTES: usize = 512;

/// Marks a request whose line was large.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LargeRequest;

pub(crate) struct LineTransport<R, W> {
    reader: BufReader<R>,
    line: Vec<u8>,
    /// Bytes dropped from the current line because it is too long.
    dropped: usize,
    /// A large line that is being parsed. Reading pauses until then.
    parsing: Option<JoinHandle<ParsedLine>>,
    /// True after the handshake. Notifications before it are ignored.
    begun: bool,
    writer: Arc<QueuedWriter<W>>,
}

/// Outgoing lines. The task that holds the stream writes all queued lines, including those of other tasks. The next
/// write resumes an interrupted one.
struct QueuedWriter<W> {
    queued: Mutex<Vec<u8>>,
    stream: tokio::sync::Mutex<OutputStream<W>>,
    /// True if the client closed its input, a normal way to disconnect.
    gone: AtomicBool,
}

struct OutputStream<W> {
    pipe: W,
    /// Bytes taken from the queue; the first `written` of them are written.
    rest: Vec<u8>,
    written: usize,
}

impl<R: AsyncRead, W> LineTransport<R, W> {
    pub(crate) fn new((reader, pipe): (R, W)) -> Self {
        let stream = OutputStream { pipe, rest: Vec::new(), written: 0 };
        let stream = tokio::sync::Mutex::new(stream);
        let writer =
            Arc::new(QueuedWriter { queued: Mutex::default(), stream, gone: AtomicBool::new(false) });
        Self {
            reader: BufReader::new(reader),
            line: Vec::new(),
            dropped: 0,
            parsing: None,
            begun: false,
            writer,
        }
    }
}

impl<W: AsyncWrite + Unpin> QueuedWriter<W> {
    fn queue(&self, message: &impl serde::Serialize) -> io::Result<()> {
        let mut line = serde_json::to_vec(message)?;
        line.push(b'\n');
        let mut queued = lock(&self.queued);
        if queued.is_empty() {
            *queued = line
        } else {
            queued.extend_from_slice(&line)
        }
        Ok(())
    }

    async fn flush(&self) -> io::Result<()> {
        match self.write().await {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                self.gone.store(true, Ordering::Relaxed);
                Ok(())
            }
            written => written,
        }
    }

    async fn write(&self) -> io::Result<()> {
        let mut stream = self.stream.lock().await;
        loop {
            let OutputStream { pipe, rest, written } = &mut *stream;
            while *written < rest.len() {
                match pipe.write(&rest[*written..]).await? {
                    0 => return Err(io::ErrorKind::WriteZero.into()),
                    count => *written += count,
                }
            }
            *written = 0;
            *rest = std::mem::take(&mut *lock(&self.queued));
            if rest.is_empty() {
                return pipe.flush().await;
            }
        }
    }
}

enum ReadOutcome {
    Line,
    /// The line is too long. Both its ends are in the buffer.
    TooLong,
    End,
}

impl<R: AsyncRead + Unpin + Send, W> LineTransport<R, W> {
    /// Reads to the end of the line. Cancel-safe.
    async fn read(&mut self) -> ReadOutcome {
        loop {
            let available = match self.reader.fill_buf().await {
                // The last line may lack a newline.
                Ok([]) if self.dropped > 0 => return ReadOutcome::TooLong,
                Ok([]) if !self.line.is_empty() => return ReadOutcome::Line,
                Ok([]) => return ReadOutcome::End,
                Ok(available) => available,
                Err(error) => {
                    tracing::error!(%error, "cannot read standard input");
                    return ReadOutcome::End;
                }
            };
            let end = memchr::memchr(b'\n', available);
            let take = end.map_or(available.len(), |at| at + 1);
            self.line.extend_from_slice(&available[..take]);
            self.reader.consume(take);
            if self.dropped > 0 || self.line.len() > MAX_LINE {
                // Drop the middle.
                let cut = self.line.len().saturating_sub(MAX_END_BYTES).max(MAX_END_BYTES);
                self.dropped += self.line.drain(MAX_END_BYTES.min(cut)..cut).len();
            }
            match end {
                Some(_) if self.dropped > 0 => return ReadOutcome::TooLong,
                Some(_) => return ReadOutcome::Line,
                None => {}
            }
        }
    }

    /// Reads and parses the next line. `None` at the end of input. Cancel-safe.
    async fn next(&mut self) -> Option<ParsedLine> {
        if self.parsing.is_none() {
            let understood = match self.read().await {
                ReadOutcome::End => return None,
                ReadOutcome::TooLong => Some(Err(Some(too_long(&self.line, self.line.len() + self.dropped)))),
                ReadOutcome::Line if self.line.len() < MIN_LARGE_MESSAGE => Some(parse_line(&self.line)),
                ReadOutcome::Line => {
                    let line = std::mem::take(&mut self.line);
                    self.parsing = Some(spawn_blocking(move || parse_large_line(&line)));
                    None
                }
            };
            self.line.clear();
            self.line.shrink_to(MAX_RETAINED_LINE);
            self.dropped = 0;
            if understood.is_some() {
                return understood;
            }
        }
        let parsed = self.parsing.as_mut()?.await;
        self.parsing = None;
        // Fails only during runtime shutdown.
        parsed.ok()
    }
}

fn parse_large_line(line: &[u8]) -> ParsedLine {
    let mut message = parse_line(line)?;
    if let JsonRpcMessage::Request(request) = &mut message {
        request.request.extensions_mut().insert(LargeRequest);
    }
    Ok(message)
}

impl<R, W> Transport<RoleServer> for LineTransport<R, W>
where
    R: AsyncRead + Unpin + Send,
    W: AsyncWrite + Unpin + Send + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let writer = Arc::clone(&self.writer);
        // Queue now, so that messages sent before the first write go out together.
        let queued = writer.queue(&message);
        async move {
            queued?;
            writer.flush().await
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            let writer = Arc::clone(&self.writer);
            let waiting = lock(&writer.queued).len();
            // Write when no further line is ready, or too much is queued.
            let read = tokio::select! {
                biased;
                read = self.next(), if waiting < MAX_QUEUED_BYTES => read,
                written = writer.flush(), if waiting > 0 => {
                    if written.is_err() || writer.gone.load(Ordering::Relaxed) {
                        return None;
                    }
                    continue;
                }
            };
            if writer.gone.load(Ordering::Relaxed) {
                return None;
            }
            match read? {
                Ok(message) => {
                    self.begun |= ends_handshake(&message);
                    if self.begun || matches!(message, JsonRpcMessage::Request(_)) {
                        return Some(message);
                    }
                }
                Err(Some(answer)) => self.writer.queue(&answer).ok()?,
                Err(None) => {}
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.writer.flush().await
    }
}

#[cfg(test)]
mod tests;
