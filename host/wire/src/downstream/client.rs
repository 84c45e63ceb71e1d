//! The host as the client of a server: whom the server tells of changes, and asks while it runs calls.

use std::sync::Arc;

use gatehouse_core::{SourceId, question::QuestionKind};
use rmcp::{
    ClientHandler, ErrorData, RoleClient,
    model::{
        ClientConfig, ElicitRequestParams, ElicitResult, Implementation, ResourceUpdatedNotificationParam,
    },
    service::{NotificationContext, RequestContext},
};

use super::{
    asked::{self, Running},
    connection::ListChanged,
    followed::Followed,
    progress::{InOrder, Watchers},
};

/// What the host is to a server: a client without files, whose person and model are those of whoever makes a call.
pub(super) struct Client {
    pub(super) server: SourceId,
    pub(super) running: Running,
    changed: ListChanged,
    pub(super) watchers: Watchers,
    pub(super) followed: Followed,
}

impl Client {
    pub(super) fn new(server: &Arc<str>, changed: &ListChanged) -> Self {
        Self {
            server: SourceId::Server(Arc::clone(server)),
            running: Running::default(),
            changed: Arc::clone(changed),
            watchers: Watchers::default(),
            followed: Followed::default(),
        }
    }

    /// The transport with its progress told in order.
    pub(super) fn over<T>(&self, transport: T) -> InOrder<T> {
        InOrder::new(transport, self.watchers.clone())
    }
}

impl ClientHandler for Client {
    fn get_info(&self) -> ClientConfig {
        let client = Implementation::new("gatehouse", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(asked::capabilities(), client)
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

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        (self.changed)();
    }

    async fn on_resource_list_changed(&self, _: NotificationContext<RoleClient>) {
        (self.changed)();
    }

    async fn on_resource_updated(
        &self,
        updated: ResourceUpdatedNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        self.followed.changed(&updated.uri);
    }

    async fn on_prompt_list_changed(&self, _: NotificationContext<RoleClient>) {
        (self.changed)();
    }
}
