//! Requests during which the host can ask the client for input: tool calls, prompts and resource reads. They identify
//! the client, choose how to ask it, and can resume a paused request.
//!
//! Longer than 300 lines because a request, its context and its resumption are one job.

use std::{
    panic::AssertUnwindSafe,
    path::PathBuf,
    sync::{Arc, OnceLock},
    time::Duration,
};

use futures_util::FutureExt;
use gatehouse_core::{
    Call, CallContext, Caller, Fault, FaultKind, RequestOrigin, call::CallId, lock, names::quoted,
    ports::client::MessageLevel, question::QuestionKind,
};
use gatehouse_telemetry::{SpanKind, Trace};
use rmcp::{
    ErrorData, RoleServer,
    model::{
        CacheScope, CallToolResponse, ErrorCode, Extensions, InputResponses, JsonObject, ProtocolVersion,
        RequestMetaObject, ServerResult,
    },
    service::RequestContext,
};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::{
    notifications::{NotificationRoute, NotificationSender},
    paused_calls::{self, CallOwner, ResumableCall, ResumeKey, has_tasks},
    reply::{self, StructuredMode, fault_to_error},
    tasks::terms::{TaskTerms, requires_task, tasks_required},
};
use crate::connected_clients::has_apps;
use crate::serve::{
    elicitation::{ClientContext, QuestionChannel, RetryChannel, SessionChannel, client_profile},
    handler::Handler,
    http::ClientAddress,
    span_name,
};

/// Parameters of a request, and those that resume a paused one.
pub(crate) struct InteractiveParams {
    pub(crate) method: &'static str,
    /// Name of the tool or prompt, or URI of the resource. Not validated.
    pub(crate) name: String,
    pub(crate) arguments: Value,
    /// State token of the paused request to resume, and the answers to its questions.
    pub(crate) state: Option<String>,
    pub(crate) answers: Option<InputResponses>,
}

impl Handler {
    /// Runs a tool.
    pub(crate) async fn run(
        &self,
        mut params: InteractiveParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let mut catalog = self.served.catalog_with(&self.caller_of(&context.extensions), &params.name).await;
        let has_apps = has_apps(&context.client_capabilities().unwrap_or_default());
        if !has_apps && catalog.get(&params.name).is_some_and(|entry| !entry.spec.is_for_models()) {
            catalog = Arc::new(catalog.without_app_tools());
        }
        if catalog.get(&params.name).is_none() && has_apps {
            let exposed = catalog.app_tool(&params.name).map_err(|fault| fault_to_error(&fault, None))?;
            params.name = exposed.map_or(params.name, ToString::to_string);
        }
        let mut data = StructuredMode::for_request(&catalog, context);
        if has_apps && catalog.get(&params.name).is_some_and(|entry| entry.spec.has_interface()) {
            data = data.for_interface();
        }
        let task_terms = match catalog.get(&params.name) {
            Some(entry) if requires_task(entry) && is_since_2026(context) && !has_tasks(context) => {
                return Err(tasks_required(&params.name));
            }
            Some(entry) if has_tasks(context) => Some(TaskTerms::new(entry)),
            _ => None,
        };
        let call = CallContext::new(&self.presets.pipeline, catalog, params.name.clone());
        let work = |call, arguments| Call::new(call, arguments).run();
        let convert = move |outcome| reply::result(outcome, data).map(ServerResult::CallToolResult);
        match self.interactive(params, task_terms, context, call, work, convert).await? {
            ServerResult::CallToolResult(result) => Ok(result.into()),
            ServerResult::InputRequiredResult(questions) => Ok(questions.into()),
            ServerResult::CreateTaskResult(task) => Ok(CallToolResponse::Task(task)),
            _ => Err(wrong_request_kind()),
        }
    }

    /// Returns the owner of calls that outlive their request.
    pub(crate) fn owner(&self, caller: &Arc<Caller>, preset: Arc<str>) -> CallOwner {
        let access = self.presets.access_rules().access_of(caller);
        // Callers without limits keep their calls when the configuration changes.
        let access = if access.is_full() { 0 } else { access.number() };
        CallOwner { principal: caller.principal.clone(), access, preset }
    }

