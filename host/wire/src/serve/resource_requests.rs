//! Prompts, resources and completions.

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures_util::FutureExt;
use gatehouse_core::{
    Call, CallContext, Catalog, Fault, Principal, Source,
    call::CallId,
    completion::{CompletionRequest, CompletionTarget, Completions},
    names::quoted,
};
use rmcp::{
    ErrorData, RoleServer,
    model::{
        CacheScope, CompleteRequestMethod, CompleteRequestParams, CompleteResult, CompletionInfo,
        ConstString, GetPromptRequestMethod, GetPromptRequestParams, GetPromptResponse,
        ListPromptsRequestMethod, ListPromptsResult, ListResourceTemplatesRequestMethod,
        ListResourceTemplatesResult, ListResourcesRequestMethod, ListResourcesResult, PaginatedRequestParams,
        ReadResourceRequestMethod, ReadResourceRequestParams, ReadResourceResponse, Reference, ServerResult,
    },
    service::RequestContext,
};
use serde_json::Value;
use tokio::sync::watch;

use super::{
    handler::{Handler, LIST_TTL_MS},
    interactive_request::{InteractiveParams, RequestStart, wrong_request_kind},
    lists::{ListKind, may_complete},
    missing_capability::MissingCapability,
    prompts,
    request::principal,
    resources,
};

impl Handler {
    pub(super) async fn prompts(
        &self,
        page: Option<PaginatedRequestParams>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let catalog = self.catalog_with_list::<ListPromptsRequestMethod>(ListKind::Prompts).await?;
        one_page(page)?;
        self.record_listed(ListKind::Prompts, &catalog);
        Ok(ListPromptsResult::with_all_items(prompts::listed(&catalog))
            .with_ttl_ms(LIST_TTL_MS)
            .with_cache_scope(CacheScope::Private))
    }

    pub(super) async fn prompt(
        &self,
        request: GetPromptRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        const METHOD: &str = "prompts/get";
        let catalog = self.catalog_with_list::<GetPromptRequestMethod>(ListKind::Prompts).await?;
        let entry = catalog
            .resources_and_prompts
            .prompt(&request.name)
            .map_err(|fault| prompts::refused(&fault))?
            .clone();
        let GetPromptRequestParams {
            name, arguments, request_state: state, input_responses: answers, ..
        } = request;
        let arguments = Value::Object(arguments.unwrap_or_default());
        let wanted = InteractiveParams { method: METHOD, name: &name, arguments: &arguments, state, answers };
        let result = match self.begin_request(&catalog.preset, wanted, context).await? {
            RequestStart::Resumed(result) => *result,
            RequestStart::New(talk) => {
                let repeats = talk.repeats;
                let call = self.request_context(METHOD, &catalog, &*entry.source);
                let work = |call: CallContext, lacking: MissingCapability| async move {
                    let call = Call::new(call, Value::Null);
                    let arguments = arguments.as_object().cloned().unwrap_or_default();
                    let made = call.get_prompt(&entry, &arguments);
                    let made = without_panic(call.context.id, &name, made).await;
                    lacking.checked(repeats, &made)?;
                    prompts::result(&entry, made).map(ServerResult::GetPromptResult)
                };
                talk.run(call, work).await?
            }
        };
        match result {
            ServerResult::GetPromptResult(made) => Ok(made.into()),
            ServerResult::InputRequiredResult(asked) => Ok(asked.into()),
            _ => Err(wrong_request_kind()),
        }
    }

    pub(super) async fn resources(
        &self,
        page: Option<PaginatedRequestParams>,
        context: &RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        const METHOD: &str = "resources/list";
        let catalog = self.catalog_with_list::<ListResourcesRequestMethod>(ListKind::Resources).await?;
        let cursor = page.and_then(|page| page.cursor);
        let mut page =
            resources::ListPage::new(catalog.resources_and_prompts.resource_sources(), cursor.as_deref())?;
        while let Some((known, cursor)) = page.next() {
            let call = self.request_call(METHOD, &catalog, &*known.source, context);
            let asked = call.list_resources(known, cursor.as_deref());
            let said = without_panic(call.context.id, METHOD, asked).await;
            page.add(known, said)?;
        }
        self.record_listed(ListKind::Resources, &catalog);
        // Resources can change without a notification.
        Ok(page.finish().with_ttl_ms(0).with_cache_scope(CacheScope::Private))
    }

    pub(super) async fn templates(
        &self,
        page: Option<PaginatedRequestParams>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let catalog =
            self.catalog_with_list::<ListResourceTemplatesRequestMethod>(ListKind::Resources).await?;
        one_page(page)?;
        Ok(ListResourceTemplatesResult::with_all_items(resources::templates(&catalog))
            .with_ttl_ms(LIST_TTL_MS)
            .with_cache_scope(CacheScope::Private))
    }

    pub(super) async fn resource(
        &self,
        request: ReadResourceRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        const METHOD: &str = "resources/read";
        let catalog = self.catalog_with_list::<ReadResourceRequestMethod>(ListKind::Resources).await?;
        let ReadResourceRequestParams { uri, request_state: state, input_responses: answers, .. } = request;
        let Some(known) = catalog.resources_and_prompts.resource_source(&uri) else {
            return Err(resources::refused(&uri, &resources::unknown(&uri)));
        };
        let wanted =
            InteractiveParams { method: METHOD, name: &uri, arguments: &Value::Null, state, answers };
        let result = match self.begin_request(&catalog.preset, wanted, context).await? {
            RequestStart::Resumed(result) => *result,
            RequestStart::New(talk) => {
                let (repeats, known) = (talk.repeats, known.clone());
                let call = self.request_context(METHOD, &catalog, &*known.source);
                let work = |call: CallContext, lacking: MissingCapability| async move {
                    let call = Call::new(call, Value::Null);
                    let read = call.read_resource(&known, &uri);
                    let read = without_panic(call.context.id, &uri, read).await;
                    lacking.checked(repeats, &read)?;
                    resources::result(&uri, read).map(ServerResult::ReadResourceResult)
                };
                talk.run(call, work).await?
            }
        };
        match result {
            ServerResult::ReadResourceResult(read) => Ok(read.into()),
            ServerResult::InputRequiredResult(asked) => Ok(asked.into()),
            _ => Err(wrong_request_kind()),
        }
    }

