//! Requests that rmcp passes on without parsing them.

use gatehouse_core::names::quoted;
use rmcp::{
    ErrorData, RoleServer,
    model::{CustomRequest, CustomResult, ErrorCode, JsonObject, ServerResult},
    service::RequestContext,
};
use serde_json::Value;

use super::interactive_request::{InteractiveParams, is_since_2026};
use crate::serve::{handler::Handler, lists::ListKind};

impl Handler {
    /// Answers a call whose parameters rmcp cannot parse. Other methods are unknown, or their parameters invalid.
    pub(crate) async fn custom_request(
        &self,
        request: CustomRequest,
        context: &RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let method = quoted(&request.method, 64);
        let catalog = self.served.catalog(&self.caller_of(&context.extensions));
        let legacy = !is_since_2026(context);
        if !ListKind::is_known(&request.method, &catalog, !legacy) {
            return Err(ErrorData::new(
                ErrorCode::METHOD_NOT_FOUND,
                format!("unknown method: '{method}'"),
                None,
            ));
        }
        let params = request.params.unwrap_or(Value::Null);
        let name = params.get("name").and_then(Value::as_str);
        let (Some(name), "tools/call") = (name, request.method.as_str()) else {
            let what = if request.method == "tools/call" { ": 'name' must be a string" } else { "" };
            return Err(ErrorData::invalid_params(format!("invalid params for {method}{what}"), None));
        };
        let member = |key| params.get(key).cloned();
        let params = InteractiveParams {
            method: "tools/call",
            name: name.to_owned(),
            arguments: member("arguments").unwrap_or(Value::Null),
            state: member("requestState").and_then(|state| serde_json::from_value(state).ok()),
            answers: member("inputResponses").and_then(|answers| serde_json::from_value(answers).ok()),
        };
        let result = self.answer(self.run(params, context)).await?;
        let value = serde_json::to_value(ServerResult::from(result));
        let mut value = value.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
        // rmcp omits this field for clients before 2026-07-28, but not in custom results.
        if let Some(object) = value.as_object_mut().filter(|_| legacy) {
            JsonObject::remove(object, "resultType");
        }
        Ok(CustomResult::new(value))
    }
}
