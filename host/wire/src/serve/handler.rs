//! The rmcp handler of one client. It keeps no state that replies depend on, so stdio, sessions and stateless HTTP
//! share it.
//!
//! Longer than 300 lines because it has every method of the protocol.

use std::sync::{Arc, Weak};

use gatehouse_core::{Caller, Catalog, Principal, lock, names::quoted};
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CancelTaskParams, CompleteRequestParams, CompleteResult,
        CustomRequest, CustomResult, DiscoverResult, ErrorCode, Extensions, GetPromptRequestParams,
        GetPromptResponse, GetSkillRequestParams, GetSkillResult, GetTaskParams, GetTaskResult,
        Implementation, InitializeRequestParams, InitializeResult, JsonObject, ListPromptsRequestMethod,
        ListPromptsResult, ListResourceTemplatesRequestMethod, ListResourceTemplatesResult,
        ListResourcesResult, ListSkillsResult, ListToolsResult, PaginatedRequestParams,
        ReadResourceDirectoryRequestParams, ReadResourceDirectoryResult, ReadResourceRequestParams,
        ReadResourceResponse, SKILLS_EXTENSION_ID, ServerCapabilities, ServerConfig, ServerResult,
        SubscribeRequestMethod, SubscribeRequestParams, SubscriptionFilter, TASKS_EXTENSION_ID, Tool,
        UnsubscribeRequestMethod, UnsubscribeRequestParams, UpdateTaskParams,
    },
    service::{NotificationContext, RequestContext, SubscriptionContext},
};
use serde_json::{Map, Value};

use crate::connected_clients::{self, has_apps};
use crate::serve::{
    ServedPreset, ServedPresets, client_table,
    lists::{ListKind, clients::ClientState, subscriptions},
    operation::Operation,
    requests::{
        interactive_request::{InteractiveParams, authenticated_caller, cache_hints, is_since_2026},
        reply::{self, StructuredMode},
        resource_requests::one_page,
        resources_and_prompts::{prompt_list, resource_templates},
        skill_requests::has_skills,
        tasks::{HostTask, terms::can_begin_tasks},
    },
    sessions::HttpSession,
};

tokio::task_local! {
    /// Caller of the HTTP request that this task answers.
    pub(super) static REQUEST_CALLER: Arc<Caller>;
}

#[derive(Clone)]
pub(super) struct Handler {
    pub(super) presets: Arc<ServedPresets>,
    pub(super) served: Arc<ServedPreset>,
    /// State of the client. Only stdio and sessions use it across requests.
    pub(super) client: Arc<ClientState>,
    /// Caller that opened the session or sent the request. Methods without a request see its catalog.
    caller: Arc<Caller>,
}

impl Handler {
    pub(super) fn new(presets: Arc<ServedPresets>, served: Arc<ServedPreset>, caller: Arc<Caller>) -> Self {
        Self { presets, served, client: Arc::default(), caller }
    }

    /// Returns a copy of this handler with empty client state, for the caller of the current HTTP request.
    pub(super) fn for_another_client(&self) -> Self {
        self.for_caller(REQUEST_CALLER.try_with(Arc::clone).unwrap_or_else(|_| Arc::clone(&self.caller)))
    }

    /// Returns a copy of this handler with empty client state.
    pub(super) fn for_caller(&self, caller: Arc<Caller>) -> Self {
        Self { client: Arc::default(), caller, ..self.clone() }
    }

    pub(super) fn input_schema(&self, tool: &str) -> Option<Arc<Map<String, Value>>> {
        let catalog = self.served.catalog(&self.caller);
        catalog.get(tool).map(|entry| Arc::clone(&entry.spec.input_schema))
    }

    pub(super) fn caller(&self) -> &Arc<Caller> {
        &self.caller
    }

    /// Returns the caller of a request: over HTTP the authenticated one, else the one that this handler is for.
    pub(super) fn caller_of(&self, extensions: &Extensions) -> Arc<Caller> {
        authenticated_caller(extensions).unwrap_or_else(|| Arc::clone(&self.caller))
    }

    /// Returns a copy of this handler for the caller of this request.
    fn for_request(&self, context: &RequestContext<RoleServer>) -> Self {
        Self { caller: self.caller_of(&context.extensions), ..self.clone() }
    }

