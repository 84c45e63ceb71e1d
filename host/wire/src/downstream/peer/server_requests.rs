//! Requests of a server: pings, roots, and questions during a call, which the client of that call answers.
//!
//! Since MCP 2026-07-28, a server returns its questions as the result of the call, and the host repeats the call with
//! the answers. An earlier server sends requests of its own, and the host has to find the call that each is for.
//! Outside of a call, a server cannot ask.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use gatehouse_core::{
    CallContext, Fault, SourceId, lock,
    names::quoted,
    ports::client::ClientRoot,
    question::{ClientQuestion, QuestionKind},
};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::{
    Peer,
    pending::{ActiveCaller, MessageCaller},
};
use crate::OnDrop;

/// Requests that the host works on at the same time, if few calls are running.
const MIN_OPEN_REQUESTS: usize = 32;

/// Questions that wait for a client.
const MAX_WAITING_QUESTIONS: usize = 64;

/// Answers that the server has not read. Beyond it, requests are dropped.
const MAX_UNSENT_ANSWERS: usize = 1_024;

const ELICITATION: &str = "elicitation/create";
const SAMPLING: &str = "sampling/createMessage";
const QUESTIONS: [&str; 2] = [ELICITATION, SAMPLING];

const INVALID_REQUEST: i32 = -32600;
const METHOD_NOT_FOUND: i32 = -32601;
const INVALID_PARAMS: i32 = -32602;

#[derive(Default)]
pub(super) struct ServerRequests {
    open: Arc<AtomicUsize>,
    waiting_questions: Arc<AtomicUsize>,
    unsent: Arc<AtomicUsize>,
    /// By the JSON text of the ID.
    cancellations: Mutex<HashMap<String, CancellationToken>>,
}

impl ServerRequests {
    pub(super) fn cancel(&self, id: &Value) {
        if let Some(cancelled) = lock(&self.cancellations).get(&id.to_string()) {
            cancelled.cancel();
        }
    }
}

/// Takes a place, unless `max` are taken, until it is dropped.
fn place(counter: &Arc<AtomicUsize>, max: usize) -> Option<OnDrop<impl FnOnce() + use<>>> {
    let take = |count| (count < max).then_some(count + 1);
    counter.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).ok()?;
    let counter = Arc::clone(counter);
    Some(OnDrop::new(move || {
        counter.fetch_sub(1, Ordering::Relaxed);
    }))
}

/// A JSON-RPC error for the server.
struct AnswerError {
    code: i32,
    message: String,
}

impl AnswerError {
    fn new(code: i32, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }
}

impl Peer {
    pub(super) fn receive_request(
        self: &Arc<Self>,
        id: Value,
        method: String,
        params: Map<String, Value>,
        origin: Option<u64>,
    ) {
        // A server that only asks and reads no answers fills no memory.
        let Some(unsent) = place(&self.server_requests.unsent, MAX_UNSENT_ANSWERS) else {
            return self.count_unrequested(1, 0);
        };
        let open = place(&self.server_requests.open, MIN_OPEN_REQUESTS.max(2 * self.pending.calls()));
        // Only questions have parameters that matter.
        let is_question = QUESTIONS.contains(&&*method) && open.is_some();
        let params = if is_question { params } else { Map::new() };
        let this = Arc::clone(self);
        self.runtime.spawn(async move {
            let answer = match open {
                Some(open) => this.answer_until_cancelled(&id, &method, params, origin, open).await,
                None => Err(AnswerError::new(INVALID_REQUEST, "too many requests wait for an answer")),
            };
            this.send(match answer {
                Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
                Err(AnswerError { code, message }) => {
                    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
                }
            })
            .await;
            drop(unsent);
        });
    }

    async fn answer_until_cancelled(
        self: &Arc<Self>,
        id: &Value,
        method: &str,
        params: Map<String, Value>,
        origin: Option<u64>,
        open: OnDrop<impl FnOnce()>,
    ) -> Result<Value, AnswerError> {
        let (key, cancelled) = (id.to_string(), CancellationToken::new());
        lock(&self.server_requests.cancellations).insert(key.clone(), cancelled.clone());
        let _forget = OnDrop::new(|| drop(lock(&self.server_requests.cancellations).remove(&key)));
        tokio::select! {
            answer = self.answer(method, params, origin, open) => answer,
            () = cancelled.cancelled() => Err(AnswerError::new(INVALID_REQUEST, "the request was cancelled")),
        }
    }