    /// Runs `work` with the context `call` and the arguments, or resumes a paused request. `convert` turns the work's
    /// result into the response. With `task_terms`, the call may become a task.
    pub(crate) async fn interactive<T, W>(
        &self,
        params: InteractiveParams,
        task_terms: Option<TaskTerms>,
        context: &RequestContext<RoleServer>,
        mut call: CallContext,
        work: impl FnOnce(CallContext, Value) -> W + Send + 'static,
        convert: impl FnOnce(Result<T, Fault>) -> Result<ServerResult, ErrorData> + Send + 'static,
    ) -> Result<ServerResult, ErrorData>
    where
        T: Send + 'static,
        W: Future<Output = Result<T, Fault>> + Send + 'static,
    {
        let InteractiveParams { method, name, arguments, state, answers } = params;
        let caller = self.caller_of(&context.extensions);
        let since_2026 = is_since_2026(context);
        let messages = if since_2026 { level_of(context) } else { *lock(&self.client.messages) };
        let profile = client_profile(context, messages);
        // Clients since 2026-07-28 repeat their requests with answers.
        let mut resume_key = None;
        if since_2026 && (profile.features.can_answer() || state.is_some() || task_terms.is_some()) {
            let digest = paused_calls::digest(&arguments).await?;
            let owner = self.owner(&caller, Arc::clone(&call.catalog.preset));
            let key = ResumeKey { owner, method, name: name.clone(), digest };
            if let Some(state) = state {
                let paused = &self.presets.paused_calls;
                return paused.resume(&state, &key, answers, &self.presets, context).await;
            }
            resume_key = Some(key);
        }
        let notifications = Arc::new(NotificationSender::default());
        call.caller = Arc::clone(&caller);
        call.origin = origin(&context.extensions);
        call.meta = forwarded_meta(&context.meta);
        call.trace = context.extensions.get::<Trace>().cloned().unwrap_or_default();
        call.working_directory = working_directory(&context.extensions);
        if context.meta.get_progress_token().is_some() || task_terms.is_some() {
            call.progress = Some(Arc::clone(&notifications) as _);
        }
        if resume_key.is_some() {
            // The work may outlive the span of its first request.
            let tool = if call.entry().is_ok() { &*name } else { "" };
            call.trace = call.trace.child(SpanKind::Internal, span_name(method, tool));
        }
        let missing_capability = Arc::<OnceLock<_>>::default();
        let (channel, resume_key) = match resume_key {
            Some(key) => {
                let (pending_inputs, pending_input) = mpsc::channel(1);
                (QuestionChannel::Retry(RetryChannel(pending_inputs)), Some((key, pending_input)))
            }
            None => {
                let (peer, request) = (context.peer.clone(), context.id.clone());
                (QuestionChannel::Session(SessionChannel { peer, request }), None)
            }
        };
        call.client = Arc::new(ClientContext {
            profile,
            principal: caller.principal.clone(),
            notifications: Arc::clone(&notifications),
            open: Arc::clone(&self.presets.open_questions),
            missing_capability: Arc::clone(&missing_capability),
            client: Arc::clone(&self.client),
            channel,
            task_switch: task_terms.as_ref().map(|terms| Arc::clone(&terms.switch)),
        });
        let has_own_span = resume_key.is_some();
        let run = async move |call: CallContext| {
            let trace = call.trace.clone();
            let result = without_panic(call.id, &name, work(call, arguments)).await;
            if has_own_span {
                trace.end(result.as_ref().err().map_or("", |fault| fault.kind.as_str()));
            }
            if since_2026 && let (Err(fault), Some(kind)) = (&result, missing_capability.get()) {
                check_capability(fault, *kind)?;
            }
            convert(result)
        };
        let Some((resume_key, pending_input)) = resume_key else {
            call.cancel = context.ct.clone();
            let route = NotificationRoute::open(&notifications, context, messages.is_some());
            let result = run(call).await;
            if let Some(route) = route {
                route.finish().await;
            }
            return result;
        };
        // The work may outlive this request.
        let cancel = CancellationToken::new();
        call.cancel = cancel.clone();
        let resumable = ResumableCall {
            work: Box::pin(run(call)),
            spawned: false,
            pending_input,
            notifications,
            cancel: cancel.drop_guard(),
            credential_end: caller.ended.clone(),
            messages: messages.is_some(),
            resume_key,
            task_terms,
        };
        resumable.resume(&self.presets, context).await
    }
}

/// Returns an error for clients since 2026-07-28 if a call failed because its client lacks the capability for a question.
/// Earlier clients get the fault as a result. A gate that continued without the answer fails for another reason, or
/// succeeds.
fn check_capability(fault: &Fault, kind: QuestionKind) -> Result<(), ErrorData> {
    if fault.kind != FaultKind::Denied {
        return Ok(());
    }
    let required = match kind {
        QuestionKind::Form => json!({"elicitation": {"form": {}}}),
        QuestionKind::Url => json!({"elicitation": {"url": {}}}),
        QuestionKind::Sampling => json!({"sampling": {}}),
    };
    let data = json!({"requiredCapabilities": required});
    let code = ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY;
    Err(ErrorData::new(code, fault.in_one_line(), Some(data)))
}

