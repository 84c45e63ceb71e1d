//! [`ServerConnection`] implementation of a session.

use std::sync::Arc;

use async_trait::async_trait;
use gatehouse_core::{
    CallContext, Reply,
    completion::{CompletionRequest, CompletionTarget, Completions},
    lock,
    outcome::EmbeddedResource,
    prompt::PromptMessage,
    resource::ResourcePage,
    source::Listing,
};
use rmcp::model::{
    ArgumentInfo, CallToolRequest, CallToolRequestParams, CompleteRequest, CompleteRequestParams,
    CompletionContext, CompletionInfo, GetPromptRequest, GetPromptRequestParams, ListResourcesRequest,
    PaginatedRequestParams, ReadResourceRequest, ReadResourceRequestParams, Reference, ServerResult,
};
use serde_json::{Map, Value};
use tokio::sync::watch;

use super::{
    CallFailure, ConnectionEnd, InputAnswers, ServerSession, listing::ListingBudget, unexpected_response,
};
use crate::downstream::{connection::ServerConnection, convert};

#[async_trait]
impl ServerConnection for ServerSession {
    async fn list(&self) -> Result<Listing, CallFailure> {
        let (info, budget) = (self.peer.peer_info(), ListingBudget::default());
        let has_tools = info.as_ref().is_none_or(|info| info.capabilities.tools.is_some());
        let (tools, omitted) = match has_tools {
            true => self.tools(&budget).await?,
            false => Default::default(),
        };
        let mut listing = Listing { omitted, ..convert::listing(info.as_deref(), tools) };
        if let Some(info) = &info {
            self.add_resources_and_prompts(&info.capabilities, &budget, &mut listing).await;
        }
        Ok(listing)
    }

    async fn call(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        context: &Arc<CallContext>,
    ) -> Result<Reply, CallFailure> {
        let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        let make = |answers: InputAnswers| {
            let mut params = params.clone();
            (params.input_responses, params.request_state) = answers;
            CallToolRequest::new(params).into()
        };
        match self.request_with_input(context, make).await? {
            ServerResult::CallToolResult(result) => Ok(convert::reply(result)),
            ServerResult::CreateTaskResult(created) => {
                self.task_result(created.task, context).await.map(convert::reply)
            }
            _ => Err(unexpected_response("tools/call")),
        }
    }

    async fn list_resources(&self, cursor: Option<&str>) -> Result<ResourcePage, CallFailure> {
        let page =
            cursor.map(|cursor| PaginatedRequestParams::default().with_cursor(Some(cursor.to_owned())));
        let request = ListResourcesRequest { params: page, ..Default::default() };
        match self.request(request.into(), None).await? {
            ServerResult::ListResourcesResult(page) => Ok(ResourcePage {
                resources: page.resources.into_iter().map(convert::resource_link).collect(),
                next: page.next_cursor,
            }),
            _ => Err(unexpected_response("resources/list")),
        }
    }

    async fn follow_resource(&self, uri: &str) -> Result<Option<watch::Receiver<u64>>, CallFailure> {
        self.follow(uri).await
    }

    fn is_followed(&self) -> bool {
        self.host.subscriptions.has_followers()
    }

    fn is_legacy(&self) -> bool {
        !self.since_2026
    }

    async fn read_resource(
        &self,
        uri: &str,
        context: &Arc<CallContext>,
    ) -> Result<Vec<EmbeddedResource>, CallFailure> {
        let make = |answers: InputAnswers| {
            let mut params = ReadResourceRequestParams::new(uri);
            (params.input_responses, params.request_state) = answers;
            ReadResourceRequest::new(params).into()
        };
        match self.request_with_input(context, make).await? {
            ServerResult::ReadResourceResult(read) => {
                let parts = read.contents.into_iter().map(convert::resource);
                parts.collect::<Option<_>>().map_or_else(|| Err(unexpected_response("resources/read")), Ok)
            }
            _ => Err(unexpected_response("resources/read")),
        }
    }

    async fn get_prompt(
        &self,
        name: &str,
        arguments: Map<String, Value>,
        context: &Arc<CallContext>,
    ) -> Result<Vec<PromptMessage>, CallFailure> {
        let params = GetPromptRequestParams::new(name).with_arguments(arguments);
        let make = |answers: InputAnswers| {
            let mut params = params.clone();
            (params.input_responses, params.request_state) = answers;
            GetPromptRequest::new(params).into()
        };
        match self.request_with_input(context, make).await? {
            ServerResult::GetPromptResult(prompt) => {
                Ok(prompt.messages.into_iter().map(convert::prompt_message).collect())
            }
            _ => Err(unexpected_response("prompts/get")),
        }
    }

    async fn complete(&self, typed: CompletionRequest) -> Result<Completions, CallFailure> {
        let reference = match typed.target {
            CompletionTarget::Prompt(name) => Reference::for_prompt(name),
            CompletionTarget::Template(template) => Reference::for_resource(template),
        };
        let argument = ArgumentInfo::new(typed.argument, typed.value);
        let mut params = CompleteRequestParams::new(reference, argument);
        if !typed.filled.is_empty() {
            params.context = Some(CompletionContext::with_arguments(typed.filled.into_iter().collect()));
        }
        match self.request(CompleteRequest::new(params).into(), None).await? {
            ServerResult::CompleteResult(result) => {
                let CompletionInfo { values, total, has_more, .. } = result.completion;
                Ok(Completions { values, total, more: has_more.unwrap_or(false) })
            }
            _ => Err(unexpected_response("completion/complete")),
        }
    }

    async fn ended(&self) -> ConnectionEnd {
        let mut ended = self.end.clone();
        let end = ended.wait_for(Option::is_some).await;
        end.ok().and_then(|end| end.clone()).unwrap_or_else(|| ConnectionEnd::new("it has ended"))
    }

    async fn close(&self) {
        let stop = lock(&self.stop).take();
        if let Some(stop) = stop {
            // Closes the input of the process, so that the server exits.
            stop.cancel();
            self.ended().await;
        }
        if let Some(process) = &self.process {
            process.end().await;
        }
    }

    async fn close_after_requests(&self) {
        self.unsubscribed.cancel();
        self.requests.close();
        self.requests.wait().await;
        self.close().await;
    }
}
