//! Prompts, resources and completions.

use std::{sync::Arc, time::Duration};

use gatehouse_core::{
    Call, CallContext, Caller, Catalog, Fault, Source,
    completion::{CompletionRequest, CompletionTarget, Completions},
    resources_and_prompts::ResourceSource,
};
use gatehouse_telemetry::Trace;
use rmcp::{
    ErrorData, RoleServer,
    model::{
        CompleteRequestMethod, CompleteRequestParams, CompleteResult, CompletionInfo, ConstString,
        GetPromptRequestMethod, GetPromptRequestParams, GetPromptResponse, ListResourcesRequestMethod,
        ListResourcesResult, PaginatedRequestParams, ReadResourceRequestMethod, ReadResourceRequestParams,
        ReadResourceResponse, Reference, ServerResult,
    },
    service::RequestContext,
};
use serde_json::Value;
use tokio::sync::watch;

use super::{
    interactive_request::{InteractiveParams, cache_hints, without_panic, wrong_request_kind},
    reply::fault_to_error,
    resources_and_prompts::{ListPage, prompt_result, resource_result, unknown_resource},
};
use crate::connected_clients::has_apps;
use crate::serve::{
    handler::Handler,
    lists::{ListKind, may_complete},
};

impl Handler {
    pub(crate) async fn prompt(
        &self,
        request: GetPromptRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        const METHOD: &str = "prompts/get";
        let catalog = self.catalog_with_list::<GetPromptRequestMethod>(context, ListKind::Prompts).await?;
        let entry = catalog
            .resources_and_prompts
            .prompt(&request.name)
            .map_err(|fault| fault_to_error(&fault, None))?
            .clone();
        let call = self.request_context(METHOD, &catalog, &*entry.source);
        let params = InteractiveParams {
            method: METHOD,
            name: request.name,
            arguments: Value::Object(request.arguments.unwrap_or_default()),
            state: request.request_state,
            answers: request.input_responses,
        };
        let work = |call, arguments: Value| async move {
            let arguments = arguments.as_object().cloned().unwrap_or_default();
            Call::new(call, Value::Null).get_prompt(&entry, &arguments).await
        };
        let convert = |filled| prompt_result(filled).map(ServerResult::GetPromptResult);
        match self.interactive(params, None, context, call, work, convert).await? {
            ServerResult::GetPromptResult(result) => Ok(result.into()),
            ServerResult::InputRequiredResult(questions) => Ok(questions.into()),
            _ => Err(wrong_request_kind()),
        }
    }

    pub(crate) async fn resources(
        &self,
        page: Option<PaginatedRequestParams>,
        context: &RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        const METHOD: &str = "resources/list";
        let catalog =
            self.catalog_with_list::<ListResourcesRequestMethod>(context, ListKind::Resources).await?;
        let cursor = page.and_then(|page| page.cursor);
        let mut page = ListPage::new(catalog.resources_and_prompts.resource_sources(), cursor.as_deref())?;
        while let Some((source, cursor)) = page.next() {
            let call = self.request_call(METHOD, &catalog, &*source.source, context);
            let listed = call.list_resources(source, cursor.as_deref());
            let listed = without_panic(call.context.id, METHOD, listed).await;
            page.add(source, listed)?;
        }
        self.record_listed(ListKind::Resources, &catalog);
        // Resources can change without a notification.
        let mut result = page.finish();
        (result.ttl_ms, result.cache_scope) = cache_hints(context, Duration::ZERO);
        Ok(result)
    }

    pub(crate) async fn resource(
        &self,
        mut request: ReadResourceRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        const METHOD: &str = "resources/read";
        let catalog =
            self.catalog_with_list::<ReadResourceRequestMethod>(context, ListKind::Resources).await?;
        let resources = &catalog.resources_and_prompts;
        let source = match resources.resource_source(&request.uri) {
            None if has_apps(&context.client_capabilities().unwrap_or_default()) => {
                let app_resource = resources.app_resource(&request.uri);
                app_resource.map(|(source, exposed)| {
                    request.uri = exposed;
                    source
                })
            }
            source => source,
        };
        let Some(source) = source.cloned() else {
            return Err(fault_to_error(&unknown_resource(&request.uri), Some(&request.uri)));
        };
        let call = self.request_context(METHOD, &catalog, &*source.source);
        let (uri, read) = (request.uri.clone(), request.uri.clone());
        let params = InteractiveParams {
            method: METHOD,
            name: request.uri,
            arguments: Value::Null,
            state: request.request_state,
            answers: request.input_responses,
        };
        let work = |call, _| async move { Call::new(call, Value::Null).read_resource(&source, &read).await };
        let convert = move |contents| resource_result(&uri, contents).map(ServerResult::ReadResourceResult);
        match self.interactive(params, None, context, call, work, convert).await? {
            ServerResult::ReadResourceResult(result) => Ok(result.into()),
            ServerResult::InputRequiredResult(questions) => Ok(questions.into()),
            _ => Err(wrong_request_kind()),
        }
    }

