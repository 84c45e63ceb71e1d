//! The host as the MCP client of a server.

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

/// Handler of a server's requests. It has no roots; the client of a call answers elicitation and sampling.
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

    // rmcp deprecates this method, but servers of earlier versions call it.
    #[allow(deprecated)]
    async fn create_message(
        &self,
        request: rmcp::model::CreateMessageRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<rmcp::model::CreateMessageResult, ErrorData> {
        self.running.ask(&self.server, QuestionKind::Sampling, &request, &context).await
    }
}
