//! Requests during which the host can ask the client for input: tool calls, prompts and resource reads. They identify
//! the client, choose how to ask it, and can resume a paused request.

use std::sync::Arc;

use gatehouse_core::{
    CallContext, Principal, lock,
    ports::client::{ClientProfile, MessageLevel},
};
use rmcp::{
    ErrorData, RoleServer,
    model::{InputResponses, ProtocolVersion, ServerResult},
    service::RequestContext,
};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::{
    handler::Handler,
    missing_capability::MissingCapability,
    notifications::{NotificationRoute, NotificationSender},
    paused_calls::{self, ResumableCall, ResumeKey},
    request::{passed_on, principal, working_directory},
    server_requests::{self, ClientContext, RetryingClient, SessionClient},
};

/// Parameters of a request, and those that resume a paused one.
pub(super) struct InteractiveParams<'a> {
    pub(super) method: &'static str,
    /// Name of the tool or prompt, or URI of the resource.
    pub(super) name: &'a str,
    pub(super) arguments: &'a Value,
    /// State token of the paused request to resume, and the answers to its questions.
    pub(super) state: Option<String>,
    pub(super) answers: Option<InputResponses>,
}

pub(super) struct InteractiveRequest<'a> {
    handler: &'a Handler,
    context: &'a RequestContext<RoleServer>,
    principal: Principal,
    abilities: ClientProfile,
    messages: Option<MessageLevel>,
    /// True if the client repeats its requests with answers, as since 2026-07-28.
    pub(super) repeats: bool,
    /// Key that the client must repeat to resume the request. `None` if the request cannot pause.
    binding: Option<ResumeKey>,
}

pub(super) enum RequestStart<'a> {
    New(Box<InteractiveRequest<'a>>),
    /// Result of a paused request that this one resumed.
    Resumed(Box<ServerResult>),
}

impl Handler {
    /// Starts a request, or resumes a paused one.
    pub(super) async fn begin_request<'a>(
        &'a self,
        preset: &Arc<str>,
        wanted: InteractiveParams<'_>,
        context: &'a RequestContext<RoleServer>,
    ) -> Result<RequestStart<'a>, ErrorData> {
        let principal = principal(&context.extensions);
        let repeats =
            context.protocol_version().is_some_and(|version| version >= ProtocolVersion::V_2026_07_28);
        let messages = if repeats { level_of(context) } else { *lock(&self.client.messages) };
        let abilities = server_requests::client_profile(context, messages);
        let mut binding = None;
        if repeats && (abilities.can_answer() || wanted.state.is_some()) {
            let digest = paused_calls::digest(wanted.arguments).await?;
            let (principal, preset) = (principal.clone(), Arc::clone(preset));
            let bound =
                ResumeKey { principal, preset, method: wanted.method, name: wanted.name.to_owned(), digest };
            if let Some(state) = wanted.state {
                let resumed = self.presets.parked.resume(&state, &bound, wanted.answers, context).await;
                return resumed.map(|result| RequestStart::Resumed(Box::new(result)));
            }
            binding = Some(bound);
        }
        let talk =
            InteractiveRequest { handler: self, context, principal, abilities, messages, repeats, binding };
        Ok(RequestStart::New(Box::new(talk)))
    }
}

impl InteractiveRequest<'_> {
    pub(super) async fn run<W>(
        self,
        mut call: CallContext,
        work: impl FnOnce(CallContext, MissingCapability) -> W,
    ) -> Result<ServerResult, ErrorData>
    where
        W: Future<Output = Result<ServerResult, ErrorData>> + Send + 'static,
    {
        let Self { handler, context, principal, abilities, messages, binding, .. } = self;
        let line = Arc::new(NotificationSender::default());
        call.principal = principal.clone();
        call.meta = passed_on(&context.meta);
        call.working_directory = working_directory(&context.extensions);
        if context.meta.get_progress_token().is_some() {
            call.progress = Some(Arc::clone(&line) as _);
        }
        let open = Arc::clone(&handler.presets.open_questions);
        let client = Arc::clone(&handler.client);
        let lacking = MissingCapability::default();
        let known = ClientContext {
            abilities,
            principal,
            line: Arc::clone(&line),
            open,
            lacking: lacking.clone(),
            client,
        };
        let Some(binding) = binding else {
            call.cancel = context.ct.clone();
            let (peer, request) = (context.peer.clone(), context.id.clone());
            call.client = Arc::new(SessionClient { known, peer, request });
            let way = NotificationRoute::open(&line, context, messages.is_some());
            let result = work(call, lacking).await;
            if let Some(way) = way {
                way.finish().await;
            }
            return result;
        };
        // The work may outlive this request.
        let cancel = CancellationToken::new();
        let (asked, questions) = mpsc::channel(1);
        call.cancel = cancel.clone();
        call.client = Arc::new(RetryingClient { known, asked });
        let long = ResumableCall {
            work: Box::pin(work(call, lacking)),
            spawned: false,
            asked: questions,
            line,
            cancel: cancel.drop_guard(),
            messages: messages.is_some(),
            binding,
        };
        long.resume(&handler.presets.parked, context).await
    }
}

fn level_of(context: &RequestContext<RoleServer>) -> Option<MessageLevel> {
    let level = context.meta.get("io.modelcontextprotocol/logLevel")?;
    serde_json::from_value(level.clone()).ok()
}

/// Error of a resumed request that returns another type of result. Unreachable, because [`ResumeKey`] has the method.
pub(super) fn wrong_request_kind() -> ErrorData {
    ErrorData::internal_error("the resumed request is of another type", None)
}