    /// Returns the time until the resource changes. `None` if its source does not know.
    pub(crate) async fn resource_ttl(
        &self,
        caller: &Arc<Caller>,
        uri: &str,
    ) -> Result<Option<Duration>, Fault> {
        let (call, source) = self.subscription_call(caller, uri).await?;
        without_panic(call.context.id, uri, call.resource_ttl(&source, uri)).await
    }

    /// Watches a resource. `None` if its source does not report changes.
    pub(crate) async fn watch_resource(
        &self,
        caller: &Arc<Caller>,
        uri: &str,
    ) -> Result<Option<watch::Receiver<u64>>, Fault> {
        let (call, source) = self.subscription_call(caller, uri).await?;
        without_panic(call.context.id, uri, call.watch_resource(&source, uri)).await
    }

    /// Creates the call of a subscription. It is not cancelled with its request, because it may outlive it.
    async fn subscription_call(
        &self,
        caller: &Arc<Caller>,
        uri: &str,
    ) -> Result<(Call, ResourceSource), Fault> {
        let catalog = self.served.settled_catalog(caller).await;
        let source = catalog.resources_and_prompts.resource_source(uri);
        let source = source.ok_or_else(|| unknown_resource(uri))?.clone();
        let mut call = self.request_context("resources/subscribe", &catalog, &*source.source);
        call.caller = Arc::clone(caller);
        Ok((Call::new(call, Value::Null), source))
    }

    /// Returns completions. The result is empty if the source offers no suggestions.
    pub(crate) async fn completion(
        &self,
        request: CompleteRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        const METHOD: &str = "completion/complete";
        let catalog = self.catalog_if::<CompleteRequestMethod>(context, may_complete).await?;
        let filled = request.context.and_then(|context| context.arguments).unwrap_or_default();
        let mut typed = CompletionRequest {
            target: match request.r#ref {
                Reference::Prompt(prompt) => CompletionTarget::Prompt(prompt.name),
                Reference::Resource(template) => CompletionTarget::Template(template.uri),
                _ => {
                    let reason = "`ref` must be `ref/prompt` or `ref/resource`";
                    return Err(ErrorData::invalid_params(reason, None));
                }
            },
            argument: request.argument.name,
            value: request.argument.value,
            filled: filled.into_iter().collect(),
        };
        typed.filled.sort();
        let completer =
            catalog.completion_source(&mut typed).map_err(|fault| fault_to_error(&fault, None))?;
        let completions = match completer {
            None => Completions::default(),
            Some(completer) => {
                let call = self.request_call(METHOD, &catalog, &**completer.source, context);
                let completions = call.complete(&completer, &typed);
                let completions = without_panic(call.context.id, METHOD, completions).await;
                completions.map_err(|fault| fault_to_error(&fault, None))?
            }
        };
        let mut info = CompletionInfo::default();
        (info.values, info.total, info.has_more) =
            (completions.values, completions.total, Some(completions.more));
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
        call.caller = self.caller_of(&context.extensions);
        call.cancel = context.ct.clone();
        call.trace = context.extensions.get::<Trace>().cloned().unwrap_or_default();
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
    pub(crate) async fn catalog_with_list<M: ConstString + Default>(
        &self,
        context: &RequestContext<RoleServer>,
        list: ListKind,
    ) -> Result<Arc<Catalog>, ErrorData> {
        self.catalog_if::<M>(context, |catalog| list.exists_in(catalog)).await
    }

    /// Returns the catalog if it has what the method needs, else "method not found".
    pub(crate) async fn catalog_if<M: ConstString + Default>(
        &self,
        context: &RequestContext<RoleServer>,
        has_it: impl Fn(&Catalog) -> bool,
    ) -> Result<Arc<Catalog>, ErrorData> {
        let catalog = self.served.settled_catalog(&self.caller_of(&context.extensions)).await;
        let exists = has_it(&catalog) || self.served.has_promised_all();
        if exists { Ok(catalog) } else { Err(ErrorData::method_not_found::<M>()) }
    }
}

pub(crate) fn one_page(page: Option<PaginatedRequestParams>) -> Result<(), ErrorData> {
    match page.and_then(|page| page.cursor) {
        Some(_) => {
            let reason = "invalid cursor: the list has only one page; list again without a cursor";
            Err(ErrorData::invalid_params(reason, None))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