    /// Returns the time until the resource changes. `None` if its source does not know.
    pub(super) async fn next_change(&self, who: &Principal, uri: &str) -> Result<Option<Duration>, Fault> {
        let catalog = self.served.settled_catalog().await;
        let known =
            catalog.resources_and_prompts.resource_source(uri).ok_or_else(|| resources::unknown(uri))?;
        let call = self.watch_call(&catalog, &*known.source, who);
        without_panic(call.context.id, uri, call.resource_ttl(known, uri)).await
    }

    /// Watches a resource. `None` if its source does not report changes.
    pub(super) async fn follow(
        &self,
        who: &Principal,
        uri: &str,
    ) -> Result<Option<watch::Receiver<u64>>, Fault> {
        let catalog = self.served.settled_catalog().await;
        let known =
            catalog.resources_and_prompts.resource_source(uri).ok_or_else(|| resources::unknown(uri))?;
        let call = self.watch_call(&catalog, &*known.source, who);
        without_panic(call.context.id, uri, call.watch_resource(known, uri)).await
    }

    /// Creates the call of a subscription. It is not cancelled with its request, because it may outlive it.
    fn watch_call(&self, catalog: &Arc<Catalog>, source: &dyn Source, who: &Principal) -> Call {
        let mut call = self.request_context("resources/subscribe", catalog, source);
        call.principal = who.clone();
        Call::new(call, Value::Null)
    }

    /// Returns completions. The result is empty if the source offers no suggestions.
    pub(super) async fn completion(
        &self,
        request: CompleteRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        const METHOD: &str = "completion/complete";
        let catalog = self.served.settled_catalog().await;
        if !may_complete(&catalog) && !self.served.has_promised_all() {
            return Err(ErrorData::method_not_found::<CompleteRequestMethod>());
        }
        let filled = request.context.and_then(|context| context.arguments).unwrap_or_default();
        let mut typed = CompletionRequest {
            target: match request.r#ref {
                Reference::Prompt(prompt) => CompletionTarget::Prompt(prompt.name),
                Reference::Resource(template) => CompletionTarget::Template(template.uri),
                _ => {
                    return Err(ErrorData::invalid_params(
                        "`ref` must be `ref/prompt` or `ref/resource`",
                        None,
                    ));
                }
            },
            argument: request.argument.name,
            value: request.argument.value,
            filled: filled.into_iter().collect(),
        };
        typed.filled.sort();
        let completer = catalog.completion_source(&mut typed).map_err(|fault| prompts::refused(&fault))?;
        let made = match completer {
            None => Completions::default(),
            Some(completer) => {
                let call = self.request_call(METHOD, &catalog, &**completer.source, context);
                let made = without_panic(call.context.id, METHOD, call.complete(&completer, &typed)).await;
                made.map_err(|fault| prompts::refused(&fault))?
            }
        };
        let mut info = CompletionInfo::default();
        (info.values, info.total, info.has_more) = (made.values, made.total, Some(made.more));
        Ok(CompleteResult::new(info))
    }

    /// Creates a call that cannot ask the client for input.
    fn request_call(
        &self,
        method: &'static str,
        catalog: &Arc<Catalog>,
        source: &dyn Source,
        context: &RequestContext<RoleServer>,
    ) -> Call {
        let mut call = self.request_context(method, catalog, source);
        call.principal = principal(&context.extensions);
        call.cancel = context.ct.clone();
        Call::new(call, Value::Null)
    }

    fn request_context(
        &self,
        method: &'static str,
        catalog: &Arc<Catalog>,
        source: &dyn Source,
    ) -> CallContext {
        CallContext::for_method(&self.presets.pipeline, Arc::clone(catalog), method, source)
    }

    /// Returns the catalog if it has this list, else "method not found".
    pub(super) async fn catalog_with_list<M: ConstString + Default>(
        &self,
        list: ListKind,
    ) -> Result<Arc<Catalog>, ErrorData> {
        let catalog = self.served.settled_catalog().await;
        let exists = list.exists_in(&catalog) || self.served.has_promised_all();
        if exists { Ok(catalog) } else { Err(ErrorData::method_not_found::<M>()) }
    }
}

/// Converts a panic to a fault, so that the client gets a reply.
pub(super) async fn without_panic<T>(
    id: CallId,
    what: &str,
    work: impl Future<Output = Result<T, Fault>>,
) -> Result<T, Fault> {
    AssertUnwindSafe(work).catch_unwind().await.unwrap_or_else(|_| {
        tracing::error!(call = %id, tool = %quoted(what, 64), "the host panicked in a call");
        Err(Fault::internal(format!("the host failed on this call ({id})"))
            .hint("This is a bug in Gatehouse. The host's log has the details under this ID."))
    })
}

pub(super) fn one_page(page: Option<PaginatedRequestParams>) -> Result<(), ErrorData> {
    match page.and_then(|page| page.cursor) {
        Some(_) => Err(ErrorData::invalid_params(
            "invalid cursor: the list has only one page; list again without a \
        cursor",
            None,
        )),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
