//! Tool calls.

use std::sync::Arc;

use gatehouse_core::{Call, CallContext};
use rmcp::{
    ErrorData, RoleServer,
    model::{CallToolResponse, InputResponses, ServerResult},
    service::RequestContext,
};
use serde_json::Value;

use super::{
    handler::Handler,
    interactive_request::{InteractiveParams, RequestStart, wrong_request_kind},
    missing_capability::MissingCapability,
    reply::{self, StructuredMode},
    resource_requests::without_panic,
};

pub(super) struct ToolCallParams {
    /// Tool name, not validated.
    pub(super) name: String,
    pub(super) arguments: Value,
    /// State token of the paused call to resume, and the answers to its questions.
    pub(super) state: Option<String>,
    pub(super) answers: Option<InputResponses>,
}

impl Handler {
    pub(super) async fn run(
        &self,
        requested: ToolCallParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let ToolCallParams { name, arguments, state, answers } = requested;
        let catalog = self.served.catalog_with(&name).await;
        let preset = Arc::clone(&catalog.preset);
        let wanted =
            InteractiveParams { method: "tools/call", name: &name, arguments: &arguments, state, answers };
        let result = match self.begin_request(&preset, wanted, context).await? {
            RequestStart::Resumed(result) => *result,
            RequestStart::New(talk) => {
                let repeats = talk.repeats;
                let data = StructuredMode::for_request(&catalog, context, repeats);
                let call = CallContext::new(&self.presets.pipeline, catalog, name.clone());
                let work = |call: CallContext, lacking: MissingCapability| async move {
                    let id = call.id;
                    let outcome = without_panic(id, &name, Call::new(call, arguments).run()).await;
                    let result =
                        if repeats { lacking.result(outcome, data) } else { reply::result(outcome, data) };
                    result.map(ServerResult::CallToolResult)
                };
                talk.run(call, work).await?
            }
        };
        match result {
            ServerResult::CallToolResult(result) => Ok(result.into()),
            ServerResult::InputRequiredResult(asked) => Ok(asked.into()),
            _ => Err(wrong_request_kind()),
        }
    }
}
