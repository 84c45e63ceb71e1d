//! Requests that an instance can serve.

use std::sync::Arc;

use gatehouse_core::{
    Reply,
    catalog::ToolEntry,
    completion::{CompletionRequest, Completions},
    outcome::EmbeddedResource,
    prompt::PromptMessage,
    resource::ResourcePage,
};
use wasmtime::Store;

use crate::{
    abi::{ContractExports, GuestError, ToolCall},
    state::State,
};

/// A request to a gate's exports.
pub(crate) trait InstanceRequest: Send {
    type Answer: Send;

    fn run(
        self,
        gate: &dyn ContractExports,
        store: &mut Store<State>,
    ) -> impl Future<Output = Result<Self::Answer, GuestError>> + Send;
}

impl InstanceRequest for ToolCall {
    type Answer = Reply;

    async fn run(self, gate: &dyn ContractExports, store: &mut Store<State>) -> Result<Reply, GuestError> {
        gate.call(store, self).await
    }
}

pub(crate) struct FilterReply {
    pub(crate) call: ToolCall,
    pub(crate) tool: Arc<ToolEntry>,
    pub(crate) reply: Reply,
}

impl InstanceRequest for FilterReply {
    type Answer = Option<Reply>;

    async fn run(
        self,
        gate: &dyn ContractExports,
        store: &mut Store<State>,
    ) -> Result<Option<Reply>, GuestError> {
        gate.filter(store, self.call, &self.tool, self.reply).await
    }
}

pub(crate) struct ListResources<'a> {
    pub(crate) params: &'a str,
    pub(crate) cursor: Option<&'a str>,
}

impl InstanceRequest for ListResources<'_> {
    type Answer = ResourcePage;

    async fn run(
        self,
        gate: &dyn ContractExports,
        store: &mut Store<State>,
    ) -> Result<ResourcePage, GuestError> {
        gate.list_resources(store, self.params, self.cursor).await
    }
}

pub(crate) struct ReadResource<'a> {
    pub(crate) params: &'a str,
    pub(crate) uri: &'a str,
}

impl InstanceRequest for ReadResource<'_> {
    type Answer = Vec<EmbeddedResource>;

    async fn run(
        self,
        gate: &dyn ContractExports,
        store: &mut Store<State>,
    ) -> Result<Vec<EmbeddedResource>, GuestError> {
        gate.read_resource(store, self.params, self.uri).await
    }
}

pub(crate) struct GetChangesIn<'a> {
    pub(crate) params: &'a str,
    pub(crate) uri: &'a str,
}

impl InstanceRequest for GetChangesIn<'_> {
    type Answer = Option<u64>;

    async fn run(
        self,
        gate: &dyn ContractExports,
        store: &mut Store<State>,
    ) -> Result<Option<u64>, GuestError> {
        gate.changes_in(store, self.params, self.uri).await
    }
}

pub(crate) struct GetPrompt<'a> {
    pub(crate) params: &'a str,
    pub(crate) name: &'a str,
    pub(crate) arguments: &'a str,
}

impl InstanceRequest for GetPrompt<'_> {
    type Answer = Vec<PromptMessage>;

    async fn run(
        self,
        gate: &dyn ContractExports,
        store: &mut Store<State>,
    ) -> Result<Vec<PromptMessage>, GuestError> {
        gate.get_prompt(store, self.params, self.name, self.arguments).await
    }
}

pub(crate) struct CompleteArgument<'a> {
    pub(crate) params: &'a str,
    pub(crate) typed: CompletionRequest,
}

impl InstanceRequest for CompleteArgument<'_> {
    type Answer = Completions;

    async fn run(
        self,
        gate: &dyn ContractExports,
        store: &mut Store<State>,
    ) -> Result<Completions, GuestError> {
        gate.complete(store, self.params, self.typed).await
    }
}
