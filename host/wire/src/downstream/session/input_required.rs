//! Requests during which the server may ask the client for input.

use std::sync::Arc;

use gatehouse_core::{CallContext, Fault};
use rmcp::model::{
    ClientRequest, DEFAULT_MRTR_MAX_ROUNDS, GetMeta, InputResponses, MetaObject, RequestMetaObject,
    ServerResult,
};
use serde_json::Map;

use super::{super::active_calls, CallFailure, ServerSession};

/// Answers of the client, and the request state of the server.
pub(super) type InputAnswers = (Option<InputResponses>, Option<String>);

impl ServerSession {
    /// Sends a request for a client. As long as the server asks for input, sends it again with the client's answers.
    pub(super) async fn request_with_input(
        &self,
        context: &Arc<CallContext>,
        make: impl Fn(InputAnswers) -> ClientRequest,
    ) -> Result<ServerResult, CallFailure> {
        let mut answers = (None, None);
        for _ in 0..DEFAULT_MRTR_MAX_ROUNDS {
            let mut request = make(answers);
            if let Some(meta) = &context.meta {
                request.get_meta_mut().extend(RequestMetaObject(MetaObject(Map::clone(meta))));
            }
            let asked = match self.request(request, Some(context)).await? {
                ServerResult::InputRequiredResult(asked) => asked,
                result => return Ok(result),
            };
            let requests = asked.input_requests.unwrap_or_default();
            let given = active_calls::answer_input_requests(&self.server, context, requests).await;
            answers = (Some(given.map_err(CallFailure::Unanswered)?), asked.request_state);
        }
        Err(CallFailure::Unanswered(Fault::exhausted(format!(
            "it asked more than {DEFAULT_MRTR_MAX_ROUNDS} times during one call"
        ))))
    }
}
