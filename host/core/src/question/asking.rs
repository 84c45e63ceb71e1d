//! Asks the client of a call, and holds servers to a number of questions: they need no grant, so a call of one of their tools
//! must not become a flood of forms, or of requests to a model that its owner pays for.

use std::{
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use serde_json::{Map, Value};
use tokio::{
    sync::MutexGuard,
    time::{Instant, timeout_at},
};

use super::{
    ClientQuestion, MAX_CLIENT_MESSAGE_BYTES, MAX_QUESTIONS_AT_ONCE, MAX_QUESTIONS_PER_CALL, QuestionKind,
    sentence_subject,
};
use crate::{
    call::CallContext,
    hidden_chars, json as bounds, lock, names,
    outcome::{Fault, FaultKind},
    ports::client::{ClientProfile, MessageLevel},
    tool::SourceId,
};

/// The longest that a client may take to say in which directories it works.
const MAX_ROOTS_WAIT: Duration = Duration::from_secs(30);

/// Questions that the server of one call has asked.
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
        for (count, more, whom) in
            [(&self.to_model, models, "the client's model"), (&self.to_user, users, "the user")]
        {
            let add = |count: u32| count.checked_add(more).filter(|count| *count <= MAX_QUESTIONS_PER_CALL);
            if more > 0 && count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add).is_err() {
                let server = sentence_subject(server);
                return Err(Fault::exhausted(format!(
                    "{server} may ask {whom} {MAX_QUESTIONS_PER_CALL} times in one call."
                )));
            }
        }
        Ok(())
    }
}

impl CallContext {
    /// Asks the client of this call, and gives an answer to each question in their order. The time of the call stands still
    /// meanwhile. `denied` where the client cannot be asked that, `timed-out` where nobody answers.
    pub async fn ask_client(&self, questions: &[ClientQuestion]) -> Result<Vec<Map<String, Value>>, Fault> {
        if questions.is_empty() || questions.len() > MAX_QUESTIONS_AT_ONCE {
            return Err(Fault::invalid(format!(
                "1 to {MAX_QUESTIONS_AT_ONCE} questions can be asked at once."
            )));
        }
        let abilities = self.client.profile();
        if let Some(question) = questions.iter().find(|question| !question.kind.is_supported(&abilities)) {
            self.client.record_missing_capability(question.kind);
            return Err(unsupported_fault(&abilities, question.kind));
        }
        let server = questions.iter().find_map(ClientQuestion::server);
        let _turn = match server {
            Some(server) => self.admit_questions(server, questions).await?,
            None => None,
        };
        let pause = self.time.pause().ok_or_else(|| unanswered_fault(&self.name))?;
        let asked = timeout_at(pause.until, self.client.ask(questions)).await;
        let answers = asked.unwrap_or_else(|_| Err(unanswered_fault(&self.name)));
        drop(pause);
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
            return Err(Fault::internal("The client answered another number of questions."));
        }
        questions.iter().zip(answers).map(|(question, answer)| question.check_answer(answer)).collect()
    }

    /// Passes questions of a server within its limits. Those to the user wait for their turn, so that none is open when an
    /// earlier one is declined.
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

    /// Asks the client for the directories that it works in, while the deadline stands still. Empty if it does not say.
    pub async fn client_roots(&self) -> Result<Vec<String>, Fault> {
        if !self.client.profile().roots {
            return Ok(Vec::new());
        }
        let pause = self.time.pause().ok_or_else(|| unanswered_fault(&self.name))?;
        let until = pause.until.min(Instant::now() + MAX_ROOTS_WAIT);
        let asked = timeout_at(until, self.client.roots()).await;
        asked.unwrap_or_else(|_| {
            Err(Fault::unavailable("The client did not say which directories it works in."))
        })
    }

    /// Tells the client something, in the name of a gate or server, where it wants to hear of it.
    pub fn notify_client(&self, level: MessageLevel, teller: &SourceId, mut data: Value) {
        let wanted = self.client.profile().messages.is_some_and(|least| level >= least);
        if wanted && bounds::encoded_len(&data) <= MAX_CLIENT_MESSAGE_BYTES {
            hidden_chars::strip_value(&mut data);
            self.client.send_log_message(level, teller.name(), data);
        }
    }
}

impl ClientQuestion {
    fn server(&self) -> Option<&SourceId> {
        self.asker.as_ref().filter(|asker| matches!(asker, SourceId::Server(_)))
    }
}

/// Returns the fault of a question that comes after one that was declined.
pub(super) fn declined_fault(asker: &SourceId) -> Fault {
    let asker = sentence_subject(asker);
    Fault::denied(format!("{asker} asked in this call and was declined, so it may ask nothing more in it."))
        .hint("Ask the user what to do instead.")
}

fn unsupported_fault(abilities: &ClientProfile, kind: QuestionKind) -> Fault {
    let client = match (abilities.protocol.is_empty(), abilities.name.is_empty()) {
        (true, _) => "Whoever made this call is no MCP client and".to_owned(),
        (false, true) => "The client".to_owned(),
        (false, false) => format!("The client '{}'", names::quoted(&abilities.name, 64)),
    };
    Fault::denied(format!("{client} cannot {kind}.")).hint(format!(
        "Call the tool from a client that declares the capability {}, or give it what it asks for as arguments.",
        kind.capability()
    ))
}

fn unanswered_fault(tool: &str) -> Fault {
    let minutes = crate::call_time::MAX_PAUSE.as_secs() / 60;
    let tool = names::quoted(tool, 64);
    Fault::new(
        FaultKind::TimedOut,
        format!("'{tool}' asked a question that nobody answered in {minutes} min."),
    )
    .hint("Call the tool again when somebody is there to answer.")
}
