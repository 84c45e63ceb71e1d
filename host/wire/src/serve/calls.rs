//! Calls of tools as clients ask for them: what the call knows of its client, and how its outcome gets there.

use std::sync::Arc;

use gatehouse_core::{Call, CallContext, lock, ports::client::MessageLevel};
use rmcp::{
    ErrorData, RoleServer,
    model::{CallToolResponse, InputResponses, ProtocolVersion},
    service::RequestContext,
};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::{
    asking::{self, Known, RetryingClient, SessionClient},
    asks::without_panic,
    handler::Handler,
    lacking::Lacking,
    line::{Line, Way},
    parked::{self, Binding, LongCall},
    reply,
    reply::Data,
    request::{passed_on, principal},
};

/// One request for a call.
pub(super) struct Requested {
    /// The tool's name, unchecked.
    pub(super) name: String,
    pub(super) arguments: Value,
    /// The name of the parked call that it has go on, and the answers.
    pub(super) state: Option<String>,
    pub(super) answers: Option<InputResponses>,
}

impl Handler {
    pub(super) async fn run(
        &self,
        requested: Requested,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Requested { name, arguments, state, answers } = requested;
        let catalog = self.served.catalog();
        let principal = principal(&context.extensions);
        let repeats =
            context.protocol_version().is_some_and(|version| version >= ProtocolVersion::V_2026_07_28);
        let data = Data::of(&catalog, repeats);
        let messages = if repeats { level_of(context) } else { *lock(&self.client.messages) };
        let abilities = asking::abilities(context, messages);
        let can_answer = abilities.forms || abilities.urls || abilities.sampling;
        let line = Arc::new(Line::default());
        let mut binding = None;
        if repeats && (can_answer || state.is_some()) {
            let digest = parked::digest(&arguments).await?;
            let preset = Arc::clone(&catalog.preset);
            let bound = Binding { principal: principal.clone(), preset, tool: name.clone(), digest };
            if let Some(state) = state {
                return self.presets.parked.resume(&state, &bound, answers, context).await;
            }
            binding = Some(bound);
        }
        let mut call = CallContext::new(&self.presets.pipeline, catalog, name.clone());
        let id = call.id;
        call.principal = principal.clone();
        call.meta = passed_on(&context.meta);
        if context.meta.get_progress_token().is_some() {
            call.progress = Some(Arc::clone(&line) as _);
        }
        let open = Arc::clone(&self.presets.open_questions);
        let client = Arc::clone(&self.client);
        let lacking = Lacking::default();
        let known =
            Known { abilities, principal, line: Arc::clone(&line), open, lacking: lacking.clone(), client };
        let Some(binding) = binding else {
            call.cancel = context.ct.clone();
            let (peer, request) = (context.peer.clone(), context.id.clone());
            call.client = Arc::new(SessionClient { known, peer, request });
            let way = Way::open(&line, context, messages.is_some());
            let outcome = without_panic(id, &name, Call::new(call, arguments).run()).await;
            if let Some(way) = way {
                way.finish().await;
            }
            let result = if repeats { lacking.result(outcome, data) } else { reply::result(outcome, data) };
            return result.map(Into::into);
        };
        // It may outlive the request.
        let cancel = CancellationToken::new();
        let (asked, questions) = mpsc::channel(1);
        call.cancel = cancel.clone();
        call.client = Arc::new(RetryingClient { known, asked });
        let work = async move { without_panic(id, &name, Call::new(call, arguments).run()).await };
        let long = LongCall {
            work: Box::pin(work),
            spawned: false,
            asked: questions,
            line,
            cancel: cancel.drop_guard(),
            messages: messages.is_some(),
            data,
            binding,
            lacking,
        };
        long.go_on(&self.presets.parked, context).await
    }
}

/// What a request since 2026-07-28 wants to be told of.
fn level_of(context: &RequestContext<RoleServer>) -> Option<MessageLevel> {
    let level = context.meta.get("io.modelcontextprotocol/logLevel")?;
    serde_json::from_value(level.clone()).ok()
}
