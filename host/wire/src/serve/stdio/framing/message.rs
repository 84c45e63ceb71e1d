//! Parsing of one line.

use gatehouse_core::json::{self as bounds, MAX_VALUES};
use gatehouse_core::surrogates::replace_lone_surrogates;
use rmcp::{
    RoleServer,
    model::{ClientRequest, GetMeta, JsonRpcMessage, ProtocolVersion},
    service::RxJsonRpcMessage,
};
use serde_json::Value;

use super::MAX_LINE;
use crate::serve::{direct_calls::parse_call, envelope, json_text::MessageOutline};

/// A message, or the error response to send, if any.
pub(super) type ParsedLine = Result<RxJsonRpcMessage<RoleServer>, Option<Value>>;

/// Parses a line. Blank lines and unknown notifications get no response.
pub(super) fn parse_line(line: &[u8]) -> ParsedLine {
    let line = replace_lone_surrogates(line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line));
    let line = line.trim_ascii();
    if line.is_empty() {
        return Err(None);
    }
    if bounds::too_many_values(line) {
        let reason = format!("the message has too many JSON values; the limit is {MAX_VALUES}");
        return Err(Some(envelope::invalid(MessageOutline::new(line).request_id, reason)));
    }
    if let Some(call) = parse_call(line) {
        return Ok(JsonRpcMessage::Request(call));
    }
    serde_json::from_slice(line)
        .map_err(|_| envelope::check(line).err().or_else(|| envelope::unreadable(line)))
}

/// True if this message ends rmcp's handshake, during which notifications are errors.
pub(super) fn ends_handshake(message: &RxJsonRpcMessage<RoleServer>) -> bool {
    let JsonRpcMessage::Request(request) = message else { return false };
    match &request.request {
        ClientRequest::InitializeRequest(_) => true,
        ClientRequest::PingRequest(_) | ClientRequest::DiscoverRequest(_) => false,
        request => {
            let meta = request.get_meta();
            let is_known = |version| ProtocolVersion::KNOWN_VERSIONS.contains(&version);
            meta.missing_required_keys(&ProtocolVersion::V_2026_07_28).is_empty()
                && meta.protocol_version().is_some_and(is_known)
        }
    }
}

pub(super) fn too_long(ends: &[u8], length: usize) -> Value {
    let reason = format!("the message is {length} bytes; the limit is {MAX_LINE}");
    envelope::invalid(find_id(ends), reason)
}

/// Finds the ID in the ends of a message: before or after its parameters.
fn find_id(ends: &[u8]) -> Option<Value> {
    let text = String::from_utf8_lossy(ends);
    let head = text.split("\"params\"").next().unwrap_or_default();
    let tail = text.rfind("\"id\"").map(|at| &text[at..]);
    let candidates = [head.find("\"id\"").map(|at| &head[at..]), tail];
    candidates.into_iter().flatten().find_map(|candidate| {
        let value = candidate.strip_prefix("\"id\"")?.trim_start().strip_prefix(':')?;
        let id = serde_json::Deserializer::from_str(value).into_iter::<Value>().next()?.ok()?;
        (id.is_number() || id.is_string()).then_some(id)
    })
}
