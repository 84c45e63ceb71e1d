//! Requests that a transport hands to the handler itself, without the message loop of rmcp, which would take several tasks
//! and channels for each.
//!
//! Tool calls are the most frequent, so they are parsed here too: rmcp tries one type of message after the other on a copy
//! of all values, and a call is the fourteenth.

use std::{borrow::Cow, panic::AssertUnwindSafe, pin::Pin, sync::Arc};

use futures_util::FutureExt as _;
use rmcp::{
    ErrorData, RoleServer, Service as _,
    model::{
        CallToolRequest, CallToolRequestParams, ClientRequest, GetExtensions as _, GetMeta as _,
        JsonRpcMessage, JsonRpcRequest, RequestId,
    },
    service::{Peer, RequestContext, TxJsonRpcMessage},
};
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use super::handler::Handler;

/// A running request. Its output is the reply.
pub(crate) type CallFuture = Pin<Box<dyn Future<Output = TxJsonRpcMessage<RoleServer>> + Send>>;

/// Returns a request that has not begun, and the token that cancels it. Cancel it after the reply too, which stops
/// background work.
pub(crate) fn call_future(
    handler: Arc<Handler>,
    peer: Peer<RoleServer>,
    message: JsonRpcRequest<ClientRequest>,
) -> (CallFuture, CancellationToken) {
    let JsonRpcRequest { id, mut request, .. } = message;
    let mut context = RequestContext::new(id.clone(), peer);
    context.meta = std::mem::take(request.get_meta_mut());
    context.extensions = std::mem::take(request.extensions_mut());
    let cancel = context.ct.clone();
    let work = Box::pin(async move {
        // A panic here would end the connection.
        let result = AssertUnwindSafe(handler.handle_request(request, context)).catch_unwind().await;
        match result {
            Ok(Ok(result)) => JsonRpcMessage::response(result, id),
            Ok(Err(error)) => JsonRpcMessage::error(error, Some(id)),
            Err(_) => {
                let error = ErrorData::internal_error("the host failed on this call", None);
                JsonRpcMessage::error(error, Some(id))
            }
        }
    });
    (work, cancel)
}

const METHOD: &str = "tools/call";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CallMessage<'a> {
    #[serde(borrow)]
    jsonrpc: Cow<'a, str>,
    id: RequestId,
    #[serde(borrow)]
    method: Cow<'a, str>,
    params: CallToolRequestParams,
}

/// Parses a tool call. `None` for other messages, and for calls that are not exactly as the protocol has them.
pub(crate) fn parse_call(bytes: &[u8]) -> Option<JsonRpcRequest<ClientRequest>> {
    // serde also reads a struct from an array of its values.
    if bytes.first() != Some(&b'{') || memchr::memmem::find(bytes, METHOD.as_bytes()).is_none() {
        return None;
    }
    let CallMessage { jsonrpc, id, method, mut params } = serde_json::from_slice(bytes).ok()?;
    if jsonrpc != "2.0" || method != METHOD {
        return None;
    }
    let meta = params.meta.take();
    let mut request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
    if let Some(meta) = meta {
        *request.get_meta_mut() = meta;
    }
    Some(JsonRpcRequest::new(id, request))
}

#[cfg(test)]
mod tests {
    use rmcp::model::ClientJsonRpcMessage;
    use serde_json::json;

    use super::*;

    #[test]
    fn calls_are_parsed_as_rmcp_parses_them() {
        for message in [
            json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "echo"}}),
            json!({"method": "tools/call", "params": {"arguments": {"a": [1, {"b": null}]}, "name": "é\n"}, "id": "x", "jsonrpc": "2.0"}),
            json!({"jsonrpc": "2.0", "id": -7, "method": "tools/call", "params": {"name": "a", "arguments": {}, "other": 1,
                "_meta": {"progressToken": "t", "io.modelcontextprotocol/protocolVersion": "2026-07-28", "x/y": {"z": 1}}}}),
            json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "a", "requestState": "s",
                "inputResponses": {"1": {"action": "accept", "content": {"a": 1}}}}}),
        ] {
            let text = message.to_string();
            let parsed = parse_call(text.as_bytes()).unwrap_or_else(|| panic!("not parsed: {text}"));
            let JsonRpcMessage::Request(expected) =
                serde_json::from_str::<ClientJsonRpcMessage>(&text).expect("a message")
            else {
                panic!("not a request: {text}");
            };
            assert_eq!(parsed.id, expected.id);
            assert_eq!(parsed.request.get_meta(), expected.request.get_meta(), "{text}");
            let [ours, theirs] = [parsed.request, expected.request].map(|request| match request {
                ClientRequest::CallToolRequest(call) => call.params,
                other => panic!("not a call: {other:?}"),
            });
            assert_eq!(ours, theirs, "{text}");
        }
    }

    #[test]
    fn what_is_not_exactly_a_call_is_left_to_rmcp() {
        for message in [
            r#"{"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"name": "tools/call"}}"#,
            r#"{"jsonrpc": "1.0", "id": 1, "method": "tools/call", "params": {"name": "a"}}"#,
            r#"{"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "a"}}"#,
            r#"{"jsonrpc": "2.0", "id": null, "method": "tools/call", "params": {"name": "a"}}"#,
            r#"{"jsonrpc": "2.0", "id": 1.5, "method": "tools/call", "params": {"name": "a"}}"#,
            r#"{"jsonrpc": "2.0", "id": 1, "id": 2, "method": "tools/call", "params": {"name": "a"}}"#,
            r#"{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "a", "arguments": "{}"}}"#,
            r#"{"jsonrpc": "2.0", "id": 1, "method": "tools/call"}"#,
            r#"{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "a"}, "result": null}"#,
            r#"{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "a"}, "more": 1}"#,
            r#"["2.0", 1, "tools/call", {"name": "a"}]"#,
            r#"{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "a"}} {}"#,
        ] {
            assert!(parse_call(message.as_bytes()).is_none(), "{message}");
        }
    }
}
