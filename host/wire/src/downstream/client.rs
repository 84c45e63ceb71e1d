//! The host as the client of a server, which may ask something while it runs calls.

use std::sync::Arc;

use gatehouse_core::{SourceId, question::QuestionKind};
use rmcp::{
    ClientHandler, ErrorData, RoleClient,
    model::{ClientConfig, ElicitRequestParams, ElicitResult, Implementation},
    service::RequestContext,
};

use super::{
    active_calls::{self, ActiveCalls},
    connection::ListChanged,
    inbound::{GuardedTransport, InboundReader, ProgressWatchers},
    upstream_subscriptions::UpstreamSubscriptions,
};

/// What the host is to a server: a client without files, whose person and model are those of whoever makes a call.
pub(super) struct HostClient {
    pub(super) server: SourceId,
    pub(super) running: ActiveCalls,
    pub(super) inbound: InboundReader,
    pub(super) watchers: ProgressWatchers,
    pub(super) followed: UpstreamSubscriptions,
}

impl HostClient {
    pub(super) fn new(server: &Arc<str>, inbound: InboundReader) -> Self {
        Self {
            server: SourceId::Server(Arc::clone(server)),
            running: ActiveCalls::default(),
            inbound,
            watchers: ProgressWatchers::default(),
            followed: UpstreamSubscriptions::default(),
        }
    }

    /// Returns the transport with what it does for this client.
    pub(super) fn wrap_transport<T>(&self, transport: T, changed: &ListChanged) -> GuardedTransport<T> {
        GuardedTransport::new(transport, &self.inbound, &self.watchers, &self.followed, changed)
    }
}

impl ClientHandler for HostClient {
    fn get_info(&self) -> ClientConfig {
        let client = Implementation::new("gatehouse", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(active_calls::capabilities(), client)
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        self.running.ask(&self.server, QuestionKind::Form, &request, &context).await
    }

    // The protocol library calls it deprecated; servers of earlier versions ask it all the same.
    #[allow(deprecated)]
    async fn create_message(
        &self,
        request: rmcp::model::CreateMessageRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<rmcp::model::CreateMessageResult, ErrorData> {
        self.running.ask(&self.server, QuestionKind::Sampling, &request, &context).await
    }
}