pub(crate) fn is_since_2026(context: &RequestContext<RoleServer>) -> bool {
    context.protocol_version().is_some_and(|version| version >= ProtocolVersion::V_2026_07_28)
}

/// Returns how long a client may cache a list, and for whom. Clients before 2026-07-28 get neither.
pub(crate) fn cache_hints(
    context: &RequestContext<RoleServer>,
    ttl: Duration,
) -> (Option<u64>, Option<CacheScope>) {
    match is_since_2026(context) {
        true => (u64::try_from(ttl.as_millis()).ok(), Some(CacheScope::Private)),
        false => (None, None),
    }
}

fn level_of(context: &RequestContext<RoleServer>) -> Option<MessageLevel> {
    let level = context.meta.get("io.modelcontextprotocol/logLevel")?;
    serde_json::from_value(level.clone()).ok()
}

/// Error of a resumed request that returns another type of result. Unreachable, because [`ResumeKey`] has the method.
pub(crate) fn wrong_request_kind() -> ErrorData {
    ErrorData::internal_error("the resumed request is of another type", None)
}

/// Converts a panic to a fault, so that the client gets a reply.
pub(crate) async fn without_panic<T>(
    id: CallId,
    subject: &str,
    work: impl Future<Output = Result<T, Fault>>,
) -> Result<T, Fault> {
    AssertUnwindSafe(work).catch_unwind().await.unwrap_or_else(|_| {
        tracing::error!(call = %id, tool = %quoted(subject, 64), "the host panicked in a call");
        Err(Fault::internal(format!("the host failed on this call ({id})"))
            .hint("This is a bug in Gatehouse. The host's log has the details under this ID."))
    })
}

/// Returns the authenticated caller of an HTTP request. `None` over stdio.
pub(crate) fn authenticated_caller(extensions: &Extensions) -> Option<Arc<Caller>> {
    extensions.get::<http::request::Parts>()?.extensions.get().cloned()
}

/// Returns the address of the client. `None` over stdio.
pub(crate) fn origin(extensions: &Extensions) -> Option<Arc<RequestOrigin>> {
    let client = extensions.get::<http::request::Parts>()?.extensions.get::<ClientAddress>()?;
    Some(Arc::new(RequestOrigin { address: Some(client.0), ..RequestOrigin::default() }))
}

/// Directory in which this process was started. It stays there.
static CURRENT_DIRECTORY: OnceLock<Option<PathBuf>> = OnceLock::new();

/// Returns the directory in which the client started this process. `None` over HTTP.
fn working_directory(extensions: &Extensions) -> Option<PathBuf> {
    match extensions.get::<http::request::Parts>() {
        Some(_) => None,
        None => CURRENT_DIRECTORY.get_or_init(|| std::env::current_dir().ok()).clone(),
    }
}

/// Returns the `_meta` to forward to the tool, without members that concern a single hop.
fn forwarded_meta(meta: &RequestMetaObject) -> Option<Arc<JsonObject>> {
    let hop = |key: &str| key == "progressToken" || key.starts_with("io.modelcontextprotocol/");
    if meta.keys().all(|key| hop(key)) {
        return None;
    }
    let forwarded = meta.iter().filter(|(key, _)| !hop(key));
    Some(Arc::new(forwarded.map(|(key, value)| (key.clone(), value.clone())).collect()))
}

#[cfg(test)]
mod tests {
    use rmcp::model::MetaObject;

    use super::*;

    #[test]
    fn meta_of_one_hop_is_not_forwarded() {
        let meta = |meta: serde_json::Value| {
            let meta = meta.as_object().cloned().expect("an object");
            forwarded_meta(&RequestMetaObject(MetaObject(meta))).map(|meta| json!(*meta))
        };
        let hop = json!({"progressToken": 1, "io.modelcontextprotocol/protocolVersion": "2026-07-28"});
        assert_eq!(meta(hop), None);
        let more = json!({"progressToken": 1, "traceparent": "00-1-2-01", "example.com/x": {"y": 1}});
        assert_eq!(meta(more), Some(json!({"traceparent": "00-1-2-01", "example.com/x": {"y": 1}})));
    }
}
