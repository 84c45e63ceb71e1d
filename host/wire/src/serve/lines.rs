//! Messages as lines, the framing of MCP over stdio. Every request is answered, also one that is not
//! valid message or too long to be read: a client that waits for an answer would wait for ever.

#[cfg(any(test, fuzzing))]
pub(super) mod fuzz;

use std::{
    io,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
};

use gatehouse_core::{
    json::{self as bounds, MAX_VALUES},
    lock,
};
use rmcp::{
    RoleServer,
    model::{ClientRequest, GetMeta, JsonRpcMessage, ProtocolVersion},
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::Transport,
};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};

use super::{
    envelope,
    json_text::{Outline, replace_lone_surrogates},
};

/// The longest line that is read, in bytes; the same as the largest body over HTTP.
const MAX_LINE: usize = 16 << 20;

/// Bytes of memory kept for the next line.
const KEPT: usize = 64 << 10;

/// Bytes that may wait to be written while lines are still read.
const QUEUE: usize = 64 << 10;

/// How much of both ends of a longer line is kept, to find its id in.
const ENDS: usize = 512;

/// A connection to one client.
pub(super) struct Lines<R, W> {
    reader: BufReader<R>,
    line: Vec<u8>,
    /// Bytes of the current line that were dropped because it is too long.
    dropped: usize,
    /// Whether the client has begun to speak MCP; until then there is nothing that a notification could tell.
    begun: bool,
    writer: Arc<Writer<W>>,
}

/// Lines on their way out. What is queued is written by whoever holds the stream, in one piece with what
/// others queued meanwhile; a write that is interrupted goes on with the next one.
struct Writer<W> {
    queued: Mutex<Vec<u8>>,
    stream: tokio::sync::Mutex<Stream<W>>,
    /// Whether the client has closed its end, which is how it may leave.
    gone: AtomicBool,
}

struct Stream<W> {
    pipe: W,
    /// Taken from the queue and not yet written whole.
    rest: Vec<u8>,
    written: usize,
}

impl<R: AsyncRead, W> Lines<R, W> {
    pub(super) fn new((reader, pipe): (R, W)) -> Self {
        let stream = Stream { pipe, rest: Vec::new(), written: 0 };
        let stream = tokio::sync::Mutex::new(stream);
        let writer = Arc::new(Writer { queued: Mutex::default(), stream, gone: AtomicBool::new(false) });
        Self { reader: BufReader::new(reader), line: Vec::new(), dropped: 0, begun: false, writer }
    }
}

impl<W: AsyncWrite + Unpin> Writer<W> {
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
            let Stream { pipe, rest, written } = &mut *stream;
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

impl<R, W> Lines<R, W> {
    /// Makes room for the next line; a long one does not keep its memory.
    fn forget(&mut self) {
        self.line.clear();
        self.line.shrink_to(KEPT);
        self.dropped = 0;
    }
}

/// What came of reading on.
enum Read {
    /// A line is in the buffer.
    Line,
    /// A line was too long; both its ends are in the buffer.
    TooLong,
    /// There is no more.
    End,
}

impl<R: AsyncRead + Unpin + Send, W> Lines<R, W> {
    /// Reads up to the end of the line. May be given up at any time and called again.
    async fn read(&mut self) -> Read {
        loop {
            let available = match self.reader.fill_buf().await {
                // The last line may lack its end.
                Ok([]) if self.dropped > 0 => return Read::TooLong,
                Ok([]) if !self.line.is_empty() => return Read::Line,
                Ok([]) => return Read::End,
                Ok(available) => available,
                Err(error) => {
                    tracing::error!(%error, "standard input cannot be read");
                    return Read::End;
                }
            };
            let end = memchr::memchr(b'\n', available);
            let take = end.map_or(available.len(), |at| at + 1);
            self.line.extend_from_slice(&available[..take]);
            self.reader.consume(take);
            if self.dropped > 0 || self.line.len() > MAX_LINE {
                // Head and tail stay; what is between them goes.
                let cut = self.line.len().saturating_sub(ENDS).max(ENDS);
                self.dropped += self.line.drain(ENDS.min(cut)..cut).len();
            }
            match end {
                Some(_) if self.dropped > 0 => return Read::TooLong,
                Some(_) => return Read::Line,
                None => {}
            }
        }
    }
}

impl<R, W> Transport<RoleServer> for Lines<R, W>
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
                read = self.read(), if waiting < QUEUE => read,
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
            let answer = match read {
                Read::End => return None,
                Read::TooLong => Some(too_long(&self.line, self.line.len() + self.dropped)),
                Read::Line => match understand(&self.line) {
                    Ok(message) => {
                        self.forget();
                        self.begun |= begins(&message);
                        if self.begun || matches!(message, JsonRpcMessage::Request(_)) {
                            return Some(message);
                        }
                        continue;
                    }
                    Err(answer) => answer,
                },
            };
            self.forget();
            if let Some(answer) = answer
                && self.writer.queue(&answer).is_err()
            {
                return None;
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.writer.flush().await
    }
}

/// A message, or the answer to what is not a message; no answer to blank lines and to notifications we do not know.
fn understand(line: &[u8]) -> Result<RxJsonRpcMessage<RoleServer>, Option<Value>> {
    let line = replace_lone_surrogates(line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line));
    let line = line.trim_ascii();
    if line.is_empty() {
        return Err(None);
    }
    if bounds::too_many_values(line) {
        let why = format!("The message has more than {} values", MAX_VALUES);
        return Err(Some(envelope::invalid(Outline::new(line).request_id, why)));
    }
    let message = serde_json::from_slice(line);
    // What reads as a notification may be a request whose id is invalid.
    if let Ok(JsonRpcMessage::Notification(_)) | Err(_) = &message {
        envelope::check(line).map_err(Some)?;
    }
    message.map_err(|_| envelope::unreadable(line))
}

/// Whether rmcp leaves its opening with this message, in which it takes a notification for an error.
fn begins(message: &RxJsonRpcMessage<RoleServer>) -> bool {
    let JsonRpcMessage::Request(request) = message else { return false };
    match &request.request {
        ClientRequest::InitializeRequest(_) => true,
        ClientRequest::PingRequest(_) | ClientRequest::DiscoverRequest(_) => false,
        request => {
            let meta = request.get_meta();
            let known = |version| ProtocolVersion::KNOWN_VERSIONS.contains(&version);
            meta.missing_required_keys(&ProtocolVersion::V_2026_07_28).is_empty()
                && meta.protocol_version().is_some_and(known)
        }
    }
}

fn too_long(ends: &[u8], length: usize) -> Value {
    let why = format!("The message has {length} bytes, the most is {MAX_LINE}");
    envelope::invalid(find_id(ends), why)
}

/// The id in what is left of a message: before its parameters, or behind them.
fn find_id(ends: &[u8]) -> Option<Value> {
    let text = String::from_utf8_lossy(ends);
    let head = text.split("\"params\"").next().unwrap_or_default();
    let tail = text.rfind("\"id\"").map(|at| &text[at..]);
    let candidates = [head.find("\"id\"").map(|at| &head[at..]), tail];
    candidates.into_iter().flatten().find_map(|found| {
        let value = found.strip_prefix("\"id\"")?.trim_start().strip_prefix(':')?;
        let id = serde_json::Deserializer::from_str(value).into_iter::<Value>().next()?.ok()?;
        (id.is_number() || id.is_string()).then_some(id)
    })
}

#[cfg(test)]
mod tests;
