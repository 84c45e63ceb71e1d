//! What a gate or a server asks the client while it runs a call: a form or an address for the person in front of it, or
//! something for its model. Every question says who asks, and every answer is checked before whoever asked gets it.

mod checks;

use std::{fmt, sync::Arc, time::Duration};

use serde_json::{Map, Value, json};
use tokio::time::Instant;

use crate::{
    call::CallContext,
    clean, json as bounds, names,
    outcome::{Fault, FaultKind},
    pipeline::approval_form,
    ports::client::{Abilities, MessageLevel},
    schema::Schema,
    tool::SourceId,
};

/// The most characters of what a person is told: a screen, not a document.
pub const MAX_MESSAGE: usize = 4_000;

/// The most bytes of a form as JSON text, and the most fields in it: more than anybody fills in.
pub const MAX_FORM: usize = 16 << 10;
/// See [`MAX_FORM`].
pub const MAX_FIELDS: usize = 32;

/// The most bytes of an address that a person is shown, which is shown whole.
pub const MAX_URL: usize = 2_048;

/// The most bytes of a question to the client's model, and of its answer.
pub const MAX_SAMPLING: usize = 1 << 20;

/// The most bytes of a form that is filled in.
pub const MAX_ANSWER: usize = 64 << 10;

/// The most questions at once.
pub const MAX_TOGETHER: usize = 8;

/// The most bytes of a message to the client.
pub const MAX_TOLD: usize = 16 << 10;

/// The longest that a client may take to say in which directories it works.
const MAX_ROOTS_WAIT: Duration = Duration::from_secs(30);

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuestionKind {
    /// A form to fill in.
    Form,
    /// An address to open.
    Url,
    /// Something of the client's model.
    Sampling,
}

impl QuestionKind {
    /// The capability of the protocol that a client has to declare.
    const fn capability(self) -> &'static str {
        match self {
            Self::Form => "elicitation.form",
            Self::Url => "elicitation.url",
            Self::Sampling => "sampling",
        }
    }

    const fn within(self, abilities: &Abilities) -> bool {
        match self {
            Self::Form => abilities.forms,
            Self::Url => abilities.urls,
            Self::Sampling => abilities.sampling,
        }
    }
}

impl fmt::Display for QuestionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Form => "show a person a form",
            Self::Url => "show a person an address to open",
            Self::Sampling => "have its model asked",
        })
    }
}

/// One question, checked.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    kind: QuestionKind,
    params: Map<String, Value>,
}

impl Question {
    /// A form for the person: what it is about, and a JSON Schema with an object of plain fields.
    pub fn form(asker: &SourceId, message: &str, schema: Map<String, Value>) -> Result<Self, Fault> {
        let params = json!({"mode": "form", "message": message, "requestedSchema": schema});
        Self::elicitation(asker, object(params))
    }

    /// An address for the person to open; `id` tells it from others.
    pub fn url(asker: &SourceId, message: &str, url: &str, id: &str) -> Result<Self, Fault> {
        let params = json!({"mode": "url", "message": message, "url": url, "elicitationId": id});
        Self::elicitation(asker, object(params))
    }

    /// What `elicitation/create` carries, in whoever's words.
    pub fn elicitation(asker: &SourceId, mut params: Map<String, Value>) -> Result<Self, Fault> {
        let refused =
            |why: String| Fault::invalid(format!("{} asks what cannot be passed on: {why}.", start(asker)));
        let message = params.get("message").and_then(Value::as_str).unwrap_or_default();
        let mut message = message.to_owned();
        clean::text(&mut message);
        if message.trim().is_empty() || message.chars().count() > MAX_MESSAGE {
            return Err(refused(format!("its message has to have 1 to {MAX_MESSAGE} characters")));
        }
        params.insert("message".into(), format!("{} asks: {}", start(asker), message.trim()).into());
        params.remove("_meta");
        let kind = match params.get("mode").and_then(Value::as_str) {
            None | Some("form") => {
                let form = params.get_mut("requestedSchema").and_then(Value::as_object_mut);
                let form = form.ok_or_else(|| refused("it has no form".into()))?;
                checks::form(form).map_err(refused)?;
                clean::values(form);
                params.insert("mode".into(), "form".into());
                QuestionKind::Form
            }
            Some("url") => {
                let url = params.get("url").and_then(Value::as_str).unwrap_or_default();
                checks::url(url).map_err(refused)?;
                QuestionKind::Url
            }
            Some(other) => {
                return Err(refused(format!("'{}' is no way to ask", names::quoted(other, 32))));
            }
        };
        Ok(Self { kind, params })
    }

    /// What `sampling/createMessage` carries, in whoever's words.
    pub fn sampling(asker: &SourceId, mut params: Map<String, Value>) -> Result<Self, Fault> {
        params.remove("_meta");
        let size = bounds::length(&params);
        if size > MAX_SAMPLING {
            return Err(Fault::exhausted(format!(
                "{} may ask the client's model {MAX_SAMPLING} bytes; this is {size}.",
                start(asker)
            )));
        }
        Ok(Self { kind: QuestionKind::Sampling, params })
    }

