//! The host as the MCP client of a server, and the questions that servers ask during a call, passed to the client of
//! that call.
//!
//! Since MCP 2026-07-28, a server returns its questions as the result of the call, and the host repeats the call with
//! the answers. An earlier server sends requests of its own, and the host has to find the call that each is for.
//! Outside of a call, a server cannot ask.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use gatehouse_core::{
    CallContext, Fault, SourceId, lock,
    question::{ClientQuestion, QuestionKind},
};
use rmcp::{
    ClientHandler, ErrorData, RoleClient,
    model::{
        ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult, ElicitationCapability,
        FormElicitationCapability, Implementation, InputRequest, InputRequests, InputResponses, RequestId,
        SamplingCapability, UrlElicitationCapability,
    },
    service::{
        ClientInitializeError, ClientLifecycleMode, InboundStreamOrigin, RequestContext, RunningService,
        serve_client_with_lifecycle,
    },
    transport::Transport,
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value, json};
use tokio::sync::Notify;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{
    connection::ListChanged,
    inbound::{GuardedTransport, InboundReader, ProgressWatchers},
    upstream_subscriptions::UpstreamSubscriptions,
};

/// Handler of a server's requests. It has no roots; the client of a call answers elicitation and sampling.
#[derive(Clone)]
pub(super) struct HostClient {
    pub(super) server: SourceId,
    pub(super) calls: ActiveCalls,
    pub(super) inbound: InboundReader,
    pub(super) watchers: ProgressWatchers,
    pub(super) subscriptions: UpstreamSubscriptions,
}

impl HostClient {
    pub(super) fn new(server: &Arc<str>, inbound: InboundReader) -> Self {
        Self {
            server: SourceId::Server(Arc::clone(server)),
            calls: ActiveCalls::default(),
            inbound,
            watchers: ProgressWatchers::default(),
            subscriptions: UpstreamSubscriptions::default(),
        }
    }

    /// Starts the protocol on a transport.
    pub(super) async fn serve<T: Transport<RoleClient> + 'static>(
        self,
        transport: T,
        changed: &ListChanged,
        lifecycle: ClientLifecycleMode,
    ) -> Result<RunningService<RoleClient, Self>, ClientInitializeError> {
        let Self { inbound, watchers, subscriptions, .. } = &self;
        let transport = GuardedTransport::new(transport, inbound, watchers, subscriptions, changed);
        serve_client_with_lifecycle(self, transport, lifecycle).await
    }
}

impl ClientHandler for HostClient {
    fn get_info(&self) -> ClientConfig {
        let client = Implementation::new("gatehouse", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(capabilities(), client)
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        self.calls.ask(&self.server, QuestionKind::Form, &request, &context).await
    }

    // rmcp deprecates this method, but servers of earlier versions call it.
    #[allow(deprecated)]
    async fn create_message(
        &self,
        request: rmcp::model::CreateMessageRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<rmcp::model::CreateMessageResult, ErrorData> {
        self.calls.ask(&self.server, QuestionKind::Sampling, &request, &context).await
    }
}

/// Returns the capabilities that the host declares to servers, although a client may lack some.
fn capabilities() -> ClientCapabilities {
    let elicitation = ElicitationCapability::new()
        .with_form(FormElicitationCapability::new())
        .with_url(UrlElicitationCapability::new());
    let mut capabilities = ClientCapabilities::default();
    capabilities.elicitation = Some(elicitation);
    capabilities.sampling = Some(SamplingCapability::default());
    capabilities
}

#[derive(Clone, Default)]
pub(super) struct ActiveCalls(Arc<CallRegistry>);

#[derive(Default)]
struct CallRegistry {
    state: Mutex<CallTable>,
    changed: Notify,
}

#[derive(Default)]
struct CallTable {
    by_request: HashMap<RequestId, ActiveCaller>,
    /// Calls that are being sent. The server may ask a question before the request ID of its call is known.
    starting: usize,
}

impl CallTable {
    /// Returns the caller that a request is for. On pipes it must be unambiguous: no client may answer for another.
    fn caller(&self, origin: Option<&InboundStreamOrigin>) -> Result<ActiveCaller, &'static str> {
        if let Some(InboundStreamOrigin::OutboundRequest(id)) = origin {
            return self.by_request.get(id).cloned().ok_or("that call has ended");
        }
        let mut callers = self.by_request.values();
        let first = callers.next().ok_or("cannot ask a client: no call is running")?;
        let identity = first.context.client.identity();
        if callers.any(|other| identity.is_none() || other.context.client.identity() != identity) {
            return Err("cannot find the client to ask: calls of several clients are running");
        }
        Ok(first.clone())
    }
}

/// Marks a call as being sent, until its request ID is known.
pub(super) struct StartingCall<'a>(&'a ActiveCalls);