    /// Returns a task of the client that sent this request.
    fn task(&self, id: &str, context: &RequestContext<RoleServer>) -> Result<Arc<HostTask>, ErrorData> {
        let caller = self.caller_of(&context.extensions);
        let preset = Arc::clone(&self.served.catalog(&caller).preset);
        self.presets.tasks.find(id, &self.owner(&caller, preset))
    }

    /// Runs a tool, unless the host shuts down.
    async fn measured_call(
        &self,
        params: InteractiveParams,
        mut context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let catalog = |context: &RequestContext<_>| self.served.catalog(&self.caller_of(&context.extensions));
        let operation = Operation::of_call(&mut context, catalog, &params.name);
        operation.end_call(self.answer(self.run(params, &context)).await)
    }

    pub(super) fn record_listed(&self, list: ListKind, catalog: &Catalog) {
        self.client.record_listed(list, catalog.generation);
        self.served.clients.notify_watchers();
    }
}

/// Declares methods that the named method of [`Handler`] answers, unless the host shuts down.
macro_rules! answered {
    ($($name:literal: $method:ident($request:ty) -> $result:ty, by $answer:ident;)+) => {$(
        async fn $method(
            &self,
            request: $request,
            mut context: RequestContext<RoleServer>,
        ) -> Result<$result, ErrorData> {
            let operation = Operation::start(&mut context, $name);
            operation.end(self.answer(self.$answer(request, &context)).await)
        }
    )+};
}

