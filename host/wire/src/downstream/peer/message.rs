//! Messages of a server: parsed within limits, repaired where that loses nothing, and without secrets.

use std::{borrow::Cow, sync::Arc};

use gatehouse_core::{
    http::Redactor,
    json::{MAX_VALUES, MessageSize},
    names::quoted,
    surrogates::replace_lone_surrogates,
};
use serde_json::{Map, Value};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    task::spawn_blocking,
};

use super::{
    Peer,
    redaction::{redact_all, redact_members, redact_result},
};
use crate::{
    MIN_LARGE_MESSAGE,
    downstream::{connection::CallFailure, server_log::ServerLog},
    serve::response_id,
};

/// Maximum bytes of a message, as for clients of the host.
pub(crate) const MAX_MESSAGE: usize = 16 << 20;

/// Maximum bytes of memory for the messages of one server, from parsing until their calls end.
const MAX_MEMORY: usize = 100 << 20;

/// Messages of fewer bytes are not counted: they have at most 2,048 values.
const MIN_COUNTED_MESSAGE: usize = 4 << 10;

const MEMORY_UNIT: usize = 1 << 10;

/// Maximum bytes of a request's ID. It is stored until the request is answered.
const MAX_ID_BYTES: usize = 256;

/// Code of an error whose code cannot be read.
const INTERNAL_ERROR: i32 = -32603;

/// Maximum characters of an error's message, and of its data.
const MAX_ERROR_CHARS: usize = 2_000;
const MAX_DATA_CHARS: usize = 1_000;

/// Limits of one server, shared by all its connections.
#[derive(Clone)]
pub(crate) struct InboundLimits {
    pub(in crate::downstream) redactor: Arc<Redactor>,
    pub(in crate::downstream) log: ServerLog,
    memory: Arc<Semaphore>,
}

impl InboundLimits {
    pub(crate) fn new(redactor: Arc<Redactor>) -> Self {
        Self {
            redactor,
            log: ServerLog::default(),
            memory: Arc::new(Semaphore::new(MAX_MEMORY / MEMORY_UNIT)),
        }
    }
}

/// Memory that a message takes.
#[derive(Debug, Default)]
pub(in crate::downstream) struct MessageMemory {
    /// Zero if the message is too small to be counted.
    pub(in crate::downstream) bytes: usize,
    pub(in crate::downstream) values: usize,
    permit: Option<OwnedSemaphorePermit>,
}

impl MessageMemory {
    pub(in crate::downstream) fn is_counted(&self) -> bool {
        self.permit.is_some()
    }
}

#[derive(Debug)]
pub(in crate::downstream) struct ReceivedResult {
    pub(in crate::downstream) value: Value,
    pub(in crate::downstream) memory: MessageMemory,
}

pub(in crate::downstream) type Answer = Result<ReceivedResult, CallFailure>;

/// A message of a server.
#[derive(Debug)]
pub(in crate::downstream) enum ServerMessage {
    Request {
        id: Value,
        method: String,
        params: Map<String, Value>,
    },
    Notification {
        method: String,
        params: Map<String, Value>,
    },
    Answer {
        /// `None` if it is missing, or not an ID of this host.
        id: Option<u64>,
        answer: Answer,
    },
    /// A text that is none of these; the reason is a clause.
    Invalid(String),
}

impl Peer {
    /// Reads a message, a large one outside the async runtime. MCP 2025-03-26 has batches, so there may be several.
    pub(in crate::downstream) async fn read(self: &Arc<Self>, text: Vec<u8>) -> Vec<ServerMessage> {
        if text.len() < MIN_COUNTED_MESSAGE {
            return self.parse(&text, MessageMemory::default());
        }
        let bytes = text.len();
        let messages = self.read_counted(text).await;
        let is_awaited = |message: &ServerMessage| match message {
            ServerMessage::Answer { id: Some(id), .. } => self.pending.method(*id).is_some(),
            _ => false,
        };
        if !messages.iter().any(is_awaited) {
            self.count_unrequested(0, bytes);
        }
        messages
    }

    /// Reads a message within the limits on values and memory.
    async fn read_counted(self: &Arc<Self>, text: Vec<u8>) -> Vec<ServerMessage> {
        let is_large = text.len() >= MIN_LARGE_MESSAGE;
        let count = move || (MessageSize::from_text(&text), text);
        let counted = if is_large { spawn_blocking(count).await.ok() } else { Some(count()) };
        let Some((size, text)) = counted else { return Vec::new() };
        if let Some(reason) = too_large(size) {
            return vec![unreadable(&text, reason)];
        }
        let Ok(permit) = Arc::clone(&self.context.limits.memory).acquire_many_owned(units(size)).await else {
            return Vec::new();
        };
        let memory = MessageMemory { bytes: text.len(), values: size.values, permit: Some(permit) };
        let this = Arc::clone(self);
        let parse = move || this.parse(&text, memory);
        if is_large { spawn_blocking(parse).await.unwrap_or_default() } else { parse() }
    }

    fn parse(&self, text: &[u8], mut memory: MessageMemory) -> Vec<ServerMessage> {
        let text = repaired(text);
        let messages = match serde_json::from_slice(&text) {
            Ok(Value::Array(messages)) => messages,
            Ok(message) => vec![message],
            Err(error) => return vec![unreadable(&text, format!("it is not JSON: {error}"))],
        };
        messages.into_iter().map(|message| self.classify(message, &mut memory)).collect()
    }

