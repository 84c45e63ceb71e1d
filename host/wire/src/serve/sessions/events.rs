//! Message streams of HTTP sessions, and their retention. Messages have numbers, so a reader can start anywhere, such
//! as after a broken connection.

use std::{collections::VecDeque, fmt, sync::Arc};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD as BASE64};
use rmcp::model::{
    ContentBlock, ProgressToken, RequestId, ServerJsonRpcMessage, ServerNotification, ServerResult,
};
use tokio::sync::watch;
use tokio_util::sync::DropGuard;

use gatehouse_core::json::encoded_len;

use crate::serve::lists::ListKind;

/// Maximum unread messages per stream. The oldest are dropped; these are progress notifications.
const MAX_WAITING_MESSAGES: usize = 64;

/// Maximum total size of unread messages per stream, in bytes, not counting the newest.
const MAX_WAITING_BYTES: usize = 1 << 20;

/// Maximum length of a request ID inside an event ID.
const MAX_REQUEST_ID_LEN: usize = 64;

/// Size of a reply without its content, in bytes: its stream and its message were measured at 3.5 KB.
const STREAM_OVERHEAD: usize = 4 << 10;

pub(crate) type StreamMessage = Arc<ServerJsonRpcMessage>;

/// ID of an event. It contains the request ID, so that a host that no longer has the stream can reply to the request
/// with an error.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct EventId {
    /// Distinguishes streams of different session instances.
    pub(crate) epoch: u32,
    pub(crate) stream: u64,
    /// Number of the event; 0 before the first.
    pub(crate) number: u64,
    pub(crate) request: Option<RequestId>,
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08x}.{}.{}", self.epoch, self.stream, self.number)?;
        let request = self.request.as_ref().and_then(|id| serde_json::to_vec(id).ok());
        match request.filter(|id| id.len() <= MAX_REQUEST_ID_LEN) {
            Some(id) => write!(f, ".{}", BASE64.encode(id)),
            None => Ok(()),
        }
    }
}

impl EventId {
    /// Parses an event ID. `None` if this host cannot have created it.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut parts = text.splitn(4, '.');
        let epoch = u32::from_str_radix(parts.next()?, 16).ok()?;
        let (stream, number) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        let request = match parts.next() {
            Some(id) if id.len() > MAX_REQUEST_ID_LEN * 2 => return None,
            Some(id) => Some(serde_json::from_slice(&BASE64.decode(id).ok()?).ok()?),
            None => None,
        };
        Some(Self { epoch, stream, number, request })
    }
}

pub(crate) struct MessageStream {
    /// The request that this stream answers. `None` for the stream of changes.
    pub(crate) request: Option<RequestId>,
    pub(crate) token: Option<ProgressToken>,
    messages: VecDeque<WaitingMessage>,
    /// Size of the messages.
    bytes: usize,
    first: u64,
    pub(crate) readers: usize,
    /// True if a client may know an event of this stream and resume it.
    pub(crate) resumable: bool,
    pub(crate) finished: bool,
    /// Cancels the request when the stream ends, if it does not run in the handler's loop.
    pub(crate) cancel: Option<DropGuard>,
    changed: watch::Sender<()>,
}

struct WaitingMessage {
    message: StreamMessage,
    bytes: usize,
}

impl MessageStream {
    pub(crate) fn new(request: Option<RequestId>, token: Option<ProgressToken>, resumable: bool) -> Self {
        Self {
            request,
            token,
            messages: VecDeque::new(),
            bytes: 0,
            first: 1,
            readers: 0,
            resumable,
            finished: false,
            cancel: None,
            changed: watch::Sender::new(()),
        }
    }

    pub(crate) fn push(&mut self, message: StreamMessage) {
        while (self.messages.len() >= MAX_WAITING_MESSAGES || self.bytes > MAX_WAITING_BYTES)
            && let Some(oldest) = self.messages.pop_front()
        {
            self.bytes -= oldest.bytes;
            self.first += 1;
        }
        let bytes = size(&message);
        self.bytes += bytes;
        self.messages.push_back(WaitingMessage { message, bytes });
        self.notify_readers();
    }

    /// Returns the first available message with at least this number.
    pub(crate) fn read(&self, number: u64) -> Option<(u64, StreamMessage)> {
        let number = number.max(self.first);
        let at = usize::try_from(number - self.first).ok()?;
        Some((number, Arc::clone(&self.messages.get(at)?.message)))
    }

    /// Returns `true` if the stream already announces the same change of a list or resource, from message `number` on.
    pub(crate) fn announces_change(&self, number: u64, message: &ServerJsonRpcMessage) -> bool {
        let Some(change) = AnnouncedChange::in_message(message) else { return false };
        let before = usize::try_from(number.saturating_sub(self.first)).unwrap_or(usize::MAX);
        let mut unsent = self.messages.iter().skip(before);
        unsent.any(|waiting| AnnouncedChange::in_message(&waiting.message).as_ref() == Some(&change))
    }

