//! Events on their way to clients over HTTP, and how long they stay there. A stream's messages are read by
//! number, so following it, and resuming it after the connection broke, are the same thing.

use std::{
    collections::VecDeque,
    fmt,
    sync::{Arc, Mutex, Weak},
    time::{Duration, Instant},
};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD as BASE64};
use rmcp::model::{ContentBlock, ProgressToken, RequestId, ServerJsonRpcMessage, ServerResult};
use tokio::sync::watch;

use gatehouse_core::{json::encoded_len, lock};

use super::{lists::ListKind, session::HttpSession};

/// Messages of one stream that wait for a reader; older ones, which tell of progress, give way.
const MAX_WAITING_MESSAGES: usize = 64;

/// Bytes of replies that are kept for clients which may ask for them again, of the whole host.
const MAX_RETAINED_BYTES: usize = 32 << 20;

/// How long a reply is kept.
pub(super) const REPLY_RETENTION: Duration = Duration::from_secs(5 * 60);

/// The longest request id that travels in event ids.
const MAX_ID: usize = 64;

/// What a stream takes beside the text of its reply, in bytes.
const STREAM_OVERHEAD: usize = 512;

/// What goes over the stream.
pub(super) type StreamMessage = Arc<ServerJsonRpcMessage>;

/// Names one event. It carries the id of the request that its stream answers, so that a host which knows
/// nothing of the stream any more can still tell the client that this request has no answer.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct EventId {
    /// Tells the streams of one host from those of the next.
    pub(super) epoch: u32,
    pub(super) stream: u64,
    /// The number of the event; 0 before the first.
    pub(super) number: u64,
    pub(super) request: Option<RequestId>,
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08x}.{}.{}", self.epoch, self.stream, self.number)?;
        let request = self.request.as_ref().and_then(|id| serde_json::to_vec(id).ok());
        match request.filter(|id| id.len() <= MAX_ID) {
            Some(id) => write!(f, ".{}", BASE64.encode(id)),
            None => Ok(()),
        }
    }
}

impl EventId {
    /// Reads an event id; none where it is not one of ours.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut parts = text.splitn(4, '.');
        let epoch = u32::from_str_radix(parts.next()?, 16).ok()?;
        let (stream, number) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        let request = match parts.next() {
            Some(id) if id.len() > MAX_ID * 2 => return None,
            Some(id) => Some(serde_json::from_slice(&BASE64.decode(id).ok()?).ok()?),
            None => None,
        };
        Some(Self { epoch, stream, number, request })
    }
}

/// The messages of one stream.
pub(super) struct MessageStream {
    /// The request that it answers; none for the stream that tells of changes.
    pub(super) request: Option<RequestId>,
    /// Under which the request's progress is told.
    pub(super) token: Option<ProgressToken>,
    messages: VecDeque<StreamMessage>,
    /// The number of the first of them.
    first: u64,
    pub(super) readers: usize,
    /// Whether a client can know the stream by an event and ask for the rest.
    pub(super) known: bool,
    /// Whether the last message has come.
    pub(super) over: bool,
    wake: watch::Sender<()>,
}

impl MessageStream {
    pub(super) fn new(request: Option<RequestId>, token: Option<ProgressToken>, known: bool) -> Self {
        let wake = watch::Sender::new(());
        Self { request, token, messages: VecDeque::new(), first: 1, readers: 0, known, over: false, wake }
    }

    pub(super) fn push(&mut self, message: StreamMessage) {
        if self.messages.len() >= MAX_WAITING_MESSAGES {
            self.messages.pop_front();
            self.first += 1;
        }
        self.messages.push_back(message);
        self.wake();
    }

    /// The number that the next message will have.
    pub(super) fn next(&self) -> u64 {
        self.first + self.messages.len() as u64
    }

