//! Requests from the host to a client during a call: elicitation, sampling and roots.
//!
//! With a session, they go to the stream of the client's request. Since 2026-07-28, they are the result of that
//! request; the client repeats it with the answers while the call is [paused](super::paused_calls).

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

/// Maximum calls that wait for answers. Each holds one of the 64 instances that a gate has by default.
pub(super) const MAX_OPEN_QUESTIONS: usize = 48;
pub(super) const MAX_OPEN_QUESTIONS_PER_PRINCIPAL: usize = 16;

#[derive(Default)]
pub(super) struct OpenQuestions(Mutex<HashMap<Principal, usize>>);

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
                "too many calls wait for answers; the limit is {MAX_OPEN_QUESTIONS_PER_PRINCIPAL} per client and \
                {MAX_OPEN_QUESTIONS} in total"
            );
            return Err(Fault::exhausted(why).hint("Answer the open questions, then call again."));
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

/// Returns what the client declared. `messages` is its minimum log level.
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
        // Clients without URL elicitation always support forms.
        forms: elicitation.is_some_and(|can| can.form.is_some() || can.url.is_none()),
        urls,
        sampling: can.sampling.is_some(),
        roots: can.roots.is_some(),
        messages,
    }
}

pub(super) struct ClientContext {
    pub(super) abilities: ClientProfile,
    pub(super) principal: Principal,
    pub(super) line: Arc<NotificationSender>,
    pub(super) open: Arc<OpenQuestions>,
    pub(super) lacking: MissingCapability,
    /// Kept alive because its address is the client's identity.
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
            _ => Err(Fault::internal("the client's answer is not a JSON object")),
        }
    }
}

/// An unanswered request to the client. Dropping it sends a cancellation.
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
            let params = CancelledNotificationParam::new(Some(id), Some("the call ended".into()));
            let _ = peer.send_notification(CancelledNotification::new(params).into()).await;
        });
    }
}

/// Returns the fault of a client that declared a capability but did not answer.
fn refused(error: &ServiceError) -> Fault {
    match error {
        ServiceError::McpError(error) if error.code == ErrorCode::METHOD_NOT_FOUND => {
            Fault::denied("the client does not support this question, although it declares that it does")
                .hint("Use another client, or pass the requested values as arguments.")
        }
        ServiceError::McpError(error) => {
            let why = quoted(&error.message, 500);
            Fault::denied(format!("the client refused the question: {why} ({})", error.code.0))
        }
        _ => {
            let mut fault =
                Fault::new(FaultKind::Unavailable, "the client disconnected before it answered the question");
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
        let gone = || Fault::new(FaultKind::TimedOut, "the client cancelled the call before it answered");
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
            // 2026-07-28 removed this ID.
            params.remove("elicitationId");
            let request = json!({"method": method(question.kind()), "params": params});
            let request: InputRequest = serde_json::from_value(request).map_err(|error| {
                Fault::invalid(format!("invalid elicitation or sampling request: {error}"))
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
