//! What a gate or a server asks the client while it runs a call: a form or an address for the person in front of it, or
//! something for its model. Every question says who asks, and every answer is checked before whoever asked gets it.

mod asking;
mod checks;
mod sampling;

use std::{fmt, sync::Arc};

use serde_json::{Map, Value, json};

pub(crate) use asking::QuestionCount;

use crate::{
    clean, json as bounds, names, outcome::Fault, pipeline::approval_form, ports::client::ClientProfile,
    schema::Schema, tool::SourceId,
};

/// The most characters of what a person is told: a screen, not a document.
pub const MAX_MESSAGE_CHARS: usize = 4_000;

/// The most bytes of a form as JSON text, and the most fields in it: more than anybody fills in.
pub const MAX_FORM_BYTES: usize = 16 << 10;
/// See [`MAX_FORM_BYTES`].
pub const MAX_FORM_FIELDS: usize = 32;

/// The most bytes of an address that a person is shown, which is shown whole.
pub const MAX_URL_BYTES: usize = 2_048;

/// The most bytes of a question to the client's model, and of its answer.
pub const MAX_SAMPLING_BYTES: usize = 1 << 20;

/// The most bytes of a form that is filled in.
pub const MAX_ANSWER_BYTES: usize = 64 << 10;

/// The most questions at once.
pub const MAX_QUESTIONS_AT_ONCE: usize = 8;

/// Maximum questions of one call to a model, and to a user: the default of `limits.model_calls` for gates, and fixed for
/// servers.
pub const MAX_QUESTIONS_PER_CALL: u32 = 16;

/// The most bytes of a message to the client.
pub const MAX_CLIENT_MESSAGE_BYTES: usize = 16 << 10;

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

    const fn is_supported(self, abilities: &ClientProfile) -> bool {
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
pub struct ClientQuestion {
    /// `None` for a question of the host's own.
    asker: Option<SourceId>,
    kind: QuestionKind,
    params: Map<String, Value>,
}

impl ClientQuestion {
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

    /// What `elicitation/create` carries, in the words of a gate or server.
    pub fn elicitation(asker: &SourceId, mut params: Map<String, Value>) -> Result<Self, Fault> {
        let refused = |why: String| {
            Fault::invalid(format!("{} asks what cannot be passed on: {why}.", sentence_subject(asker)))
        };
        let message = params.get("message").and_then(Value::as_str).unwrap_or_default();
        let mut message = message.to_owned();
        clean::strip_text(&mut message);
        if message.trim().is_empty() || message.chars().count() > MAX_MESSAGE_CHARS {
            return Err(refused(format!("its message has to have 1 to {MAX_MESSAGE_CHARS} characters")));
        }
        params
            .insert("message".into(), format!("{} asks: {}", sentence_subject(asker), message.trim()).into());
        params.remove("_meta");
        let kind = match params.get("mode").and_then(Value::as_str) {
            None | Some("form") => {
                let form = params.get_mut("requestedSchema").and_then(Value::as_object_mut);
                let form = form.ok_or_else(|| refused("it has no form".into()))?;
                checks::check_form(form).map_err(refused)?;
                clean::strip_values(form);
                if let Some(name) = clean::find_in_schema(form) {
                    return Err(refused(format!("its form hides characters in '{}'", name.escape_unicode())));
                }
                params.insert("mode".into(), "form".into());
                QuestionKind::Form
            }
            Some("url") => {
                let url = params.get("url").and_then(Value::as_str).unwrap_or_default();
                checks::check_url(url).map_err(refused)?;
                QuestionKind::Url
            }
            Some(other) => {
                return Err(refused(format!("'{}' is no way to ask", names::quoted(other, 32))));
            }
        };
        clean::strip_values(&mut params);
        Ok(Self { asker: Some(asker.clone()), kind, params })
    }

    /// Whether a call may run. The host asks that, in nobody's name.
    pub(crate) fn approval(message: &str) -> Result<Self, Fault> {
        let mut message = message.to_owned();
        clean::strip_text(&mut message);
        if message.chars().count() > MAX_MESSAGE_CHARS {
            return Err(Fault::internal("The question for an approval is too long."));
        }
        let params = json!({"mode": "form", "message": message, "requestedSchema": approval_form()});
        Ok(Self { asker: None, kind: QuestionKind::Form, params: object(params) })
    }

    /// What is asked for.
    pub fn kind(&self) -> QuestionKind {
        self.kind
    }

    /// Returns the answer if an earlier one of the same questions was declined. The client is not asked then.
    ///
    /// # Errors
    /// `denied` for a model, which cannot decline.
    pub fn declined_answer(&self) -> Result<Map<String, Value>, Fault> {
        match (self.kind, &self.asker) {
            (QuestionKind::Sampling, Some(asker)) => Err(asking::declined_fault(asker)),
            _ => Ok(object(json!({"action": "decline"}))),
        }
    }

    /// As the protocol has it.
    pub fn params(&self) -> &Map<String, Value> {
        &self.params
    }

    /// Passes an answer that fits. What was declined or cancelled says nothing else.
    fn check_answer(&self, mut answer: Map<String, Value>) -> Result<Map<String, Value>, Fault> {
        let unfit = |why: String| {
            Fault::invalid(format!("What the client answered does not fit the question: {why}"))
                .hint("Call the tool again, and answer as it is asked.")
        };
        let size = bounds::encoded_len(&answer);
        if self.kind == QuestionKind::Sampling {
            let fits = size <= MAX_SAMPLING_BYTES && answer.contains_key("content");
            return if fits { Ok(answer) } else { Err(unfit("it has no content, or too much.".into())) };
        }
        if size > MAX_ANSWER_BYTES {
            return Err(unfit(format!("it has {size} bytes, the most is {MAX_ANSWER_BYTES}.")));
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
fn sentence_subject(asker: &SourceId) -> String {
    let (kind, name) = match asker {
        SourceId::Gate(name) => ("Gate", name),
        SourceId::Server(name) => ("Server", name),
    };
    format!("{kind} '{name}'")
}

#[cfg(test)]
mod tests;
