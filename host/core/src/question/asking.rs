//! Asks the client of a call, with limits for servers.
//!
//! Servers need no grant to ask, so the limits protect against a flood of forms or of paid model requests.

use std::{
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use serde_json::{Map, Value};
use tokio::{
    sync::{MutexGuard, Semaphore},
    time::{Instant, timeout_at},
};

use super::{
    ClientQuestion, MAX_CLIENT_MESSAGE_BYTES, MAX_QUESTIONS_AT_ONCE, MAX_QUESTIONS_PER_CALL, QuestionKind,
    sentence_subject,
};
use crate::{
    CallContext, Fault, FaultKind, SourceId, hidden_chars, json, lock, names,
    ports::client::{ClientProfile, ClientRoot, MessageLevel},
};

/// Maximum time for a client to list its working directories.
const MAX_ROOTS_WAIT: Duration = Duration::from_secs(30);

/// Number of questions that the server of one call has asked.
#[derive(Debug, Default)]
pub(crate) struct QuestionCount {
    to_model: AtomicU32,
    to_user: AtomicU32,
}

impl QuestionCount {
    fn add(&self, server: &SourceId, questions: &[ClientQuestion]) -> Result<(), Fault> {
        let to_model = |question: &&ClientQuestion| question.kind == QuestionKind::Sampling;
        let models = questions.iter().filter(to_model).count() as u32;
        let users = questions.len() as u32 - models;
        for (count, more, recipient) in
            [(&self.to_model, models, "the client's model"), (&self.to_user, users, "the user")]
        {
            let add = |count: u32| count.checked_add(more).filter(|count| *count <= MAX_QUESTIONS_PER_CALL);
            if more > 0 && count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add).is_err() {
                let server = sentence_subject(server);
                return Err(Fault::exhausted(format!(
                    "{server} may ask {recipient} at most {MAX_QUESTIONS_PER_CALL} times in one call"
                )));
            }
        }
        Ok(())
    }
}

/// Maximum gates that wait for tasks of servers, of all clients. A gate has 64 instances by default.
const MAX_WAITING_GATES: usize = 16;

static WAITING_GATES: Semaphore = Semaphore::const_new(MAX_WAITING_GATES);

impl CallContext {
    /// Asks the client, and returns an answer per question, in order. Pauses the call's deadline.
    ///
    /// # Errors
    ///
    /// `denied` if the client does not support the question, `timed-out` if no answer arrives in time, and `exhausted`
    /// if a server has asked too often.
    pub async fn ask_client(&self, questions: &[ClientQuestion]) -> Result<Vec<Map<String, Value>>, Fault> {
        if questions.is_empty() || questions.len() > MAX_QUESTIONS_AT_ONCE {
            return Err(Fault::invalid(format!("expected 1 to {MAX_QUESTIONS_AT_ONCE} questions")));
        }
        let profile = self.client.profile();
        if let Some(question) = questions.iter().find(|question| !question.kind.is_supported(&profile)) {
            self.client.record_missing_capability(question.kind);
            return Err(unsupported_fault(&profile, question.kind));
        }
        let server = questions.iter().find_map(ClientQuestion::server);
        let _turn = match server {
            Some(server) => self.admit_questions(server, questions).await?,
            None => None,
        };
        let pause = self.time.pause().ok_or_else(|| unanswered_fault(&self.name))?;
        let until = pause.until;
        let request = async {
            let result = timeout_at(until, self.client.ask(questions)).await;
            drop(pause);
            result
        };
        let answers = self.without_turns(request).await.unwrap_or_else(|_| Err(unanswered_fault(&self.name)));
        let declined = match &answers {
            Ok(answers) => {
                answers.iter().any(|answer| answer.get("action").is_some_and(|it| it == "decline"))
            }
            Err(fault) => fault.kind == FaultKind::Denied,
        };
        if let (true, Some(server)) = (declined, server) {
            lock(&self.call_tree.declined_servers).push(server.clone());
        }
        let answers = answers?;
        if answers.len() != questions.len() {
            return Err(Fault::internal(
                "the client's number of answers differs from the number of questions",
            ));
        }
        questions.iter().zip(answers).map(|(question, answer)| question.check_answer(answer)).collect()
    }

    /// Waits for something that a user does elsewhere, and pauses the deadline.
    ///
    /// # Errors
    ///
    /// `timed-out` if it is not done in time.
    pub async fn wait_for_user<T>(&self, done: impl Future<Output = T>) -> Result<T, Fault> {
        let pause = self.time.pause().ok_or_else(|| unanswered_fault(&self.name))?;
        let done = timeout_at(pause.until, done);
        self.without_turns(done).await.map_err(|_| unanswered_fault(&self.name))
    }