    async fn answer(
        self: &Arc<Self>,
        method: &str,
        params: Map<String, Value>,
        origin: Option<u64>,
        open: OnDrop<impl FnOnce()>,
    ) -> Result<Value, AnswerError> {
        let refused = |reason: String| AnswerError::new(INVALID_REQUEST, reason);
        let kind = match method {
            "ping" => return Ok(json!({})),
            "roots/list" => return self.roots(origin).await,
            ELICITATION => QuestionKind::Form,
            SAMPLING => QuestionKind::Sampling,
            _ => {
                return Err(AnswerError::new(
                    METHOD_NOT_FOUND,
                    format!("unknown method: {}", quoted(method, 64)),
                ));
            }
        };
        let caller = match self.pending.caller(origin) {
            MessageCaller::Call(caller) => caller,
            MessageCaller::NoCall => return Err(refused("cannot ask a client: no call is running".into())),
            MessageCaller::Unknown(reason) => return Err(refused(reason.into())),
        };
        let waiting = place(&self.server_requests.waiting_questions, MAX_WAITING_QUESTIONS);
        let Some(_waiting) = waiting else {
            return Err(refused("too many questions wait for an answer".into()));
        };
        // A user may take minutes.
        drop(open);
        let answer = async {
            let question = question(&self.server, kind, params)?;
            let answers = caller.context.ask_client(&[question]).await?;
            answers.into_iter().next().ok_or_else(|| Fault::internal("the client sent no answer"))
        };
        caller.answer(answer).await.map(Value::Object).map_err(refused)
    }

    async fn roots(&self, origin: Option<u64>) -> Result<Value, AnswerError> {
        let roots = match self.pending.caller(origin) {
            MessageCaller::NoCall if self.info().is_none_or(|info| info.is_since_2026()) => {
                return Err(AnswerError::new(INVALID_PARAMS, "cannot ask for roots: no call is running"));
            }
            MessageCaller::NoCall => self.context.clients.only_roots().await,
            MessageCaller::Unknown(reason) => return Err(AnswerError::new(INVALID_REQUEST, reason)),
            MessageCaller::Call(caller) => self.roots_of(&caller).await?,
        };
        Ok(json!({"roots": roots.into_iter().map(root_to_mcp).collect::<Vec<_>>()}))
    }

    async fn roots_of(&self, caller: &ActiveCaller) -> Result<Vec<ClientRoot>, AnswerError> {
        // The server keeps them for the calls of others too.
        if !self.belongs_to(&caller.context) {
            return Ok(Vec::new());
        }
        let roots = caller.answer(caller.context.client_roots()).await;
        roots.map_err(|reason| AnswerError::new(INVALID_REQUEST, reason))
    }
}

fn root_to_mcp(root: ClientRoot) -> Value {
    match root.name {
        Some(name) => json!({"uri": root.uri, "name": name}),
        None => json!({"uri": root.uri}),
    }
}

fn question(
    server: &SourceId,
    kind: QuestionKind,
    params: Map<String, Value>,
) -> Result<ClientQuestion, Fault> {
    match kind {
        QuestionKind::Sampling => ClientQuestion::sampling(server, params),
        QuestionKind::Form | QuestionKind::Url => ClientQuestion::elicitation(server, params),
    }
}

/// Forwards the questions in a call's result to the client of the call.
pub(in crate::downstream) async fn answer_input_requests(
    server: &SourceId,
    context: &CallContext,
    requests: Map<String, Value>,
) -> Result<BTreeMap<String, Value>, Fault> {
    let mut responses = BTreeMap::new();
    let (mut keys, mut questions) = (Vec::new(), Vec::new());
    for (key, mut request) in requests {
        let params = match request.get_mut("params").map(Value::take) {
            Some(Value::Object(params)) => params,
            _ => Map::new(),
        };
        let kind = match request.get("method").and_then(Value::as_str) {
            Some(ELICITATION) => QuestionKind::Form,
            Some(SAMPLING) => QuestionKind::Sampling,
            Some("roots/list") => {
                let roots: Vec<_> = context.client_roots().await?.into_iter().map(root_to_mcp).collect();
                responses.insert(key, json!({"roots": roots}));
                continue;
            }
            _ => return Err(Fault::denied(format!("{server} sent an unsupported input request"))),
        };
        keys.push(key);
        questions.push(question(server, kind, params)?);
    }
    if !questions.is_empty() {
        let answers = context.ask_client(&questions).await?;
        responses.extend(keys.into_iter().zip(answers.into_iter().map(Value::Object)));
    }
    Ok(responses)
}