    /// Whether nothing has been sent, and the request still runs.
    pub(crate) fn is_silent(&self) -> bool {
        self.messages.is_empty() && self.first == 1 && !self.finished
    }

    pub(crate) fn notify_readers(&self) {
        self.changed.send_replace(());
    }

    pub(crate) fn changes(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }
}

/// A change that a notification announces.
#[derive(PartialEq)]
enum AnnouncedChange<'a> {
    List(ListKind),
    /// The URI of a resource.
    Resource(&'a str),
}

impl<'a> AnnouncedChange<'a> {
    fn in_message(message: &'a ServerJsonRpcMessage) -> Option<Self> {
        if let ServerJsonRpcMessage::Notification(notification) = message
            && let ServerNotification::ResourceUpdatedNotification(updated) = &notification.notification
        {
            return Some(Self::Resource(&updated.params.uri));
        }
        ListKind::in_message(message).map(Self::List)
    }
}

/// Estimates the size of a message in bytes, without serializing text of tool results.
fn size(message: &ServerJsonRpcMessage) -> usize {
    let ServerJsonRpcMessage::Response(response) = message else { return encoded_len(message) };
    let ServerResult::CallToolResult(result) = &response.result else { return encoded_len(message) };
    let block =
        |block: &ContentBlock| block.as_text().map_or_else(|| encoded_len(block), |text| text.text.len());
    let data = result.structured_content.as_ref().map_or(0, encoded_len);
    result.content.iter().map(block).sum::<usize>() + data + STREAM_OVERHEAD
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_a_change_that_is_already_announced_is_left_out() {
        let message = |method: &str, params: serde_json::Value| -> StreamMessage {
            let message = json!({"jsonrpc": "2.0", "method": method, "params": params});
            Arc::new(serde_json::from_value(message).expect("a message"))
        };
        let list = || message("notifications/tools/list_changed", json!({}));
        let updated = |uri: &str| message("notifications/resources/updated", json!({"uri": uri}));
        let log = message("notifications/message", json!({"level": "info", "data": "x"}));
        let mut stream = MessageStream::new(None, None, true);
        let prompts = message("notifications/prompts/list_changed", json!({}));
        stream.push(list());
        stream.push(updated("memo://1"));
        for announced in [list(), updated("memo://1")] {
            assert!(stream.announces_change(1, &announced), "{announced:?}");
            assert!(!stream.announces_change(3, &announced), "it has been sent: {announced:?}");
        }
        for new in [prompts, updated("memo://2"), log] {
            assert!(!stream.announces_change(1, &new), "{new:?}");
        }
    }

    #[test]
    fn unread_progress_is_dropped_by_size_and_the_reply_stays() {
        let progress = |number: u64, length: usize| -> StreamMessage {
            let params = json!({"progressToken": 1, "progress": number, "message": "x".repeat(length)});
            let message = json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params});
            Arc::new(serde_json::from_value(message).expect("a message"))
        };
        let mut stream = MessageStream::new(None, None, true);
        for number in 0..100 {
            stream.push(progress(number, 300 << 10));
        }
        assert!(stream.bytes() < MAX_WAITING_BYTES + (301 << 10), "{}", stream.bytes());
        let reply =
            json!({"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "text": "done"}]}});
        let reply: StreamMessage = Arc::new(serde_json::from_value(reply).expect("a reply"));
        stream.push(Arc::clone(&reply));
        let (number, first) = stream.read(1).expect("a message");
        assert!(number > 90, "the oldest are gone");
        assert!(!Arc::ptr_eq(&first, &reply));
        assert!(stream.read(101).is_some_and(|(_, message)| Arc::ptr_eq(&message, &reply)));
    }

    #[test]
    fn event_id_round_trips() {
        for request in [None, Some(RequestId::Number(-7)), Some(RequestId::String("a.b\n\"é".into()))] {
            let id = EventId { epoch: 0xBEEF, stream: 3, number: 0, request };
            let text = id.to_string();
            assert!(text.bytes().all(|b| b.is_ascii_graphic()), "{text}");
            assert_eq!(EventId::parse(&text).expect("ours"), id);
        }
        let request = Some(RequestId::String("x".repeat(65).into()));
        let long = EventId { epoch: 1, stream: 1, number: 1, request };
        assert_eq!(long.to_string(), "00000001.1.1", "an ID that is too long is omitted");
        for other in
            ["", "0", "0/1", "1.2", "1.2.x", "1.2.3.!", "1.2.3.e30", &format!("1.2.3.{}", "A".repeat(400))]
        {
            assert!(EventId::parse(other).is_none(), "{other}");
        }
    }
}
