//! Requests that a transport hands to the handler itself, without the message loop of rmcp: it would take several tasks
//! and channels for each.

use std::{panic::AssertUnwindSafe, pin::Pin, sync::Arc};

use futures_util::FutureExt as _;
use rmcp::{
    ErrorData, RoleServer, Service as _,
    model::{ClientRequest, GetExtensions as _, GetMeta as _, JsonRpcMessage, JsonRpcRequest},
    service::{Peer, RequestContext, TxJsonRpcMessage},
};
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