    /// Waits for the task of a server. The deadline pauses for at most `limit` if the client follows this call as a task;
    /// otherwise the call keeps its deadline.
    ///
    /// # Errors
    ///
    /// `timed-out` after `limit`.
    pub async fn wait_for_task<T>(&self, limit: Duration, done: impl Future<Output = T>) -> Result<T, Fault> {
        // A gate that waits keeps its instance, which others need too. Calls without a gate need no place.
        let place = (!self.enclosing_sources.is_empty()).then(|| WAITING_GATES.try_acquire());
        let pause = match &place {
            Some(Err(_)) => None,
            _ if self.client.begin_task() => self.time.pause_for_task(limit),
            _ => None,
        };
        let Some(pause) = pause else { return Ok(done.await) };
        timeout_at(pause.until, done).await.map_err(|_| {
            let (tool, minutes) = (names::quoted(&self.name, 64), limit.as_secs().div_ceil(60));
            Fault::new(FaultKind::TimedOut, format!("the task of '{tool}' did not end within {minutes} min"))
        })
    }

    /// Checks the limits of a server's questions. `None` for questions to the model only.
    ///
    /// Questions to the user wait for the returned lock, so a declined question prevents the next one.
    async fn admit_questions(
        &self,
        server: &SourceId,
        questions: &[ClientQuestion],
    ) -> Result<Option<MutexGuard<'_, ()>>, Fault> {
        let to_user = questions.iter().any(|question| question.kind != QuestionKind::Sampling);
        let turn = if to_user { Some(self.call_tree.question_lock.lock().await) } else { None };
        if lock(&self.call_tree.declined_servers).contains(server) {
            return Err(declined_fault(server));
        }
        self.questions.add(server, questions)?;
        Ok(turn)
    }

    /// Asks for the client's working directories, and pauses the deadline. Empty if the client does not list any.
    pub async fn client_roots(&self) -> Result<Vec<ClientRoot>, Fault> {
        if !self.client.profile().features.roots {
            return Ok(Vec::new());
        }
        let pause = self.time.pause().ok_or_else(|| unanswered_fault(&self.name))?;
        let until = pause.until.min(Instant::now() + MAX_ROOTS_WAIT);
        let roots = timeout_at(until, self.client.roots()).await;
        roots.unwrap_or_else(|_| Err(Fault::unavailable("the client did not list its roots in time")))
    }

    /// Sends a log message in the name of a gate or server if the client wants its level.
    pub fn notify_client(&self, level: MessageLevel, logger: &str, data: Value) {
        let is_enabled = self.client.profile().messages.is_some_and(|least| level >= least);
        if let Some(data) = message_data(data).filter(|_| is_enabled) {
            self.client.send_log_message(level, logger, data);
        }
    }
}

/// Returns the data of a log message without hidden characters. `None` if it is too large.
pub fn message_data(mut data: Value) -> Option<Value> {
    if json::encoded_len(&data) > MAX_CLIENT_MESSAGE_BYTES {
        return None;
    }
    hidden_chars::strip_value(&mut data);
    Some(data)
}

impl ClientQuestion {
    fn server(&self) -> Option<&SourceId> {
        self.asker.as_ref().filter(|asker| matches!(asker, SourceId::Server(_)))
    }
}

pub(super) fn declined_fault(asker: &SourceId) -> Fault {
    let asker = sentence_subject(asker);
    Fault::denied(format!("{asker} asked a question that was declined, so it may not ask again in this call"))
        .hint("Ask the user what to do instead.")
}

fn unsupported_fault(profile: &ClientProfile, kind: QuestionKind) -> Fault {
    let client = match (profile.protocol.is_empty(), profile.name.is_empty()) {
        (true, _) => "the caller is not an MCP client and".to_owned(),
        (false, true) => "the client".to_owned(),
        (false, false) => format!("the client '{}'", names::quoted(&profile.name, 64)),
    };
    Fault::denied(format!("{client} cannot {kind}")).hint(format!(
        "Call the tool from a client with the capability {}, or pass the answer as arguments.",
        kind.capability()
    ))
}

fn unanswered_fault(tool: &str) -> Fault {
    let minutes = crate::call_time::MAX_PAUSE.as_secs() / 60;
    let tool = names::quoted(tool, 64);
    Fault::new(
        FaultKind::TimedOut,
        format!("'{tool}' asked a question, and no answer arrived within {minutes} min"),
    )
    .hint("Retry when a user can answer.")
}
