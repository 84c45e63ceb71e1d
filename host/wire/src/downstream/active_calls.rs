//! What servers ask while they run calls: it goes to the client of the call, in the server's name. A server since 2026-07-28
//! gives its questions as the result of the call, which is then repeated with the answers; one before sends requests of its
//! own, of which it has to be found out whose call they are for. Outside of a call nobody can be asked.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use gatehouse_core::{
    CallContext, Fault, SourceId, lock,
    question::{ClientQuestion, QuestionKind},
};
use rmcp::{
    ErrorData, RoleClient,
    model::{
        ClientCapabilities, ElicitationCapability, FormElicitationCapability, InputRequest, InputRequests,
        InputResponses, RequestId, SamplingCapability, UrlElicitationCapability,
    },
    service::{InboundStreamOrigin, RequestContext},
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value, json};
use tokio::sync::Notify;
use tokio_util::sync::{CancellationToken, DropGuard};

/// What the host can do for servers; whether a call's client can is found out when one asks.
pub(super) fn capabilities() -> ClientCapabilities {
    let elicitation = ElicitationCapability::new()
        .with_form(FormElicitationCapability::new())
        .with_url(UrlElicitationCapability::new());
    let mut capabilities = ClientCapabilities::default();
    capabilities.elicitation = Some(elicitation);
    capabilities.sampling = Some(SamplingCapability::default());
    capabilities
}

/// The calls that run on one connection.
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
    /// Calls that are being sent: the server may ask before it is known as which request.
    starting: usize,
}

impl CallTable {
    /// Whose call a request of the server is for. A pipe does not say: there it has to be clear by itself, for no client
    /// may be asked on account of another one.
    fn caller(&self, origin: Option<&InboundStreamOrigin>) -> Result<ActiveCaller, &'static str> {
        if let Some(InboundStreamOrigin::OutboundRequest(id)) = origin {
            return self.by_request.get(id).cloned().ok_or("That call is over");
        }
        let mut callers = self.by_request.values();
        let first = callers.next().ok_or("Nobody can be asked: no call runs")?;
        let who = first.context.client.identity();
        if callers.any(|other| who.is_none() || other.context.client.identity() != who) {
            return Err("Calls of several clients run, and it is not clear whose this is for");
        }
        Ok(first.clone())
    }
}

/// A call that is being sent, until it is known as which request.
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
    /// Cancelled when the call is over.
    over: CancellationToken,
}

/// A call that runs, for as long as it lives.
pub(super) struct ActiveCall {
    running: ActiveCalls,
    id: RequestId,
    _over: DropGuard,
}

impl Drop for ActiveCall {
    fn drop(&mut self) {
        lock(&self.running.0.state).by_request.remove(&self.id);
    }
}

impl ActiveCalls {
    /// A call is about to be sent.
    pub(super) fn start(&self) -> StartingCall<'_> {
        lock(&self.0.state).starting += 1;
        StartingCall(self)
    }

    /// The call of this client runs as this request.
    pub(super) fn begin(&self, id: RequestId, context: &Arc<CallContext>) -> ActiveCall {
        let over = CancellationToken::new();
        let caller = ActiveCaller { context: Arc::clone(context), over: over.clone() };
        lock(&self.0.state).by_request.insert(id.clone(), caller);
        ActiveCall { running: self.clone(), id, _over: over.drop_guard() }
    }

    async fn find_caller(&self, context: &RequestContext<RoleClient>) -> Result<ActiveCaller, ErrorData> {
        let origin = context.extensions.get::<InboundStreamOrigin>();
        loop {
            let changed = self.0.changed.notified();
            tokio::pin!(changed);
            // From here on no call goes unnoticed that is sent.
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

    /// Passes on a request of the server, as the protocol has it, and gives the answer.
    pub(super) async fn ask<T: DeserializeOwned>(
        &self,
        server: &SourceId,
        kind: QuestionKind,
        params: &(impl Serialize + Sync),
        context: &RequestContext<RoleClient>,
    ) -> Result<T, ErrorData> {
        let caller = self.find_caller(context).await?;
        let asked = async {
            let question = question(server, kind, json!(params))?;
            let answers = caller.context.ask_client(&[question]).await?;
            answers.into_iter().next().ok_or_else(|| Fault::internal("There is no answer."))
        };
        let answer = tokio::select! {
            answer = asked => answer.map_err(|fault| to_error_data(&fault))?,
            () = caller.over.cancelled() => return Err(ErrorData::invalid_request("The call is over", None)),
            () = context.ct.cancelled() => return Err(ErrorData::invalid_request("It was cancelled", None)),
        };
        serde_json::from_value(Value::Object(answer)).map_err(|error| {
            ErrorData::internal_error(
                format!("The client's answer is none that the protocol has: {error}"),
                None,
            )
        })
    }
}

/// A fault as the server hears of it, which may word it for its own reply.
fn to_error_data(fault: &Fault) -> ErrorData {
    ErrorData::invalid_request(fault.in_one_line(), None)
}

fn question(server: &SourceId, kind: QuestionKind, params: Value) -> Result<ClientQuestion, Fault> {
    let Value::Object(params) = params else {
        return Err(Fault::invalid(format!("The question of {server} has no parameters.")));
    };
    match kind {
        QuestionKind::Sampling => ClientQuestion::sampling(server, params),
        QuestionKind::Form | QuestionKind::Url => ClientQuestion::elicitation(server, params),
    }
}

/// Has the client of a call answer what a server gave as the call's result.
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
            // The host shows servers no files of its client's.
            InputRequest::ListRoots(_) => {
                given.insert(key, json!({"roots": []}));
                continue;
            }
            _ => return Err(Fault::denied(format!("{server} asks something that this host does not know."))),
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
