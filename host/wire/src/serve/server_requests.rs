//! How clients are asked something while a call runs. With a session they are sent a request of ours, on the stream of their
//! own request. Since 2026-07-28 servers send none: the client gets the questions as the result of its request, and repeats
//! that with the answers; meanwhile the call is [`parked`](super::parked).

mod roots;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use async_trait::async_trait;
use gatehouse_core::{
    Fault, Principal,
    approval::ApprovalStore,
    lock,
    names::quoted,
    outcome::FaultKind,
    ports::client::{CallingClient, ClientProfile, MessageLevel},
    question::{ClientQuestion, QuestionKind},
};
use rmcp::{
    RoleServer,
    model::{
        CancelledNotification, CancelledNotificationParam, CustomRequest, ErrorCode, InputRequest,
        InputRequests, RequestId, ServerRequest,
    },
    service::{OriginatingRequestId, Peer, PeerRequestOptions, RequestContext, ServiceError},
};
use serde_json::{Map, Value, json};
use tokio::sync::{mpsc, oneshot};

use super::{clients::ClientState, missing_capability::MissingCapability, notifications::NotificationSender};

/// The most calls that wait for answers at the same time, of one principal and of all: each holds an instance, and a gate that
/// runs as many calls as it may by default (64) has some left for its neighbours. A person answers one question at a time.
pub(super) const MAX_OPEN_QUESTIONS: usize = 48;
pub(super) const MAX_OPEN_QUESTIONS_PER_PRINCIPAL: usize = 16;

/// Calls that wait for answers, by whose they are.
#[derive(Default)]
pub(super) struct OpenQuestions(Mutex<HashMap<Principal, usize>>);

/// One of them, for as long as it lives.
struct OpenQuestionGuard {
    all: Arc<OpenQuestions>,
    principal: Principal,
}

impl OpenQuestions {
    fn begin(self: &Arc<Self>, principal: &Principal) -> Result<OpenQuestionGuard, Fault> {
        let mut open = lock(&self.0);
        let own = open.get(principal).copied().unwrap_or_default();
        if own >= MAX_OPEN_QUESTIONS_PER_PRINCIPAL || open.values().sum::<usize>() >= MAX_OPEN_QUESTIONS {
            let why = format!(
                "Too many calls wait for answers: at most {MAX_OPEN_QUESTIONS_PER_PRINCIPAL} of one client's name, and {MAX_OPEN_QUESTIONS} in all."
            );
            return Err(Fault::exhausted(why).hint("Answer the questions that are open, then call again."));
        }
        *open.entry(principal.clone()).or_default() += 1;
        Ok(OpenQuestionGuard { all: Arc::clone(self), principal: principal.clone() })
    }
}

impl Drop for OpenQuestionGuard {
    fn drop(&mut self) {
        let mut open = lock(&self.all.0);
        if let Some(own) = open.get_mut(&self.principal) {
            *own -= 1;
            if *own == 0 {
                open.remove(&self.principal);
            }
        }
    }
}

/// What a client says it can do; `messages` is what it wants to be told of.
pub(super) fn client_profile(
    context: &RequestContext<RoleServer>,
    messages: Option<MessageLevel>,
) -> ClientProfile {
    let can = context.client_capabilities().unwrap_or_default();
    let who = context.client_info();
    let (name, version) = who.map(|who| (who.name, who.version)).unwrap_or_default();
    let elicitation = can.elicitation.as_ref();
    let urls = elicitation.is_some_and(|can| can.url.is_some());
    ClientProfile {
        name,
        version,
        protocol: context.protocol_version().map(|version| version.as_str().to_owned()).unwrap_or_default(),
        // Before there was a choice, whoever could be asked could show a form.
        forms: elicitation.is_some_and(|can| can.form.is_some() || can.url.is_none()),
        urls,
        sampling: can.sampling.is_some(),
        roots: can.roots.is_some(),
        messages,
    }
}

/// What both kinds of clients have in common.
pub(super) struct ClientContext {
    pub(super) abilities: ClientProfile,
    pub(super) principal: Principal,
    pub(super) line: Arc<NotificationSender>,
    pub(super) open: Arc<OpenQuestions>,
    pub(super) lacking: MissingCapability,
    /// Kept so that no other client takes its place in memory.
    pub(super) client: Arc<ClientState>,
}

impl ClientContext {
    fn identity(&self) -> Option<usize> {
        Some(Arc::as_ptr(&self.client) as usize)
    }
}

/// A client with a session.
pub(super) struct SessionClient {
    pub(super) known: ClientContext,
    pub(super) peer: Peer<RoleServer>,
    /// The request that waits for the call.
    pub(super) request: RequestId,
}

const fn method(kind: QuestionKind) -> &'static str {
    match kind {
        QuestionKind::Form | QuestionKind::Url => "elicitation/create",
        QuestionKind::Sampling => "sampling/createMessage",
    }
}

impl SessionClient {
    async fn ask_one(&self, question: &ClientQuestion) -> Result<Map<String, Value>, Fault> {
        self.send(method(question.kind()), Some(Value::Object(question.params().clone()))).await
    }

