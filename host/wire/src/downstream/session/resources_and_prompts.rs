//! Resources, prompts and completions of a session.

use std::{sync::Arc, time::Duration};

use gatehouse_core::{
    CallContext,
    completion::{CompletionRequest, CompletionTarget, Completions},
    outcome::{EmbeddedResource, ResourceLink},
    prompt::{MAX_PROMPTS, Prompt, PromptArgument, PromptMessage, PromptRole},
    resource::{MAX_TEMPLATES, ResourcePage, UriTemplate},
    source::Listing,
};
use rmcp::model::{
    ArgumentInfo, CompleteRequest, CompleteRequestParams, CompletionContext, CompletionInfo,
    GetPromptRequest, GetPromptRequestParams, ListPromptsRequest, ListResourceTemplatesRequest,
    ListResourcesRequest, PaginatedRequestParams, ReadResourceRequest, ReadResourceRequestParams, Reference,
    Role, ServerCapabilities, ServerResult,
};
use serde_json::{Map, Value};

use super::{super::convert, CallFailure, InputAnswers, ListingBudget, ServerSession};

/// Time limit for listing resources and prompts, so that they do not delay the tools.
const MAX_LIST_WAIT: Duration = Duration::from_secs(5);

const MAX_REMEMBERED_RESOURCES: usize = 1_000;

fn unexpected_result<T>(method: &str) -> Result<T, CallFailure> {
    Err(super::unexpected_response(method))
}

impl ServerSession {
    /// Adds to a listing. Lists that fail or take too long are logged and left out.
    pub(super) async fn add_resources_and_prompts(
        &self,
        has: &ServerCapabilities,
        budget: &ListingBudget,
        listing: &mut Listing,
    ) {
        let (resources, prompts) = (has.resources.is_some(), has.prompts.is_some());
        listing.completes = has.completions.is_some();
        let all = async {
            tokio::join!(
                async { if resources { self.templates(budget).await } else { Ok(Vec::new()) } },
                async { if resources { self.all_resources(budget).await } else { Ok(Vec::new()) } },
                async { if prompts { self.prompts(budget).await } else { Ok(Vec::new()) } },
            )
        };
        let Ok((templates, known, prompts)) = tokio::time::timeout(MAX_LIST_WAIT, all).await else {
            tracing::warn!(
                "server '{}' did not list its resources and prompts within {} s; leaving them out",
                listing.name,
                MAX_LIST_WAIT.as_secs()
            );
            return;
        };
        let left_out = |what: &str, failure: CallFailure| {
            tracing::warn!("leaving out the {what} of server '{}': {failure:?}", listing.name);
        };
        let templates = templates.unwrap_or_else(|failure| {
            left_out("resource templates", failure);
            Vec::new()
        });
        let known = known.unwrap_or_else(|failure| {
            left_out("resources", failure);
            Vec::new()
        });
        let prompts = prompts.unwrap_or_else(|failure| {
            left_out("prompts", failure);
            Vec::new()
        });
        listing.resources = resources;
        (listing.templates, listing.known_resources, listing.prompts) = (templates, known, prompts);
    }

    async fn templates(&self, budget: &ListingBudget) -> Result<Vec<UriTemplate>, CallFailure> {
        let ask = |page| ListResourceTemplatesRequest { params: page, ..Default::default() }.into();
        let take = |said| match said {
            ServerResult::ListResourceTemplatesResult(page) => {
                Some((page.resource_templates, page.next_cursor))
            }
            _ => None,
        };
        // Leaves room for the template of the whole URI family.
        let listed = self.pages("resources/templates/list", budget, MAX_TEMPLATES - 1, ask, take).await?;
        Ok(listed.into_iter().map(template).collect())
    }

    async fn all_resources(&self, budget: &ListingBudget) -> Result<Vec<ResourceLink>, CallFailure> {
        let ask = |page| ListResourcesRequest { params: page, ..Default::default() }.into();
        let take = |said| match said {
            ServerResult::ListResourcesResult(page) => Some((page.resources, page.next_cursor)),
            _ => None,
        };
        let listed = self.pages("resources/list", budget, MAX_REMEMBERED_RESOURCES, ask, take).await?;
        Ok(listed.into_iter().map(link).collect())
    }

    async fn prompts(&self, budget: &ListingBudget) -> Result<Vec<Prompt>, CallFailure> {
        let ask = |page| ListPromptsRequest { params: page, ..Default::default() }.into();
        let take = |said| match said {
            ServerResult::ListPromptsResult(page) => Some((page.prompts, page.next_cursor)),
            _ => None,
        };
        let listed = self.pages("prompts/list", budget, MAX_PROMPTS, ask, take).await?;
        Ok(listed.into_iter().map(prompt).collect())
    }

    pub(super) async fn resources(&self, cursor: Option<&str>) -> Result<ResourcePage, CallFailure> {
        let page =
            cursor.map(|cursor| PaginatedRequestParams::default().with_cursor(Some(cursor.to_owned())));
        let request = ListResourcesRequest { params: page, ..Default::default() };
        match self.request(request.into(), None).await? {
            ServerResult::ListResourcesResult(page) => Ok(ResourcePage {
                resources: page.resources.into_iter().map(link).collect(),
                next: page.next_cursor,
            }),
            _ => unexpected_result("resources/list"),
        }
    }

    pub(super) async fn read(
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
                let parts = read.contents.iter().map(convert::resource);
                parts.collect::<Option<_>>().map_or_else(|| unexpected_result("resources/read"), Ok)
            }
            _ => unexpected_result("resources/read"),
        }
    }

    pub(super) async fn messages(
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
            ServerResult::GetPromptResult(made) => Ok(made
                .messages
                .into_iter()
                .map(|message| PromptMessage {
                    role: match message.role {
                        Role::Assistant => PromptRole::Assistant,
                        _ => PromptRole::User,
                    },
                    content: convert::content(message.content),
                })
                .collect()),
            _ => unexpected_result("prompts/get"),
        }
    }

    pub(super) async fn suggestions(&self, typed: CompletionRequest) -> Result<Completions, CallFailure> {
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
            ServerResult::CompleteResult(made) => {
                let CompletionInfo { values, total, has_more, .. } = made.completion;
                Ok(Completions { values, total, more: has_more.unwrap_or(false) })
            }
            _ => unexpected_result("completion/complete"),
        }
    }
}

fn template(told: rmcp::model::ResourceTemplate) -> UriTemplate {
    UriTemplate {
        uri_template: told.uri_template,
        name: told.name,
        title: told.title,
        description: told.description,
        mime_type: told.mime_type,
    }
}

fn link(told: rmcp::model::Resource) -> ResourceLink {
    ResourceLink {
        uri: told.uri,
        name: told.name,
        title: told.title,
        description: told.description,
        mime_type: told.mime_type,
        size: told.size,
    }
}

fn prompt(told: rmcp::model::Prompt) -> Prompt {
    let argument = |told: rmcp::model::PromptArgument| PromptArgument {
        name: told.name,
        description: told.description.or(told.title),
        required: told.required.unwrap_or(false),
    };
    Prompt {
        name: told.name.into(),
        title: told.title,
        description: told.description,
        arguments: told.arguments.unwrap_or_default().into_iter().map(argument).collect(),
        icons: convert::icons(told.icons),
    }
}