    /// Returns the message. An answer takes the memory.
    fn classify(&self, message: Value, memory: &mut MessageMemory) -> ServerMessage {
        let redactor = self.secrets.redactor();
        let Value::Object(mut message) = message else {
            return ServerMessage::Invalid("it is not a JSON object".into());
        };
        let id = message.shift_remove("id").filter(|id| !id.is_null());
        if id.as_ref().is_some_and(|id| id.as_str().map_or(!id.is_number(), |id| id.len() > MAX_ID_BYTES)) {
            return ServerMessage::Invalid("its ID is not a number or a short text".into());
        }
        if let Some(Value::String(method)) = message.get_mut("method") {
            let method = std::mem::take(method);
            let mut params = match message.shift_remove("params") {
                Some(Value::Object(params)) => params,
                _ => Map::new(),
            };
            redact_members(&redactor, &mut params);
            return match id {
                Some(id) => ServerMessage::Request { id, method, params },
                None => ServerMessage::Notification { method, params },
            };
        }
        let id = id.as_ref().and_then(own_id);
        if let Some(mut error) = message.shift_remove("error").filter(|error| !error.is_null()) {
            redact_all(&redactor, &mut error);
            return ServerMessage::Answer { id, answer: Err(refusal(error)) };
        }
        let Some(mut value) = message.shift_remove("result") else {
            return ServerMessage::Invalid("it is not a request, a notification or an answer".into());
        };
        let method = id.and_then(|id| self.pending.method(id)).unwrap_or_default();
        redact_result(&redactor, method, &mut value);
        ServerMessage::Answer { id, answer: Ok(ReceivedResult { value, memory: std::mem::take(memory) }) }
    }
}

/// Returns the text without a byte order mark, with U+FFFD for invalid UTF-8 and for escaped lone surrogates, which no
/// string of the host can contain.
fn repaired(text: &[u8]) -> Cow<'_, [u8]> {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    if let Cow::Owned(repaired) = String::from_utf8_lossy(text) {
        return Cow::Owned(replace_lone_surrogates(repaired.as_bytes()).into_owned());
    }
    replace_lone_surrogates(text)
}

/// Returns the ID of a request of this host. Some servers answer `"7"` or 7.0 to 7.
fn own_id(id: &Value) -> Option<u64> {
    match id {
        Value::Number(number) => number.as_u64().or_else(|| {
            let number = number.as_f64()?;
            (number >= 0.0 && number.fract() == 0.0 && number < 9e15).then_some(number as u64)
        }),
        Value::String(text) => text.parse().ok(),
        _ => None,
    }
}

fn unreadable(text: &[u8], reason: String) -> ServerMessage {
    match response_id(text).as_ref().and_then(own_id) {
        Some(id) => ServerMessage::Answer { id: Some(id), answer: Err(CallFailure::Unreadable(reason)) },
        None => ServerMessage::Invalid(reason),
    }
}

/// Returns the failure for a JSON-RPC error, which some servers write in forms of their own.
pub(in crate::downstream) fn refusal(error: Value) -> CallFailure {
    let text = |value: &Value| match value {
        Value::String(text) => text.clone(),
        value => value.to_string(),
    };
    let Value::Object(error) = error else {
        return CallFailure::Refused {
            code: INTERNAL_ERROR,
            message: quoted(&text(&error), MAX_ERROR_CHARS),
        };
    };
    let code = match error.get("code") {
        Some(Value::String(code)) => code.parse().ok(),
        Some(code) => code.as_i64().or_else(|| code.as_f64().map(|code| code as i64)),
        None => None,
    };
    let code = code.and_then(|code: i64| i32::try_from(code).ok()).unwrap_or(INTERNAL_ERROR);
    let is_empty = |value: &&Value| match value {
        Value::String(text) => text.is_empty(),
        Value::Object(members) => members.is_empty(),
        value => value.is_null(),
    };
    let message = error.get("message").filter(|message| !is_empty(message));
    let data = error.get("data").filter(|data| !is_empty(data));
    let parts = [(message, MAX_ERROR_CHARS), (data, MAX_DATA_CHARS)];
    let parts = parts.into_iter().filter_map(|(part, limit)| Some(quoted(&text(part?), limit)));
    let message = parts.collect::<Vec<_>>().join(": ");
    let message = if message.is_empty() { "it gave no reason".to_owned() } else { message };
    CallFailure::Refused { code, message }
}

/// Returns the permits that a message takes, at most all.
fn units(size: MessageSize) -> u32 {
    u32::try_from((size.memory / MEMORY_UNIT + 1).min(MAX_MEMORY / MEMORY_UNIT)).unwrap_or(u32::MAX)
}

fn too_large(size: MessageSize) -> Option<String> {
    if size.values > MAX_VALUES {
        return Some(format!("it has {} values; the limit is {MAX_VALUES}", size.values));
    }
    (size.memory > MAX_MEMORY).then(|| {
        let (megabytes, max) = (size.memory >> 20, MAX_MEMORY >> 20);
        format!("it takes {megabytes} MiB of memory as JSON; the limit is {max} MiB")
    })
}
