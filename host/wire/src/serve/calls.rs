//! Calls of tools as clients ask for them.

use std::sync::Arc;

use gatehouse_core::{Call, CallContext};
use rmcp::{
    ErrorData, RoleServer,
    model::{CallToolResponse, InputResponses, ServerResult},
    service::RequestContext,
};
use serde_json::Value;

use super::{
    asks::without_panic,
    handler::Handler,
    lacking::Lacking,
    reply::{self, Data},
    talk::{Begun, Wanted, of_another_kind},
};

/// One request for a call.
pub(super) struct Requested {
    /// The tool's name, unchecked.
    pub(super) name: String,
    pub(super) arguments: Value,
    /// The name of the parked call that it has go on, and the answers.
    pub(super) state: Option<String>,
    pub(super) answers: Option<InputResponses>,
}

impl Handler {
    pub(super) async fn run(
        &self,
        requested: Requested,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Requested { name, arguments, state, answers } = requested;
        let catalog = self.served.catalog_with(&name).await;
        let preset = Arc::clone(&catalog.preset);
        let wanted = Wanted { method: "tools/call", name: &name, arguments: &arguments, state, answers };
        let result = match self.begin(&preset, wanted, context).await? {
            Begun::Over(result) => *result,
            Begun::Talk(talk) => {
                let repeats = talk.repeats;
                let data = Data::of(&catalog, context, repeats);
                let call = CallContext::new(&self.presets.pipeline, catalog, name.clone());
                let work = |call: CallContext, lacking: Lacking| async move {
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
            _ => Err(of_another_kind()),
        }
    }
}
