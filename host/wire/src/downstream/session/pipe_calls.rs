//! Tool calls over pipes, written by the tasks that make them. rmcp's client would pass each call through its own task
//! and spawn another one to write it.

use std::sync::atomic::{AtomicU32, Ordering};

use rmcp::{
    ClientHandler as _, RoleClient,
    model::{
        ClientRequest, CustomRequest, GetMeta as _, JsonRpcMessage, ProgressToken, RequestId,
        RequestMetaObject, ServerResult,
    },
    service::{PeerRequestOptions, RunningService, ServiceError, TxJsonRpcMessage},
    transport::DynamicTransportError,
};
use tokio::io::Empty;

use super::{HostClient, InboundReader};
use crate::downstream::{
    host_client::is_since_2026,
    inbound::UNSENT_REQUEST,
    pipe_transport::{PipeTransport, PipeWriter},
};

/// First ID of these calls. rmcp counts its own requests from 0.
const FIRST_ID: u32 = 1 << 30;

pub(in crate::downstream) struct PipeCalls {
    writer: PipeWriter,
    sent: AtomicU32,
    /// `_meta` that each request repeats since MCP 2026-07-28.
    meta: Option<RequestMetaObject>,
}

impl PipeCalls {
    pub(in crate::downstream) async fn new(
        running: &RunningService<RoleClient, HostClient>,
        writer: PipeWriter,
    ) -> Self {
        let peer = running.peer();
        let mut meta = None;
        if is_since_2026(peer)
            && let Some(server) = peer.peer_info()
        {
            let info = running.service().get_info();
            let repeated = meta.insert(RequestMetaObject::new());
            repeated.set_protocol_version(server.protocol_version.clone());
            repeated.set_client_info(info.client_info);
            repeated.set_client_capabilities(info.capabilities);
            // rmcp refuses questions of such a server while it has no request in flight, and it does not know of these
            // calls. `HostClient` refuses those that belong to no call.
            let pending = ClientRequest::CustomRequest(CustomRequest::new(UNSENT_REQUEST, None));
            let _ = peer.send_request_with_option(pending, PeerRequestOptions::no_options()).await;
        }
        Self { writer, sent: AtomicU32::new(0), meta }
    }

    /// Returns the ID of the next call, which is also its progress token.
    pub(super) fn next_id(&self) -> RequestId {
        let number = FIRST_ID + self.sent.fetch_add(1, Ordering::Relaxed) % FIRST_ID;
        RequestId::Number(number.into())
    }

    /// Sends a request and waits for its answer.
    pub(super) async fn request(
        &self,
        id: &RequestId,
        mut request: ClientRequest,
        inbound: &InboundReader,
    ) -> Result<ServerResult, ServiceError> {
        let meta = request.get_meta_mut();
        if let Some(repeated) = &self.meta {
            meta.extend(repeated.clone());
        }
        meta.set_progress_token(ProgressToken(id.clone()));
        let answer = inbound.register_direct_call(id).ok_or(ServiceError::TransportClosed)?;
        let message: TxJsonRpcMessage<RoleClient> = JsonRpcMessage::request(request, id.clone());
        self.writer.write(&message).await.map_err(|error| {
            let error = DynamicTransportError::new::<PipeTransport<Empty>, RoleClient>(error);
            ServiceError::TransportSend(error)
        })?;
        match answer.await {
            Ok(answer) => answer.map_err(ServiceError::McpError),
            Err(_) => Err(ServiceError::TransportClosed),
        }
    }
}

#[cfg(test)]
mod tests;
