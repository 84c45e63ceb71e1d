//! Calls that run on a connection, and the questions that the server asks during one, passed to the client of that call.
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
    ports::client::ClientRoot,
    question::{ClientQuestion, QuestionKind},
};
use rmcp::{
    ErrorData, RoleClient,
    model::{InputRequest, InputRequests, InputResponses, RequestId},
    service::{InboundStreamOrigin, RequestContext},
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value, json};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::OnDrop;

#[derive(Clone, Default)]
pub(super) struct ActiveCalls(Arc<CallRegistry>);

#[derive(Default)]
struct CallRegistry {
    by_request: Mutex<HashMap<RequestId, ActiveCaller>>,
    /// Calls that are being sent. The server may ask a question before the request ID of its call is known.
    starting: watch::Sender<usize>,
}

impl CallRegistry {
    fn caller(&self, origin: Option<&InboundStreamOrigin>) -> Result<ActiveCaller, &'static str> {
        Self::caller_among(&lock(&self.by_request), origin)
    }

    /// Returns the caller that a request is for. On pipes it must be unambiguous: no client may answer for another.
    fn caller_among(
        calls: &HashMap<RequestId, ActiveCaller>,
        origin: Option<&InboundStreamOrigin>,
    ) -> Result<ActiveCaller, &'static str> {
        if let Some(InboundStreamOrigin::OutboundRequest(id)) = origin {
            return calls.get(id).cloned().ok_or("that call has ended");
        }
        let mut callers = calls.values();
        let first = callers.next().ok_or("cannot ask a client: no call is running")?;
        let identity = first.context.client.identity();
        if callers.any(|other| identity.is_none() || other.context.client.identity() != identity) {
            return Err("cannot find the client to ask: calls of several clients are running");
        }
        Ok(first.clone())
    }
}

#[derive(Clone)]
pub(super) struct ActiveCaller {
    pub(super) context: Arc<CallContext>,
    ended: CancellationToken,
}

/// The call that a message of a server is for.
pub(super) enum CallerOfMessage {
    Call(Arc<CallContext>),
    /// No call is running.
    NoCall,
    /// A call is being sent, and may be the one.
    Starting,
    /// Calls of several clients are running, or the call has ended.
    Unknown,
}

impl ActiveCaller {
    /// Waits for an answer of the client, until the call ends or the server cancels its request.
    pub(super) async fn answer<T>(
        &self,
        context: &RequestContext<RoleClient>,
        answer: impl Future<Output = Result<T, Fault>>,
    ) -> Result<T, ErrorData> {
        tokio::select! {
            // The server may quote a fault in its reply.
            answer = answer => answer.map_err(|fault| ErrorData::invalid_request(fault.in_one_line(), None)),
            () = self.ended.cancelled() => Err(ErrorData::invalid_request("the call has ended", None)),
            () = context.ct.cancelled() => Err(ErrorData::invalid_request("the request was cancelled", None)),
        }
    }
}

impl ActiveCalls {
    /// Marks a call as being sent, until its request ID is known and the guard is dropped.
    pub(super) fn start(&self) -> OnDrop<impl FnOnce()> {
        self.0.starting.send_modify(|starting| *starting += 1);
        OnDrop::new(|| self.0.starting.send_modify(|starting| *starting -= 1))
    }

    /// Registers a call until the guard is dropped.
    pub(super) fn register(&self, id: RequestId, context: &Arc<CallContext>) -> OnDrop<impl FnOnce()> {
        let ended = CancellationToken::new();
        let caller = ActiveCaller { context: Arc::clone(context), ended: ended.clone() };
        lock(&self.0.by_request).insert(id.clone(), caller);
        OnDrop::new(move || {
            lock(&self.0.by_request).remove(&id);
            ended.cancel();
        })
    }

    /// Returns the call that a message is for, as far as is known now.
    pub(super) fn find_now(&self, origin: Option<&InboundStreamOrigin>) -> CallerOfMessage {
        // Calls must not begin or end between the checks, or the message could go to another client.
        let calls = lock(&self.0.by_request);
        if *self.0.starting.borrow() > 0 {
            return CallerOfMessage::Starting;
        }
        match CallRegistry::caller_among(&calls, origin) {
            Ok(caller) => CallerOfMessage::Call(caller.context),
            Err(_) if calls.is_empty() => CallerOfMessage::NoCall,
            Err(_) => CallerOfMessage::Unknown,
        }
    }

    pub(super) async fn find_caller(
        &self,
        origin: Option<&InboundStreamOrigin>,
    ) -> Result<ActiveCaller, ErrorData> {
        // Does not fail, because the sender lives as long as this.
        let _ = self.0.starting.subscribe().wait_for(|starting| *starting == 0).await;
        self.0.caller(origin).map_err(|why| ErrorData::invalid_request(why.to_owned(), None))
    }

    /// Forwards a question to the client of its call.
    pub(super) async fn ask<T: DeserializeOwned>(
        &self,
        server: &SourceId,
        kind: QuestionKind,
        params: &(impl Serialize + Sync),
        context: &RequestContext<RoleClient>,
    ) -> Result<T, ErrorData> {
        let caller = self.find_caller(context.extensions.get::<InboundStreamOrigin>()).await?;
        let answer = async {
            let question = question(server, kind, json!(params))?;
            let answers = caller.context.ask_client(&[question]).await?;
            answers.into_iter().next().ok_or_else(|| Fault::internal("the client sent no answer"))
        };
        let answer = caller.answer(context, answer).await?;
        serde_json::from_value(Value::Object(answer)).map_err(|error| {
            ErrorData::internal_error(format!("invalid answer of the client: {error}"), None)
        })
    }
}

#[allow(deprecated)]
pub(super) fn to_mcp_root(root: ClientRoot) -> rmcp::model::Root {
    let mut converted = rmcp::model::Root::new(root.uri);
    converted.name = root.name;
    converted
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
            InputRequest::ListRoots(_) => {
                let roots: Vec<_> = context.client_roots().await?.into_iter().map(to_mcp_root).collect();
                given.insert(key, json!({"roots": roots}));
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