    /// Whether a call may run. The host asks that, in nobody's name.
    pub(crate) fn approval(message: &str) -> Result<Self, Fault> {
        let mut message = message.to_owned();
        clean::text(&mut message);
        if message.chars().count() > MAX_MESSAGE {
            return Err(Fault::internal("The question for an approval is too long."));
        }
        let params = json!({"mode": "form", "message": message, "requestedSchema": approval_form()});
        Ok(Self { kind: QuestionKind::Form, params: object(params) })
    }

    /// What is asked for.
    pub fn kind(&self) -> QuestionKind {
        self.kind
    }

    /// As the protocol has it.
    pub fn params(&self) -> &Map<String, Value> {
        &self.params
    }

    /// Passes an answer that fits. What was declined or cancelled says nothing else.
    fn checked(&self, mut answer: Map<String, Value>) -> Result<Map<String, Value>, Fault> {
        let unfit = |why: String| {
            Fault::invalid(format!("What the client answered does not fit the question: {why}"))
                .hint("Call the tool again, and answer as it is asked.")
        };
        let size = bounds::length(&answer);
        if self.kind == QuestionKind::Sampling {
            let fits = size <= MAX_SAMPLING && answer.contains_key("content");
            return if fits { Ok(answer) } else { Err(unfit("it has no content, or too much.".into())) };
        }
        if size > MAX_ANSWER {
            return Err(unfit(format!("it has {size} bytes, the most is {MAX_ANSWER}.")));
        }
        match answer.get("action").and_then(Value::as_str) {
            Some("accept") if self.kind == QuestionKind::Form => {
                let content = answer.entry("content").or_insert_with(|| json!({}));
                let form = self.params.get("requestedSchema").cloned().unwrap_or_default();
                Schema::new(Arc::new(object(form))).check(content, "field").map_err(unfit)?;
            }
            Some("accept" | "decline" | "cancel") => {
                answer.remove("content");
            }
            _ => return Err(unfit("'action' is accept, decline or cancel.".into())),
        }
        Ok(answer)
    }
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        _ => Map::new(),
    }
}

/// Whoever asks, at the start of a sentence.
fn start(asker: &SourceId) -> String {
    let (kind, name) = match asker {
        SourceId::Gate(name) => ("Gate", name),
        SourceId::Server(name) => ("Server", name),
    };
    format!("{kind} '{name}'")
}

impl CallContext {
    /// Asks the client of this call, and gives an answer to each question in their order. The time of the call stands still
    /// meanwhile. `denied` where the client cannot be asked that, `timed-out` where nobody answers.
    pub async fn ask_client(&self, questions: &[Question]) -> Result<Vec<Map<String, Value>>, Fault> {
        if questions.is_empty() || questions.len() > MAX_TOGETHER {
            return Err(Fault::invalid(format!("1 to {MAX_TOGETHER} questions can be asked at once.")));
        }
        let abilities = self.client.abilities();
        if let Some(question) = questions.iter().find(|question| !question.kind.within(&abilities)) {
            self.client.lacks(question.kind);
            return Err(cannot(&abilities, question.kind));
        }
        let pause = self.time.pause().ok_or_else(|| nobody_answers(&self.name))?;
        let asked = tokio::time::timeout_at(pause.until, self.client.ask(questions)).await;
        let answers = asked.unwrap_or_else(|_| Err(nobody_answers(&self.name)))?;
        drop(pause);
        if answers.len() != questions.len() {
            return Err(Fault::internal("The client answered another number of questions."));
        }
        questions.iter().zip(answers).map(|(question, answer)| question.checked(answer)).collect()
    }

    /// Asks the client for the directories that it works in, while the deadline stands still. Empty if it does not say.
    pub async fn client_roots(&self) -> Result<Vec<String>, Fault> {
        if !self.client.abilities().roots {
            return Ok(Vec::new());
        }
        let pause = self.time.pause().ok_or_else(|| nobody_answers(&self.name))?;
        let until = pause.until.min(Instant::now() + MAX_ROOTS_WAIT);
        let asked = tokio::time::timeout_at(until, self.client.roots()).await;
        asked.unwrap_or_else(|_| {
            Err(Fault::unavailable("The client did not say which directories it works in."))
        })
    }

    /// Tells the client something, in the name of a gate or server, where it wants to hear of it.
    pub fn tell_client(&self, level: MessageLevel, teller: &SourceId, data: Value) {
        let wanted = self.client.abilities().messages.is_some_and(|least| level >= least);
        if wanted && bounds::length(&data) <= MAX_TOLD {
            self.client.tell(level, teller.name(), data);
        }
    }
}

fn cannot(abilities: &Abilities, kind: QuestionKind) -> Fault {
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

fn nobody_answers(tool: &str) -> Fault {
    let minutes = crate::call_time::MAX_PAUSE.as_secs() / 60;
    let tool = names::quoted(tool, 64);
    Fault::new(
        FaultKind::TimedOut,
        format!("'{tool}' asked a question that nobody answered in {minutes} min."),
    )
    .hint("Call the tool again when somebody is there to answer.")
}

#[cfg(test)]
mod tests;
