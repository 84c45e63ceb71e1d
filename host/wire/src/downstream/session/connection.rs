//! [`ServerConnection`] implementation of a session.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use gatehouse_core::{
    CallContext, Reply,
    completion::{CompletionRequest, CompletionTarget, Completions},
    names::quoted,
    outcome::EmbeddedResource,
    prompt::FilledPrompt,
    resource::ResourcePage,
    source::Listing,
    tool::ToolSpec,
};
use rmcp::model::{CallToolResult, CompletionInfo};
use serde_json::{Map, Value, json};
use tokio::sync::watch;

use super::{
    CallFailure, Request, ServerSession,
    listing::{ListPage, read_page},
    parse, result_type, take,
};
use crate::downstream::{
    connection::{ConnectionEnd, ConnectionStart, ServerConnection},
    convert,
    http::{argument_headers, tool_headers},
    peer::{Channel, Lifecycle},
};

/// Maximum values of a completion (MCP, "Completion Results").
const MAX_COMPLETIONS: usize = 100;

/// Maximum length of a completed value.
const MAX_COMPLETION_CHARS: usize = 2_000;

#[async_trait]
impl ServerConnection for ServerSession {
    async fn list(&self, limit: Duration) -> Result<Listing, CallFailure> {
        self.read_lists(limit).await
    }

    async fn call(
        &self,
        tool: &ToolSpec,
        arguments: Map<String, Value>,
        context: &Arc<CallContext>,
    ) -> Result<Reply, CallFailure> {
        const CALL: &str = "tools/call";
        let headers = match self.repeats_arguments() {
            true => tool_headers(&tool.input_schema).map(|headers| argument_headers(&headers, &arguments)),
            false => Ok(Default::default()),
        };
        let request = Request::new(CALL, json!({"name": tool.name, "arguments": arguments}));
        let request = Request { headers: headers.unwrap_or_default(), ..request };
        let result = self.request_with_input(context, request).await?;
        match result_type(&result) {
            Some("task") => self.task_result(result, context).await.map(convert::reply),
            _ => read_call_result(result).map(convert::reply),
        }
    }

    async fn list_resources(&self, cursor: Option<&str>) -> Result<ResourcePage, CallFailure> {
        const LIST: &str = "resources/list";
        let params = cursor.map_or_else(|| json!({}), |cursor| json!({"cursor": cursor}));
        let page = self.request(LIST, params).await?.value;
        let ListPage { items: resources, next, .. } = read_page(LIST, "resources", page)?;
        // Before 2026-07-28, `""` ends a list. A server that ignores the cursor would be asked for ever.
        let is_page = |next: &&str| Some(*next) != cursor && (self.info.is_since_2026() || !next.is_empty());
        let next = next.as_str().filter(is_page).map(str::to_owned);
        // Resources that cannot be read are left out, as in the listing.
        let resources = resources.into_iter().filter_map(|resource| serde_json::from_value(resource).ok());
        Ok(ResourcePage { resources: resources.map(convert::resource_link).collect(), next })
    }

    async fn follow_resource(&self, uri: &str) -> Result<Option<watch::Receiver<u64>>, CallFailure> {
        self.follow(uri).await
    }

    fn is_followed(&self) -> bool {
        self.peer.subscriptions.has_followers()
    }

    fn start(&self) -> ConnectionStart {
        ConnectionStart {
            lifecycle: self.info.lifecycle,
            is_sse: matches!(self.peer.channel(), Channel::Sse(_)),
        }
    }

    fn has_lost_session(&self) -> bool {
        self.peer.has_lost_session()
    }

    async fn read_resource(
        &self,
        uri: &str,
        context: &Arc<CallContext>,
    ) -> Result<Vec<EmbeddedResource>, CallFailure> {
        const READ: &str = "resources/read";
        let request = Request::new(READ, json!({"uri": uri}));
        let mut result = self.request_with_input(context, request).await?;
        let contents: Vec<_> = parse(READ, take(&mut result, "contents"))?;
        let parts: Option<_> = contents.into_iter().map(convert::resource).collect();
        parts.ok_or_else(|| CallFailure::Unreadable(format!("its result of {READ} has invalid base64")))
    }

