//! Messages as lines, the framing of MCP over stdio. Every request is answered, also one that is not
//! valid message or too long to be read: a client that waits for an answer would wait for ever.

#[cfg(any(test, fuzzing))]
pub(super) mod fuzz;
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

/// The longest line that is read, in bytes; the same as the largest body over HTTP.
const MAX_LINE: usize = 16 << 20;

/// Bytes of a line that parse in less than a millisecond. Longer ones are parsed on another thread, beside running calls.
const MIN_LARGE_LINE: usize = 64 << 10;

/// Bytes of memory kept for the next line.
const MAX_RETAINED_LINE: usize = 64 << 10;

/// Bytes that may wait to be written while lines are still read.
const MAX_QUEUED_BYTES: usize = 64 << 10;

/// How much of both ends of a longer line is kept, to find its id in.
const MAX_END_BYTES: usize = 512;

/// Mark on a request whose line was large.
#[derive(Debug, Clone, Copy)]
pub(super) struct LargeRequest;

/// A connection to one client.
pub(super) struct LineTransport<R, W> {
    reader: BufReader<R>,
    line: Vec<u8>,
    /// Bytes of the current line that were dropped because it is too long.
    dropped: usize,
    /// A large line that is being parsed; no further line is read meanwhile.
    parsing: Option<JoinHandle<ParsedLine>>,
    /// Whether the client has begun to speak MCP; until then there is nothing that a notification could tell.
    begun: bool,
    writer: Arc<QueuedWriter<W>>,
}

/// Lines on their way out. What is queued is written by whoever holds the stream, in one piece with what
/// others queued meanwhile; a write that is interrupted goes on with the next one.
struct QueuedWriter<W> {
    queued: Mutex<Vec<u8>>,
    stream: tokio::sync::Mutex<OutputStream<W>>,
    /// Whether the client has closed its end, which is how it may leave.
    gone: AtomicBool,
}

struct OutputStream<W> {
    pipe: W,
    /// Taken from the queue and not yet written whole.
    rest: Vec<u8>,
    written: usize,
}

impl<R: AsyncRead, W> LineTransport<R, W> {
    pub(super) fn new((reader, pipe): (R, W)) -> Self {
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

impl<R, W> LineTransport<R, W> {
    /// Makes room for the next line; a long one does not keep its memory.
    fn reset_line(&mut self) {
        self.line.clear();
        self.line.shrink_to(MAX_RETAINED_LINE);
        self.dropped = 0;
    }
}

/// What came of reading on.
enum ReadOutcome {
    /// A line is in the buffer.
    Line,
    /// A line was too long; both its ends are in the buffer.
    TooLong,
    /// There is no more.
    End,
}

impl<R: AsyncRead + Unpin + Send, W> LineTransport<R, W> {
    /// Reads up to the end of the line. May be given up at any time and called again.
    async fn read(&mut self) -> ReadOutcome {
        loop {
            let available = match self.reader.fill_buf().await {
                // The last line may lack its end.
                Ok([]) if self.dropped > 0 => return ReadOutcome::TooLong,
                Ok([]) if !self.line.is_empty() => return ReadOutcome::Line,
                Ok([]) => return ReadOutcome::End,
                Ok(available) => available,
                Err(error) => {
                    tracing::error!(%error, "standard input cannot be read");
                    return ReadOutcome::End;
                }
            };
            let end = memchr::memchr(b'\n', available);
            let take = end.map_or(available.len(), |at| at + 1);
            self.line.extend_from_slice(&available[..take]);
            self.reader.consume(take);
            if self.dropped > 0 || self.line.len() > MAX_LINE {
                // Head and tail stay; what is between them goes.
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
}

impl<R: AsyncRead + Unpin + Send, W> LineTransport<R, W> {
    /// Reads and parses the next line. `None` if there is no more. May be given up at any time and called again.
    async fn next(&mut self) -> Option<ParsedLine> {
        if self.parsing.is_none() {
            let understood = match self.read().await {
                ReadOutcome::End => return None,
                ReadOutcome::TooLong => Some(Err(Some(too_long(&self.line, self.line.len() + self.dropped)))),
                ReadOutcome::Line if self.line.len() < MIN_LARGE_LINE => Some(parse_line(&self.line)),
                ReadOutcome::Line => {
                    let line = std::mem::take(&mut self.line);
                    self.parsing = Some(spawn_blocking(move || parse_large_line(&line)));
                    None
                }
            };
            self.reset_line();
            if understood.is_some() {
                return understood;
            }
        }
        let parsed = self.parsing.as_mut()?.await;
        self.parsing = None;
        // It fails only if the runtime ends.
        parsed.ok()
    }
}

/// Parses a line whose message takes long to work with, too.
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
        // At once: what is sent before any of it is written goes out in one piece.
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
            // What waits is written when there is no line to go on with, or too much of it.
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
