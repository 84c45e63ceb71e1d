//! Requests in the course of which a client can be asked something: calls of tools, the making of prompts, and reading. What is
//! common to them is who the client is, how it is asked in its era, and that a request may have an earlier one go on.

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

/// What a request is for, and what of an earlier one it brings back.
pub(super) struct InteractiveParams<'a> {
    pub(super) method: &'static str,
    /// Of the tool or prompt, or the address.
    pub(super) name: &'a str,
    pub(super) arguments: &'a Value,
    /// The name of the parked request that it has go on, and the answers.
    pub(super) state: Option<String>,
    pub(super) answers: Option<InputResponses>,
}

/// One request, of which the client is known.
pub(super) struct InteractiveRequest<'a> {
    handler: &'a Handler,
    context: &'a RequestContext<RoleServer>,
    principal: Principal,
    abilities: ClientProfile,
    messages: Option<MessageLevel>,
    /// Whether the client repeats its requests, as since 2026-07-28.
    pub(super) repeats: bool,
    /// What its client has to say again, where it may be asked something.
    binding: Option<ResumeKey>,
}

/// How a request begins.
pub(super) enum RequestStart<'a> {
    /// With work of its own.
    New(Box<InteractiveRequest<'a>>),
    /// It had an earlier one go on, and this came of it.
    Resumed(Box<ServerResult>),
}

impl Handler {
    /// Begins with a request.
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
    /// Does the work of a request, which gets what it needs to know of its client and to ask it.
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
        // It may outlive the request.
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

/// What a request since 2026-07-28 wants to be told of.
fn level_of(context: &RequestContext<RoleServer>) -> Option<MessageLevel> {
    let level = context.meta.get("io.modelcontextprotocol/logLevel")?;
    serde_json::from_value(level.clone()).ok()
}

/// What comes of a request that had another one go on, where that was of another kind: it cannot be.
pub(super) fn wrong_request_kind() -> ErrorData {
    ErrorData::internal_error("The request that went on was of another kind", None)
}