    /// The first message from this number on that is there.
    pub(super) fn read(&self, number: u64) -> Option<(u64, StreamMessage)> {
        let number = number.max(self.first);
        let at = usize::try_from(number - self.first).ok()?;
        Some((number, Arc::clone(self.messages.get(at)?)))
    }

    /// Whether a message from this number on says of a list what this one says; what says nothing of a list is no news.
    pub(super) fn announces_list(&self, number: u64, message: &ServerJsonRpcMessage) -> bool {
        let Some(list) = ListKind::in_message(message) else { return true };
        let before = usize::try_from(number.saturating_sub(self.first)).unwrap_or(usize::MAX);
        self.messages.iter().skip(before).any(|told| ListKind::in_message(told) == Some(list))
    }

    pub(super) fn wake(&self) {
        self.wake.send_replace(());
    }

    pub(super) fn changes(&self) -> watch::Receiver<()> {
        self.wake.subscribe()
    }

    /// What its messages take, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.messages.iter().map(|message| size(message)).sum()
    }
}

/// What a message takes, near enough: the text of a reply is not written out to be counted.
fn size(message: &ServerJsonRpcMessage) -> usize {
    let ServerJsonRpcMessage::Response(response) = message else { return encoded_len(message) };
    let ServerResult::CallToolResult(result) = &response.result else { return encoded_len(message) };
    let block =
        |block: &ContentBlock| block.as_text().map_or_else(|| encoded_len(block), |text| text.text.len());
    let data = result.structured_content.as_ref().map_or(0, encoded_len);
    result.content.iter().map(block).sum::<usize>() + data + STREAM_OVERHEAD
}

/// Ended streams that a client may still ask for, of all sessions of the host: the oldest give way.
#[derive(Default)]
pub(super) struct ReplyStore(Mutex<EndedStreams>);

#[derive(Default)]
struct EndedStreams {
    bytes: usize,
    streams: VecDeque<EndedStream>,
}

struct EndedStream {
    session: Weak<HttpSession>,
    stream: u64,
    bytes: usize,
    since: Instant,
}

impl ReplyStore {
    /// Keeps a stream that has ended. The caller must not hold the session's state.
    pub(super) fn keep(&self, session: &Arc<HttpSession>, stream: u64, bytes: usize, now: Instant) {
        let ended = EndedStream { session: Arc::downgrade(session), stream, bytes, since: now };
        let mut queue = lock(&self.0);
        queue.bytes += bytes;
        queue.streams.push_back(ended);
        drop(queue);
        self.sweep(now);
    }

    /// Lets go of what is too old or too much.
    pub(super) fn sweep(&self, now: Instant) {
        loop {
            let mut queue = lock(&self.0);
            let full = queue.bytes > MAX_RETAINED_BYTES;
            let old = |ended: &EndedStream| now.saturating_duration_since(ended.since) > REPLY_RETENTION;
            let Some(ended) = queue.streams.pop_front_if(|ended| full || old(ended)) else { return };
            queue.bytes -= ended.bytes;
            drop(queue);
            if let Some(session) = ended.session.upgrade() {
                session.forget(ended.stream);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_id_reads_as_it_was_written() {
        for request in [None, Some(RequestId::Number(-7)), Some(RequestId::String("a.b\n\"é".into()))] {
            let id = EventId { epoch: 0xBEEF, stream: 3, number: 0, request };
            let text = id.to_string();
            assert!(text.bytes().all(|b| b.is_ascii_graphic()), "{text}");
            assert_eq!(EventId::parse(&text).expect("ours"), id);
        }
        let request = Some(RequestId::String("x".repeat(65).into()));
        let long = EventId { epoch: 1, stream: 1, number: 1, request };
        assert_eq!(long.to_string(), "00000001.1.1", "an id that is too long stays at home");
        for other in
            ["", "0", "0/1", "1.2", "1.2.x", "1.2.3.!", "1.2.3.e30", &format!("1.2.3.{}", "A".repeat(400))]
        {
            assert!(EventId::parse(other).is_none(), "{other}");
        }
    }
}