/// Removes the other extensions. Clients that do not declare skills must not be offered them.
fn keep_extensions(capabilities: &mut ServerCapabilities, keep: impl Fn(&str) -> bool) {
    if let Some(extensions) = &mut capabilities.extensions {
        extensions.retain(|name, _| keep(name));
    }
    capabilities.extensions = capabilities.extensions.take().filter(|extensions| !extensions.is_empty());
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let capabilities = if self.presets.composed.is_cancelled() {
            let catalog = self.served.catalog(&self.caller);
            let mut capabilities = ListKind::capabilities(&catalog);
            let (promised, resources) = (self.served.has_promised_all(), capabilities.resources.is_some());
            keep_extensions(&mut capabilities, |name| match name {
                // `tasks/*` must work if the preset can begin tasks, or some have begun.
                TASKS_EXTENSION_ID => promised || can_begin_tasks(&catalog) || !self.presets.tasks.is_empty(),
                // The files of skills are resources.
                _ => resources && (promised || has_skills(&catalog)),
            });
            capabilities
        } else {
            self.served.promise_all();
            ListKind::all_capabilities()
        };
        let server = Implementation::new("gatehouse", env!("CARGO_PKG_VERSION"));
        let mut config = ServerConfig::new(capabilities).with_server_info(server);
        config.instructions = self.served.instructions(&self.caller, None);
        config
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        mut context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        let operation = Operation::start(&mut context, "initialize");
        let result = async {
            self.presets.connected_clients.add(&request.capabilities);
            let handler = self.for_request(&context);
            let mut result = handler.negotiate_initialize(&request)?;
            // Tasks need 2026-07-28, which has no `initialize`.
            keep_extensions(&mut result.capabilities, |name| {
                name == SKILLS_EXTENSION_ID && connected_clients::has_skills(&request.capabilities)
            });
            let client = Some(request.client_info.name.as_str());
            result.instructions = handler.served.instructions(&handler.caller, client);
            context.peer.set_peer_info(request);
            Ok(result)
        }
        .await;
        operation.end(result)
    }

    async fn discover(&self, mut context: RequestContext<RoleServer>) -> Result<DiscoverResult, ErrorData> {
        let operation = Operation::start(&mut context, "server/discover");
        let result = async {
            let client = context.client_capabilities().unwrap_or_default();
            self.presets.connected_clients.add(&client);
            let versions = self.supported_protocol_versions().into_owned();
            let handler = self.for_request(&context);
            let mut result = DiscoverResult::from_server_info(versions, handler.get_info());
            keep_extensions(&mut result.capabilities, |name| {
                name != SKILLS_EXTENSION_ID || connected_clients::has_skills(&client)
            });
            let info = context.client_info();
            let name = info.as_ref().map(|info| info.name.as_str());
            result.instructions = handler.served.instructions(&handler.caller, name);
            Ok(result)
        }
        .await;
        operation.end(result)
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        if let Some(session) = context.extensions.get::<Weak<HttpSession>>().and_then(Weak::upgrade) {
            session.attach(self.clone(), context.peer.clone());
        }
        self.presets.connected_clients.join(&self.caller.principal, &self.client, &context.peer);
        self.served.clients.join(Arc::clone(&self.client), &self.caller, context.peer);
    }

    async fn on_roots_list_changed(&self, _: NotificationContext<RoleServer>) {
        self.client.roots.changed();
        // Servers keep roots for the calls of others too.
        if self.caller.principal == Principal::Local {
            self.presets.connected_clients.roots_changed();
        }
    }

    /// Accepts list changes, and resources that have a known source.
    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        let catalog = self.served.catalog(&self.caller);
        let has_source = |uri: &str| catalog.resources_and_prompts.resource_source(uri).is_some();
        let mut accepted = requested.clone();
        accepted.resource_subscriptions = accepted.resource_subscriptions.map(|uris| {
            uris.into_iter().filter(|uri| has_source(uri)).take(subscriptions::MAX_SUBSCRIPTIONS).collect()
        });
        Some(accepted)
    }

    /// Serves a subscription, which replaces sessions since 2026-07-28.
    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        subscriptions::serve_subscription(self, &context).await
    }

    // Methods below reply "method not found" if the capability is not declared; rmcp would return an empty list.

    answered! {
        "completion/complete": complete(CompleteRequestParams) -> CompleteResult, by completion;
        "prompts/get": get_prompt(GetPromptRequestParams) -> GetPromptResponse, by prompt;
        "resources/list": list_resources(Option<PaginatedRequestParams>) -> ListResourcesResult, by resources;
        "resources/read": read_resource(ReadResourceRequestParams) -> ReadResourceResponse, by resource;
        "skills/list": list_skills(Option<PaginatedRequestParams>) -> ListSkillsResult, by skills;
        "skills/get": get_skill(GetSkillRequestParams) -> GetSkillResult, by skill;
        "resources/directory/read": read_resource_directory(ReadResourceDirectoryRequestParams)
            -> ReadResourceDirectoryResult, by resource_directory;
    }

    async fn list_prompts(
        &self,
        page: Option<PaginatedRequestParams>,
        mut context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let operation = Operation::start(&mut context, "prompts/list");
        let result = async {
            let catalog =
                self.catalog_with_list::<ListPromptsRequestMethod>(&context, ListKind::Prompts).await?;
            one_page(page)?;
            self.record_listed(ListKind::Prompts, &catalog);
            let mut result = ListPromptsResult::with_all_items(prompt_list(&catalog));
            (result.ttl_ms, result.cache_scope) = cache_hints(&context, catalog.list_ttl);
            Ok(result)
        }
        .await;
        operation.end(result)
    }

    async fn list_resource_templates(
        &self,
        page: Option<PaginatedRequestParams>,
        mut context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let operation = Operation::start(&mut context, "resources/templates/list");
        let result = async {
            let catalog = self
                .catalog_with_list::<ListResourceTemplatesRequestMethod>(&context, ListKind::Resources)
                .await?;
            one_page(page)?;
            let mut result = ListResourceTemplatesResult::with_all_items(resource_templates(&catalog));
            (result.ttl_ms, result.cache_scope) = cache_hints(&context, catalog.list_ttl);
            Ok(result)
        }
        .await;
        operation.end(result)
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        mut context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let operation = Operation::start(&mut context, "resources/subscribe");
        let result = async {
            self.catalog_with_list::<SubscribeRequestMethod>(&context, ListKind::Resources).await?;
            let caller = self.caller_of(&context.extensions);
            self.client.watched.subscribe(self, caller, context.peer.clone(), request.uri).await
        }
        .await;
        operation.end(result)
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        mut context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let operation = Operation::start(&mut context, "resources/unsubscribe");
        let result = async {
            self.catalog_with_list::<UnsubscribeRequestMethod>(&context, ListKind::Resources).await?;
            self.client.watched.unsubscribe(&request.uri);
            Ok(())
        }
        .await;
        operation.end(result)
    }

    async fn list_tools(
        &self,
        page: Option<PaginatedRequestParams>,
        mut context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let operation = Operation::start(&mut context, "tools/list");
        let result = async {
            one_page(page)?;
            let caller = self.caller_of(&context.extensions);
            let capabilities = context.client_capabilities().unwrap_or_default();
            self.presets.connected_clients.add(&capabilities);
            let catalog = self.answer(async { Ok(self.served.settled_catalog(&caller).await) }).await?;
            let data = StructuredMode::for_request(&catalog, &context);
            let client = context.client_info();
            let client = client.as_ref().map(|client| client.name.as_str());
            let surface = client_table::surface(&catalog, client);
            let max_result = client.and_then(client_table::max_result_chars);
            let tools = reply::tools_with(&catalog, data, surface, has_apps(&capabilities), max_result);
            self.record_listed(ListKind::Tools, &catalog);
            let mut result = ListToolsResult::with_all_items(tools);
            (result.ttl_ms, result.cache_scope) = cache_hints(&context, catalog.list_ttl);
            Ok(result)
        }
        .await;
        operation.end(result)
    }

    /// Returns a tool that holds only the input schema: rmcp reads its header rules on every HTTP call.
    fn get_tool(&self, name: &str) -> Option<Tool> {
        Some(Tool::new_with_raw(name.to_owned(), None, self.input_schema(name)?))
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
        self.measured_call(params, context).await
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        mut context: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        let operation = Operation::start(&mut context, "tasks/get");
        let result = async {
            let task = self.task(&request.task_id, &context)?;
            Ok(GetTaskResult::new(task.shown(&request.task_id)))
        }
        .await;
        operation.end(result)
    }

    async fn update_task(
        &self,
        request: UpdateTaskParams,
        mut context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let operation = Operation::start(&mut context, "tasks/update");
        let result = async {
            self.task(&request.task_id, &context)?.answer(request.input_responses);
            Ok(())
        }
        .await;
        operation.end(result)
    }

    async fn cancel_task(
        &self,
        request: CancelTaskParams,
        mut context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let operation = Operation::start(&mut context, "tasks/cancel");
        let result = async {
            self.task(&request.task_id, &context)?.cancel();
            Ok(())
        }
        .await;
        operation.end(result)
    }

    // rmcp deprecates this method because requests carry the level since 2026-07-28.
    #[allow(deprecated)]
    async fn set_level(
        &self,
        request: rmcp::model::SetLevelRequestParams,
        mut context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let operation = Operation::start(&mut context, "logging/setLevel");
        let result = async {
            if is_since_2026(&context) {
                return Err(ErrorData::method_not_found::<rmcp::model::SetLevelRequestMethod>());
            }
            let level = serde_json::to_value(request.level).and_then(serde_json::from_value);
            *lock(&self.client.messages) = level.ok();
            Ok(())
        }
        .await;
        operation.end(result)
    }

    /// Answers requests that rmcp cannot parse: calls, for example with arguments as a JSON string. Other methods are
    /// unknown, or their parameters invalid.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let method = quoted(&request.method, 64);
        let catalog = self.served.catalog(&self.caller_of(&context.extensions));
        let legacy = !is_since_2026(&context);
        if !ListKind::is_known(&request.method, &catalog, !legacy) {
            let reason = format!("unknown method: '{method}'");
            return Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, reason, None));
        }
        let params = request.params.unwrap_or(Value::Null);
        let name = params.get("name").and_then(Value::as_str);
        let (Some(name), "tools/call") = (name, request.method.as_str()) else {
            let detail = if request.method == "tools/call" { ": 'name' must be a string" } else { "" };
            return Err(ErrorData::invalid_params(format!("invalid params for {method}{detail}"), None));
        };
        let member = |key| params.get(key).cloned();
        let params = InteractiveParams {
            method: "tools/call",
            name: name.to_owned(),
            arguments: member("arguments").unwrap_or(Value::Null),
            state: member("requestState").and_then(|state| serde_json::from_value(state).ok()),
            answers: member("inputResponses").and_then(|answers| serde_json::from_value(answers).ok()),
        };
        let result = self.measured_call(params, context).await?;
        let value = serde_json::to_value(ServerResult::from(result));
        let mut value = value.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
        // rmcp omits this field for clients before 2026-07-28, but not in custom results.
        if let Some(object) = value.as_object_mut().filter(|_| legacy) {
            JsonObject::remove(object, "resultType");
        }
        Ok(CustomResult::new(value))
    }
}
