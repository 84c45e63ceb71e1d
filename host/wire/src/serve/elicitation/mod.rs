//! Requests from the host to a client during a call: elicitation, sampling and roots.
//!
//! With a session, they go to the stream of the client's request. Since 2026-07-28, they are the result of that
//! request; the client repeats it with the answers while the call is [paused](crate::serve::requests::paused_calls).

mod open_questions;
mod roots_copy;

use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use gatehouse_core::{
    Fault, Principal,
    approval::ApprovalStore,
    names::quoted,
    outcome::FaultKind,
    ports::client::{CallingClient, ClientProfile, ClientRoot, MAX_ROOTS, MessageLevel},
    question::{ClientQuestion, QuestionKind},
};
use rmcp::{
    RoleServer,
    model::{CustomRequest, ErrorCode, InputRequest, InputRequests, RequestId, ServerRequest},
    service::{OriginatingRequestId, Peer, PeerRequestOptions, RequestContext, ServiceError},
};
use serde_json::{Map, Value, json};
use tokio::{
    sync::{mpsc, oneshot},
    task::JoinSet,
};

use crate::{
    connected_clients::features,
    peer_requests::await_answer,
    serve::{
        lists::clients::ClientState,
        requests::{notifications::NotificationSender, tasks::terms::TaskSwitch},
    },
};

pub(crate) use open_questions::{OpenQuestions, QuestionOwner};
pub(crate) use roots_copy::RootsCopy;

const ROOTS_METHOD: &str = "roots/list";

/// Returns what the client declared. `messages` is its minimum log level.
pub(crate) fn client_profile(
    context: &RequestContext<RoleServer>,
    messages: Option<MessageLevel>,
) -> ClientProfile {
    let capabilities = context.client_capabilities().unwrap_or_default();
    let info = context.client_info();
    let (name, version) = info.map(|info| (info.name, info.version)).unwrap_or_default();
    ClientProfile {
        name,
        version,
        protocol: context.protocol_version().map(|version| version.as_str().to_owned()).unwrap_or_default(),
        features: features(&capabilities),
        messages,
    }
}

pub(crate) struct ClientContext {
    pub(crate) profile: ClientProfile,
    pub(crate) principal: Principal,
    pub(crate) notifications: Arc<NotificationSender>,
    /// Calls of all presets that wait for answers.
    pub(crate) open: Arc<OpenQuestions>,
    /// First question of the call for which the client lacks the capability.
    pub(crate) missing_capability: Arc<OnceLock<QuestionKind>>,
    /// Kept alive because its address is the client's identity.
    pub(crate) client: Arc<ClientState>,
    pub(crate) channel: QuestionChannel,
    /// `None` if the call cannot become a task.
    pub(crate) task_switch: Option<Arc<TaskSwitch>>,
}

impl ClientContext {
    /// Waits for an answer of the client. Fails if the client has left, or too many questions are open.
    async fn wait_for_answer<T>(&self, answer: impl Future<Output = Result<T, Fault>>) -> Result<T, Fault> {
        let owner = match &self.channel {
            QuestionChannel::Session(_) => QuestionOwner::Session(Arc::as_ptr(&self.client) as usize),
            QuestionChannel::Retry(_) => {
                QuestionOwner::Client(self.principal.clone(), self.profile.name.clone())
            }
        };
        let has_left = self.client.has_left();
        self.open
            .wait(owner, async {
                tokio::select! {
                    biased;
                    answer = answer => answer,
                    () = has_left => Err(disconnected_fault()),
                }
            })
            .await
    }
}

pub(crate) enum QuestionChannel {
    Session(SessionChannel),
    Retry(RetryChannel),
}

#[async_trait]
impl CallingClient for ClientContext {
    fn profile(&self) -> ClientProfile {
        self.profile.clone()
    }

    fn identity(&self) -> Option<usize> {
        Some(Arc::as_ptr(&self.client) as usize)
    }

    fn approvals(&self) -> Option<&ApprovalStore> {
        Some(&self.client.approvals)
    }

    async fn ask(&self, questions: &[ClientQuestion]) -> Result<Vec<Map<String, Value>>, Fault> {
        self.wait_for_answer(async {
            match &self.channel {
                QuestionChannel::Session(session) => {
                    self.notifications.flush().await;
                    session.ask(questions).await
                }
                QuestionChannel::Retry(retry) => retry.ask(questions).await,
            }
        })
        .await
    }

    async fn roots(&self) -> Result<Vec<ClientRoot>, Fault> {
        match &self.channel {
            QuestionChannel::Session(session) => {
                let ask = self.wait_for_answer(async {
                    self.notifications.flush().await;
                    Ok(parse_roots(&session.send(ROOTS_METHOD, None).await?))
                });
                self.client.roots.get(ask).await
            }
            QuestionChannel::Retry(retry) => self.wait_for_answer(retry.roots()).await,
        }
    }