    async fn send(&self, method: &'static str, params: Option<Value>) -> Result<Map<String, Value>, Fault> {
        let mut request = CustomRequest::new(method, params);
        request.extensions.insert(OriginatingRequestId(self.request.clone()));
        let request = ServerRequest::CustomRequest(request);
        let sent = self.peer.send_request_with_option(request, PeerRequestOptions::no_options()).await;
        let handle = sent.map_err(|error| refused(&error))?;
        let mut waiting = CancelOnDrop { peer: &self.peer, id: handle.id.clone(), answered: false };
        let answer = handle.await_response().await;
        waiting.answered = true;
        match serde_json::to_value(answer.map_err(|error| refused(&error))?) {
            Ok(Value::Object(answer)) => Ok(answer),
            _ => Err(Fault::internal("The client's answer is no object.")),
        }
    }
}

/// A question without an answer yet. Where nobody waits for one any more, the client is told.
struct CancelOnDrop<'a> {
    peer: &'a Peer<RoleServer>,
    id: RequestId,
    answered: bool,
}

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        if self.answered {
            return;
        }
        let (peer, id) = (self.peer.clone(), self.id.clone());
        tokio::spawn(async move {
            let params = CancelledNotificationParam::new(Some(id), Some("The call is over.".into()));
            let _ = peer.send_notification(CancelledNotification::new(params).into()).await;
        });
    }
}

/// Why a client that said it can answer does not.
fn refused(error: &ServiceError) -> Fault {
    match error {
        ServiceError::McpError(error) if error.code == ErrorCode::METHOD_NOT_FOUND => {
            Fault::denied("The client does not know the question, though it says it does.")
                .hint("Call the tool from another client, or give it what it asks for as arguments.")
        }
        ServiceError::McpError(error) => {
            let why = quoted(&error.message, 500);
            Fault::denied(format!("The client refused the question: {why} ({})", error.code.0))
        }
        _ => {
            let mut fault =
                Fault::new(FaultKind::Unavailable, "The client went away before it answered the question.");
            fault.retryable = false;
            fault
        }
    }
}

#[async_trait]
impl CallingClient for SessionClient {
    fn profile(&self) -> ClientProfile {
        self.known.abilities.clone()
    }

    fn identity(&self) -> Option<usize> {
        self.known.identity()
    }

    fn approvals(&self) -> Option<&ApprovalStore> {
        Some(&self.known.client.approvals)
    }

    async fn ask(&self, questions: &[ClientQuestion]) -> Result<Vec<Map<String, Value>>, Fault> {
        let _open = self.known.open.begin(&self.known.principal)?;
        self.known.line.flush().await;
        let mut answers = Vec::new();
        let mut declined = false;
        for question in questions {
            let answer = if declined { question.declined_answer()? } else { self.ask_one(question).await? };
            declined |= answer.get("action").is_some_and(|action| action == "decline");
            answers.push(answer);
        }
        Ok(answers)
    }

    async fn roots(&self) -> Result<Vec<String>, Fault> {
        let _open = self.known.open.begin(&self.known.principal)?;
        self.known.line.flush().await;
        Ok(roots::parse_roots(&self.send(roots::METHOD, None).await?))
    }

    fn record_missing_capability(&self, kind: QuestionKind) {
        self.known.lacking.note(kind);
    }

    fn send_log_message(&self, level: MessageLevel, logger: &str, data: Value) {
        self.known.line.send_log(level, logger, data);
    }
}

/// Questions of a call on their way to the client's next request.
pub(super) struct PendingInput {
    pub(super) requests: InputRequests,
    pub(super) answer: oneshot::Sender<Vec<Map<String, Value>>>,
}

/// A client that repeats its request with the answers.
pub(super) struct RetryingClient {
    pub(super) known: ClientContext,
    pub(super) asked: mpsc::Sender<PendingInput>,
}

impl RetryingClient {
    async fn answers(&self, requests: InputRequests) -> Result<Vec<Map<String, Value>>, Fault> {
        let (answer, answered) = oneshot::channel();
        let gone = || Fault::new(FaultKind::TimedOut, "The client gave up the call before it answered.");
        self.asked.send(PendingInput { requests, answer }).await.map_err(|_| gone())?;
        answered.await.map_err(|_| gone())
    }
}

#[async_trait]
impl CallingClient for RetryingClient {
    fn profile(&self) -> ClientProfile {
        self.known.abilities.clone()
    }

    fn identity(&self) -> Option<usize> {
        self.known.identity()
    }

    fn approvals(&self) -> Option<&ApprovalStore> {
        Some(&self.known.client.approvals)
    }

    async fn ask(&self, questions: &[ClientQuestion]) -> Result<Vec<Map<String, Value>>, Fault> {
        let _open = self.known.open.begin(&self.known.principal)?;
        let mut requests = InputRequests::new();
        for (number, question) in questions.iter().enumerate() {
            let mut params = question.params().clone();
            // This version has no such id.
            params.remove("elicitationId");
            let request = json!({"method": method(question.kind()), "params": params});
            let request: InputRequest = serde_json::from_value(request).map_err(|error| {
                Fault::invalid(format!("The question is none that the protocol has: {error}."))
            })?;
            requests.insert((number + 1).to_string(), request);
        }
        self.answers(requests).await
    }

    async fn roots(&self) -> Result<Vec<String>, Fault> {
        let _open = self.known.open.begin(&self.known.principal)?;
        let answers = self.answers(roots::requests()?).await?;
        Ok(answers.first().map(roots::parse_roots).unwrap_or_default())
    }

    fn record_missing_capability(&self, kind: QuestionKind) {
        self.known.lacking.note(kind);
    }

    fn send_log_message(&self, level: MessageLevel, logger: &str, data: Value) {
        self.known.line.send_log(level, logger, data);
    }
}

#[cfg(test)]
mod tests;