impl Drop for StartingCall<'_> {
    fn drop(&mut self) {
        let calls = &self.0.0;
        lock(&calls.state).starting -= 1;
        calls.changed.notify_waiters();
    }
}

#[derive(Clone)]
struct ActiveCaller {
    context: Arc<CallContext>,
    ended: CancellationToken,
}

pub(super) struct ActiveCall {
    calls: ActiveCalls,
    id: RequestId,
    _ended: DropGuard,
}

impl Drop for ActiveCall {
    fn drop(&mut self) {
        lock(&self.calls.0.state).by_request.remove(&self.id);
    }
}

impl ActiveCalls {
    pub(super) fn start(&self) -> StartingCall<'_> {
        lock(&self.0.state).starting += 1;
        StartingCall(self)
    }

    pub(super) fn register(&self, id: RequestId, context: &Arc<CallContext>) -> ActiveCall {
        let ended = CancellationToken::new();
        let caller = ActiveCaller { context: Arc::clone(context), ended: ended.clone() };
        lock(&self.0.state).by_request.insert(id.clone(), caller);
        ActiveCall { calls: self.clone(), id, _ended: ended.drop_guard() }
    }

    async fn find_caller(&self, context: &RequestContext<RoleClient>) -> Result<ActiveCaller, ErrorData> {
        let origin = context.extensions.get::<InboundStreamOrigin>();
        loop {
            let changed = self.0.changed.notified();
            tokio::pin!(changed);
            // From here on, no call is missed.
            changed.as_mut().enable();
            {
                let calls = lock(&self.0.state);
                if calls.starting == 0 {
                    return calls
                        .caller(origin)
                        .map_err(|why| ErrorData::invalid_request(why.to_owned(), None));
                }
            }
            changed.await;
        }
    }

    /// Forwards a question to the client of its call.
    pub(super) async fn ask<T: DeserializeOwned>(
        &self,
        server: &SourceId,
        kind: QuestionKind,
        params: &(impl Serialize + Sync),
        context: &RequestContext<RoleClient>,
    ) -> Result<T, ErrorData> {
        let caller = self.find_caller(context).await?;
        let answer = async {
            let question = question(server, kind, json!(params))?;
            let answers = caller.context.ask_client(&[question]).await?;
            answers.into_iter().next().ok_or_else(|| Fault::internal("the client sent no answer"))
        };
        let answer = tokio::select! {
            answer = answer => answer.map_err(|fault| to_error_data(&fault))?,
            () = caller.ended.cancelled() => return Err(ErrorData::invalid_request("the call has ended", None)),
            () = context.ct.cancelled() => return Err(ErrorData::invalid_request("the request was cancelled", None)),
        };
        serde_json::from_value(Value::Object(answer)).map_err(|error| {
            ErrorData::internal_error(format!("invalid answer of the client: {error}"), None)
        })
    }
}

/// Converts a fault. The server may quote it in its reply.
fn to_error_data(fault: &Fault) -> ErrorData {
    ErrorData::invalid_request(fault.in_one_line(), None)
}

fn question(server: &SourceId, kind: QuestionKind, params: Value) -> Result<ClientQuestion, Fault> {
    let Value::Object(params) = params else {
        return Err(Fault::invalid(format!("the question of {server} has no parameters")));
    };
    match kind {
        QuestionKind::Sampling => ClientQuestion::sampling(server, params),
        QuestionKind::Form | QuestionKind::Url => ClientQuestion::elicitation(server, params),
    }
}

/// Forwards the questions in a call's result to the client of the call.
pub(super) async fn answer_input_requests(
    server: &SourceId,
    context: &CallContext,
    requests: InputRequests,
) -> Result<InputResponses, Fault> {
    let mut given = InputResponses::new();
    let (mut keys, mut questions) = (Vec::new(), Vec::new());
    for (key, request) in requests {
        let (kind, params) = match request {
            InputRequest::Elicitation(request) => (QuestionKind::Form, json!(request.params)),
            InputRequest::CreateMessage(request) => (QuestionKind::Sampling, json!(request.params)),
            // The host shares no roots with servers.
            InputRequest::ListRoots(_) => {
                given.insert(key, json!({"roots": []}));
                continue;
            }
            _ => return Err(Fault::denied(format!("{server} sent an unsupported input request"))),
        };
        keys.push(key);
        questions.push(question(server, kind, params)?);
    }
    if !questions.is_empty() {
        let answers: Vec<Map<String, Value>> = context.ask_client(&questions).await?;
        given.extend(keys.into_iter().zip(answers.into_iter().map(Value::Object)));
    }
    Ok(given)
}