    fn begin_task(&self) -> bool {
        self.task_switch.as_ref().is_some_and(|switch| switch.begin())
    }

    fn record_missing_capability(&self, kind: QuestionKind) {
        let _ = self.missing_capability.set(kind);
    }

    fn send_log_message(&self, level: MessageLevel, logger: &str, data: Value) {
        self.notifications.send_log(level, logger, data);
    }
}

/// Channel to a client with a session.
pub(crate) struct SessionChannel {
    pub(crate) peer: Peer<RoleServer>,
    pub(crate) request: RequestId,
}

impl SessionChannel {
    async fn ask(&self, questions: &[ClientQuestion]) -> Result<Vec<Map<String, Value>>, Fault> {
        let mut answers = Vec::new();
        let mut declined = false;
        for question in questions {
            let answer = if declined {
                question.declined_answer()?
            } else {
                let params = Value::Object(question.params().clone());
                self.send(method(question.kind()), Some(params)).await?
            };
            declined |= answer.get("action").is_some_and(|action| action == "decline");
            answers.push(answer);
        }
        Ok(answers)
    }

    async fn send(&self, method: &'static str, params: Option<Value>) -> Result<Map<String, Value>, Fault> {
        let mut request = CustomRequest::new(method, params);
        request.extensions.insert(OriginatingRequestId(self.request.clone()));
        let request = ServerRequest::CustomRequest(request);
        let peer = self.peer.clone();
        // rmcp replaces the extension by the request that this task handles, which may be a server's question. A new task
        // handles none. Dropping the set cancels the request.
        let mut sending = JoinSet::new();
        sending.spawn(async move {
            let handle = peer.send_request_with_option(request, PeerRequestOptions::no_options()).await?;
            await_answer(handle, "the call ended").await
        });
        let answer = sending.join_next().await.and_then(Result::ok);
        let answer = answer.ok_or_else(|| Fault::internal("the question to the client was cut short"))?;
        match serde_json::to_value(answer.map_err(|error| client_fault(&error))?) {
            Ok(Value::Object(answer)) => Ok(answer),
            _ => Err(Fault::internal("the client's answer is not a JSON object")),
        }
    }
}

/// Returns the fault of a client that declared a capability but did not answer.
fn client_fault(error: &ServiceError) -> Fault {
    match error {
        ServiceError::McpError(error) if error.code == ErrorCode::METHOD_NOT_FOUND => {
            Fault::denied("the client does not support this question, although it declares that it does")
                .hint("Use another client, or pass the requested values as arguments.")
        }
        ServiceError::McpError(error) => {
            let reason = quoted(&error.message, 500);
            Fault::denied(format!("the client refused the question: {reason} ({})", error.code.0))
        }
        _ => disconnected_fault(),
    }
}

fn disconnected_fault() -> Fault {
    let fault = Fault::unavailable("the client disconnected before it answered the question");
    Fault { retryable: false, ..fault }
}

/// Channel to a client that repeats its request with the answers.
pub(crate) struct RetryChannel(pub(crate) mpsc::Sender<PendingInput>);

pub(crate) struct PendingInput {
    pub(crate) requests: InputRequests,
    pub(crate) answer: oneshot::Sender<Vec<Map<String, Value>>>,
}

impl RetryChannel {
    async fn ask(&self, questions: &[ClientQuestion]) -> Result<Vec<Map<String, Value>>, Fault> {
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
        self.send(requests).await
    }

    async fn roots(&self) -> Result<Vec<ClientRoot>, Fault> {
        let request: InputRequest = serde_json::from_value(json!({"method": ROOTS_METHOD}))
            .map_err(|error| Fault::internal(format!("cannot ask the client for its roots: {error}")))?;
        let mut requests = InputRequests::new();
        requests.insert("roots".to_owned(), request);
        Ok(self.send(requests).await?.first().map(parse_roots).unwrap_or_default())
    }

    async fn send(&self, requests: InputRequests) -> Result<Vec<Map<String, Value>>, Fault> {
        let (answer, answered) = oneshot::channel();
        let cancellation =
            || Fault::new(FaultKind::TimedOut, "the client cancelled the call before it answered");
        self.0.send(PendingInput { requests, answer }).await.map_err(|_| cancellation())?;
        answered.await.map_err(|_| cancellation())
    }
}

const fn method(kind: QuestionKind) -> &'static str {
    match kind {
        QuestionKind::Form | QuestionKind::Url => "elicitation/create",
        QuestionKind::Sampling => "sampling/createMessage",
    }
}

fn parse_roots(answer: &Map<String, Value>) -> Vec<ClientRoot> {
    let roots = answer.get("roots").and_then(Value::as_array).into_iter().flatten();
    let text = |root: &Value, key: &str| Some(root.get(key)?.as_str()?.to_owned());
    let root = |root| Some(ClientRoot { uri: text(root, "uri")?, name: text(root, "name") });
    roots.filter_map(root).take(MAX_ROOTS).collect()
}

#[cfg(test)]
mod tests;
