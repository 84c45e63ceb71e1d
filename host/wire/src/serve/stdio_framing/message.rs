//! One line as a message, or the answer to what is not a message.

use gatehouse_core::json::{self as bounds, MAX_VALUES};
use rmcp::{
    RoleServer,
    model::{ClientRequest, GetMeta, JsonRpcMessage, ProtocolVersion},
    service::RxJsonRpcMessage,
};
use serde_json::Value;

use super::MAX_LINE;
use crate::serve::{
    envelope,
    json_text::{MessageOutline, replace_lone_surrogates},
};

/// A message, or the answer to what is not one, if that is answered.
pub(super) type ParsedLine = Result<RxJsonRpcMessage<RoleServer>, Option<Value>>;

/// A message, or the answer to what is not a message; no answer to blank lines and to notifications we do not know.
pub(super) fn parse_line(line: &[u8]) -> ParsedLine {
    let line = replace_lone_surrogates(line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line));
    let line = line.trim_ascii();
    if line.is_empty() {
        return Err(None);
    }
    if bounds::too_many_values(line) {
        let why = format!("The message has more than {} values", MAX_VALUES);
        return Err(Some(envelope::invalid(MessageOutline::new(line).request_id, why)));
    }
    let message = serde_json::from_slice(line);
    // What reads as a notification may be a request whose id is invalid.
    if let Ok(JsonRpcMessage::Notification(_)) | Err(_) = &message {
        envelope::check(line).map_err(Some)?;
    }
    message.map_err(|_| envelope::unreadable(line))
}

/// Whether rmcp leaves its opening with this message, in which it takes a notification for an error.
pub(super) fn ends_handshake(message: &RxJsonRpcMessage<RoleServer>) -> bool {
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

pub(super) fn too_long(ends: &[u8], length: usize) -> Value {
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
