//! The rmcp handler of one client. It keeps no state that replies depend on, so stdio, sessions and stateless HTTP
//! share it.

use std::sync::Arc;

use futures_util::{StreamExt, stream::FuturesUnordered};
use gatehouse_core::{Catalog, lock, names::quoted};
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CacheScope, CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult,
        CustomRequest, CustomResult, ErrorCode, GetPromptRequestParams, GetPromptResponse, Implementation,
        JsonObject, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult,
        PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse, ServerConfig, ServerResult,
        SubscribeRequestMethod, SubscribeRequestParams, SubscriptionFilter, Tool, UnsubscribeRequestMethod,
        UnsubscribeRequestParams,
    },
    service::{NotificationContext, RequestContext, SubscriptionContext},
};
use serde_json::Value;

use crate::serve::{
    ServedPreset, ServedPresets,
    lists::{
        ListKind,
        clients::ClientState,
        subscriptions::{self, ResourceWatch},
    },
    requests::{
        interactive_request::{InteractiveParams, caller, is_since_2026},
        reply::{self, StructuredMode},
        resource_requests::one_page,
    },
};

pub(super) const LIST_TTL_MS: u64 = 60_000;

#[derive(Clone)]
pub(super) struct Handler {
    pub(super) presets: Arc<ServedPresets>,
    pub(super) served: Arc<ServedPreset>,
    /// State of the client. Only stdio and sessions use it across requests.
    pub(super) client: Arc<ClientState>,
}

impl Handler {
    pub(super) fn new(presets: Arc<ServedPresets>, served: Arc<ServedPreset>) -> Self {
        Self { presets, served, client: Arc::default() }
    }

    /// Returns a copy of this handler with empty client state.
    pub(super) fn for_another_client(&self) -> Self {
        Self { client: Arc::default(), ..self.clone() }
    }

    pub(super) fn record_listed(&self, list: ListKind, catalog: &Catalog) {
        self.client.record_listed(list, catalog.generation);
        self.served.clients.notify_watchers();
    }
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let capabilities = if self.presets.composed.is_cancelled() {
            ListKind::capabilities(&self.served.catalog())
        } else {
            self.served.promise_all();
            ListKind::all_capabilities()
        };
        let server = Implementation::new("gatehouse", env!("CARGO_PKG_VERSION"));
        let config = ServerConfig::new(capabilities).with_server_info(server);
        match self.served.instructions() {
            Some(instructions) => config.with_instructions(instructions),
            None => config,
        }
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        self.served.clients.join(Arc::clone(&self.client), context.peer);
    }

    /// Accepts list changes, and resources that have a known source.
    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        let catalog = self.served.catalog();
        let known = |uri: &&String| catalog.resources_and_prompts.resource_source(uri).is_some();
        let watched = requested.resource_subscriptions.as_ref();
        let watched = watched
            .map(|all| all.iter().filter(known).take(subscriptions::MAX_SUBSCRIPTIONS).cloned().collect());
        let mut accepted = ListKind::subscribed(requested);
        accepted.resource_subscriptions = watched;
        Some(accepted)
    }

    /// Serves a subscription, which replaces sessions since 2026-07-28.
    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let mut changes = self.served.changes();
        let mut seen = *changes.borrow_and_update();
        let caller = caller(&context.request_context().extensions);
        let mut watched = FuturesUnordered::new();
        for uri in context.accepted().resource_subscriptions.iter().flatten() {
            watched.push(ResourceWatch::new(uri.clone()).next_change(self, &caller));
        }
        loop {
            tokio::select! {
                () = context.cancelled() => return Ok(()),
                Some(changed) = watched.next() => {
                    if let Some(watch) = changed {
                        if context.sink().notify_resource_updated(watch.uri()).await.is_err() {
                            return Ok(());
                        }
                        watched.push(watch.next_change(self, &caller));
                    }
                }
                changed = changes.changed() => {
                    let now = *changes.borrow_and_update();
                    for list in ListKind::ALL.into_iter().filter(|list| seen[*list as usize] != now[*list as usize]) {
                        if !list.notify_subscriber(context.sink()).await {
                            return Ok(());
                        }
                    }
                    if changed.is_err() {
                        return Ok(());
                    }
                    seen = now;
                }
            }
        }
    }

    // Methods below reply "method not found" if the capability is not declared; rmcp would return an empty list.

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        self.answer(self.completion(request, &context)).await
    }

    async fn list_prompts(
        &self,
        page: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        self.prompts(page).await
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        self.answer(self.prompt(request, &context)).await
    }

    async fn list_resources(
        &self,
        page: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        self.answer(self.resources(page, &context)).await
    }

    async fn list_resource_templates(
        &self,
        page: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        self.templates(page).await
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        self.answer(self.resource(request, &context)).await
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.catalog_with_list::<SubscribeRequestMethod>(ListKind::Resources).await?;
        let caller = caller(&context.extensions);
        self.client.watched.subscribe(self, caller, context.peer, request.uri).await
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.catalog_with_list::<UnsubscribeRequestMethod>(ListKind::Resources).await?;
        self.client.watched.unsubscribe(&request.uri);
        Ok(())
    }

    async fn list_tools(
        &self,
        page: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        one_page(page)?;
        let catalog = self.answer(async { Ok(self.served.settled_catalog().await) }).await?;
        let tools = reply::tools_with(&catalog, StructuredMode::for_request(&catalog, &context));
        self.record_listed(ListKind::Tools, &catalog);
        Ok(ListToolsResult::with_all_items(tools)
            .with_ttl_ms(LIST_TTL_MS)
            .with_cache_scope(CacheScope::Private))
    }

    /// Returns a tool that holds only the input schema: rmcp reads its header rules on every HTTP call.
    fn get_tool(&self, name: &str) -> Option<Tool> {
        let catalog = self.served.catalog();
        let entry = catalog.get(name)?;
        Some(Tool::new_with_raw(entry.name.to_string(), None, Arc::clone(&entry.spec.input_schema)))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let params = InteractiveParams {
            method: "tools/call",
            name: request.name.into_owned(),
            arguments: request.arguments.map_or(Value::Null, Value::Object),
            state: request.request_state,
            answers: request.input_responses,
        };
        self.answer(self.run(params, &context)).await
    }

    // rmcp deprecates this method because requests carry the level since 2026-07-28.
    #[allow(deprecated)]
    async fn set_level(
        &self,
        request: rmcp::model::SetLevelRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        if is_since_2026(&context) {
            return Err(ErrorData::method_not_found::<rmcp::model::SetLevelRequestMethod>());
        }
        let level = serde_json::to_value(request.level).and_then(serde_json::from_value);
        *lock(&self.client.messages) = level.ok();
        Ok(())
    }

    /// Handles requests that rmcp cannot parse, such as tool arguments sent as a JSON string.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let method = quoted(&request.method, 64);
        let catalog = self.served.catalog();
        let legacy = !is_since_2026(&context);
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
        let result = self.answer(self.run(params, &context)).await?;
        let value = serde_json::to_value(ServerResult::from(result));
        let mut value = value.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
        // rmcp omits this field for clients before 2026-07-28, but not in custom results.
        if let Some(object) = value.as_object_mut().filter(|_| legacy) {
            JsonObject::remove(object, "resultType");
        }
        Ok(CustomResult::new(value))
    }
}