    async fn get_prompt(
        &self,
        name: &str,
        arguments: Map<String, Value>,
        context: &Arc<CallContext>,
    ) -> Result<FilledPrompt, CallFailure> {
        const GET: &str = "prompts/get";
        let request = Request::new(GET, json!({"name": name, "arguments": arguments}));
        let mut result = self.request_with_input(context, request).await?;
        let messages: Vec<_> = parse(GET, take(&mut result, "messages"))?;
        let description = result.get("description").and_then(Value::as_str).map(str::to_owned);
        Ok(FilledPrompt {
            description,
            messages: messages.into_iter().map(convert::prompt_message).collect(),
        })
    }

    async fn complete(&self, typed: CompletionRequest) -> Result<Completions, CallFailure> {
        const COMPLETE: &str = "completion/complete";
        let reference = match typed.target {
            CompletionTarget::Prompt(name) => json!({"type": "ref/prompt", "name": name}),
            CompletionTarget::Template(template) => json!({"type": "ref/resource", "uri": template}),
        };
        let argument = json!({"name": typed.argument, "value": typed.value});
        let mut params = json!({"ref": reference, "argument": argument});
        if !typed.filled.is_empty() {
            params["context"] = json!({"arguments": typed.filled});
        }
        let mut result = self.request(COMPLETE, params).await?.value;
        let completion = parse(COMPLETE, take(&mut result, "completion"))?;
        let CompletionInfo { values, total, has_more, .. } = completion;
        let more = has_more.unwrap_or(false) || values.len() > MAX_COMPLETIONS;
        let shown = values.iter().take(MAX_COMPLETIONS).map(|value| quoted(value, MAX_COMPLETION_CHARS));
        Ok(Completions { values: shown.collect(), total, more })
    }

    async fn ended(&self) -> ConnectionEnd {
        let mut ended = self.peer.ended();
        let end = ended.wait_for(Option::is_some).await;
        end.ok().and_then(|end| end.clone()).unwrap_or_else(|| ConnectionEnd::new("it has ended"))
    }

    async fn close(&self) {
        self.peer.close().await;
        if let Some(process) = &self.process {
            process.end().await;
        }
    }

    async fn close_after_requests(&self) {
        self.unsubscribed.cancel();
        // Two processes of one server may exclude each other, so the next one must not wait for requests of this one.
        if self.process.is_none() {
            self.peer.wait_for_requests().await;
        }
        self.close().await;
    }
}

impl ServerSession {
    /// Returns true if some arguments of a call are repeated as headers.
    pub(super) fn repeats_arguments(&self) -> bool {
        self.info.lifecycle == Lifecycle::Discovery && matches!(self.peer.channel(), Channel::Http(_))
    }
}

/// Reads the result of a call. Some servers leave out `content`, also if there is nothing else.
pub(super) fn read_call_result(mut result: Value) -> Result<CallToolResult, CallFailure> {
    if let Value::Object(members) = &mut result
        && !["content", "structuredContent", "isError"].iter().any(|key| members.contains_key(*key))
        && members.keys().all(|key| ["_meta", "resultType"].contains(&key.as_str()))
    {
        members.insert("content".into(), json!([]));
    }
    parse("tools/call", result)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_of_calls_are_read_with_and_without_content() {
        for (result, blocks) in [
            (json!({}), 0),
            (json!({"_meta": {"a": 1}, "resultType": "complete"}), 0),
            (json!({"structuredContent": {"a": 1}}), 0),
            (json!({"isError": true, "content": null}), 0),
            (json!({"content": [{"type": "text", "text": "x"}], "more": 1}), 1),
        ] {
            let read = read_call_result(result.clone()).unwrap_or_else(|error| panic!("{result}: {error:?}"));
            assert_eq!(read.content.len(), blocks, "{result}");
        }
        for result in [json!(null), json!("x"), json!([]), json!({"toolResult": 1}), json!({"content": "x"})]
        {
            let failure = read_call_result(result.clone()).expect_err("not a result");
            assert!(
                matches!(&failure, CallFailure::Unreadable(reason) if reason.contains("tools/call")),
                "{failure:?}"
            );
        }
    }
}
