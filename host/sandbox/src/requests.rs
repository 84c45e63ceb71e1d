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

/// Defines requests that call one method of [`ContractExports`].
macro_rules! requests {
    ($($request:ident<$life:lifetime> { $($field:ident: $type:ty),+ } => $method:ident -> $answer:ty;)+) => {$(
        pub(crate) struct $request<$life> {
            $(pub(crate) $field: $type,)+
        }

        impl InstanceRequest for $request<'_> {
            type Answer = $answer;

            async fn run(
                self,
                gate: &dyn ContractExports,
                store: &mut Store<State>,
            ) -> Result<$answer, GuestError> {
                gate.$method(store, $(self.$field),+).await
            }
        }
    )+};
}

requests! {
    ListResources<'a> { params: &'a str, cursor: Option<&'a str> } => list_resources -> ResourcePage;
    ReadResource<'a> { params: &'a str, uri: &'a str } => read_resource -> Vec<EmbeddedResource>;
    GetChangesIn<'a> { params: &'a str, uri: &'a str } => changes_in -> Option<u64>;
    GetPrompt<'a> { params: &'a str, name: &'a str, arguments: &'a str } => get_prompt -> Vec<PromptMessage>;
    CompleteArgument<'a> { params: &'a str, typed: CompletionRequest } => complete -> Completions;
}
