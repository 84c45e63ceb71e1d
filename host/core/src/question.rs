//! Questions of gates and servers to the client during a call: a form or URL for the user, or a request to the client's
//! model (sampling), whose system prompt names the asker and includes no conversation.

mod asking;
mod checks;

use std::{fmt, sync::Arc};

use serde_json::{Map, Value, json};

pub(crate) use asking::QuestionCount;
pub use asking::message_data;

use crate::{
    Fault, Schema, SourceId, hidden_chars, json, names, pipeline::approval_form, ports::client::ClientProfile,
};

/// Maximum characters of a message to the user: a screen, not a document.
pub const MAX_MESSAGE_CHARS: usize = 4_000;

/// Maximum bytes of a form as JSON text.
pub const MAX_FORM_BYTES: usize = 16 << 10;
pub const MAX_FORM_FIELDS: usize = 32;

/// Maximum bytes of a URL, which is shown in full.
pub const MAX_URL_BYTES: usize = 2_048;

/// Maximum bytes of a request to the client's model, and of its answer.
pub const MAX_SAMPLING_BYTES: usize = 1 << 20;

/// Maximum bytes of a completed form.
pub const MAX_ANSWER_BYTES: usize = 64 << 10;

pub const MAX_QUESTIONS_AT_ONCE: usize = 8;

/// Maximum questions of one call to a model, and to a user. The default of `limits.model_calls` for gates.
pub const MAX_QUESTIONS_PER_CALL: u32 = 16;

pub const MAX_CLIENT_MESSAGE_BYTES: usize = 16 << 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuestionKind {
    Form,
    Url,
    /// A request to the client's model.
    Sampling,
}

impl QuestionKind {
    const fn capability(self) -> &'static str {
        match self {
            Self::Form => "elicitation.form",
            Self::Url => "elicitation.url",
            Self::Sampling => "sampling",
        }
    }

    const fn is_supported(self, profile: &ClientProfile) -> bool {
        match self {
            Self::Form => profile.features.forms,
            Self::Url => profile.features.urls,
            Self::Sampling => profile.features.sampling,
        }
    }
}

impl fmt::Display for QuestionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Form => "show a form to the user",
            Self::Url => "show a URL to the user",
            Self::Sampling => "ask its model",
        })
    }
}

/// A checked question.
#[derive(Debug, Clone, PartialEq)]
pub struct ClientQuestion {
    /// `None` for the host's own questions.
    asker: Option<SourceId>,
    kind: QuestionKind,
    params: Map<String, Value>,
}

impl ClientQuestion {
    /// Creates a form with a message and a JSON Schema of plain fields.
    pub fn form(asker: &SourceId, message: &str, schema: Map<String, Value>) -> Result<Self, Fault> {
        let params = json!({"mode": "form", "message": message, "requestedSchema": schema});
        Self::elicitation(asker, object(params))
    }

    /// Creates a request to open a URL; `id` identifies it.
    pub fn url(asker: &SourceId, message: &str, url: &str, id: &str) -> Result<Self, Fault> {
        let params = json!({"mode": "url", "message": message, "url": url, "elicitationId": id});
        Self::elicitation(asker, object(params))
    }

    /// Checks the params of `elicitation/create`, as a gate or server sent them.
    pub fn elicitation(asker: &SourceId, mut params: Map<String, Value>) -> Result<Self, Fault> {
        let refused = |reason: String| {
            Fault::invalid(format!("{} asks an invalid question: {reason}", sentence_subject(asker)))
        };
        let message = params.get("message").and_then(Value::as_str).unwrap_or_default();
        let message = hidden_chars::stripped(message);
        if message.trim().is_empty() || message.chars().count() > MAX_MESSAGE_CHARS {
            return Err(refused(format!("its message must have 1 to {MAX_MESSAGE_CHARS} characters")));
        }
        params
            .insert("message".into(), format!("{} asks: {}", sentence_subject(asker), message.trim()).into());
        params.remove("_meta");
        let kind = match params.get("mode").and_then(Value::as_str) {
            None | Some("form") => {
                let form = params.get_mut("requestedSchema").and_then(Value::as_object_mut);
                let form = form.ok_or_else(|| refused("`requestedSchema` must be an object".into()))?;
                checks::check_form(form).map_err(|reason| refused(reason.into()))?;
                hidden_chars::strip_values(form);
                if let Some(name) = hidden_chars::find_in_schema(form) {
                    return Err(refused(format!(
                        "its form has hidden characters in '{}'",
                        name.escape_unicode()
                    )));
                }
                params.insert("mode".into(), "form".into());
                QuestionKind::Form
            }
            Some("url") => {
                let url = params.get("url").and_then(Value::as_str).unwrap_or_default();
                checks::check_url(url).map_err(|reason| refused(reason.into()))?;
                QuestionKind::Url
            }
            Some(other) => {
                return Err(refused(format!("unknown mode '{}'", names::quoted(other, 32))));
            }
        };
        hidden_chars::strip_values(&mut params);
        Ok(Self { asker: Some(asker.clone()), kind, params })
    }

    /// Creates the host's own question for an approval.
    pub(crate) fn approval(message: &str) -> Result<Self, Fault> {
        let message = hidden_chars::stripped(message);
        if message.chars().count() > MAX_MESSAGE_CHARS {
            return Err(Fault::internal("the question for an approval is too long"));
        }
        let params = json!({"mode": "form", "message": message, "requestedSchema": approval_form()});
        Ok(Self { asker: None, kind: QuestionKind::Form, params: object(params) })
    }

    /// Creates the host's own request to open a page of this host, on which the user signs in.
    pub fn sign_in(message: &str, url: &str, id: &str) -> Self {
        let message = hidden_chars::stripped(message);
        let params = json!({"mode": "url", "message": message, "url": url, "elicitationId": id});
        Self { asker: None, kind: QuestionKind::Url, params: object(params) }
    }

    /// Creates a `sampling/createMessage` request of a gate or server.
    pub fn sampling(asker: &SourceId, mut params: Map<String, Value>) -> Result<Self, Fault> {
        params.remove("_meta");
        let size = json::encoded_len(&params);
        if size > MAX_SAMPLING_BYTES {
            return Err(Fault::exhausted(format!(
                "{} sent a model request above the limit of {MAX_SAMPLING_BYTES} bytes: {size}",
                sentence_subject(asker)
            )));
        }
        hidden_chars::strip_values(&mut params);
        if let Some(name) = hidden_chars::find_in_schema(&params) {
            let (asker, name) = (sentence_subject(asker), name.escape_unicode());
            return Err(Fault::invalid(format!(
                "{asker} sent a model request with hidden characters in '{name}'"
            )));
        }
        // Only the user may share the conversation.
        params.insert("includeContext".into(), "none".into());
        let mut system = format!(
            "{} asks this through Gatehouse. The words are its own, not the user's.",
            sentence_subject(asker)
        );
        if let Some(words) = params.get("systemPrompt").and_then(Value::as_str) {
            system = format!("{system}\n\n{words}");
        }
        params.insert("systemPrompt".into(), system.into());
        Ok(Self { asker: Some(asker.clone()), kind: QuestionKind::Sampling, params })
    }
    pub fn kind(&self) -> QuestionKind {
        self.kind
    }

    /// Returns the answer to use without asking, after the same asker's earlier question was declined.
    ///
    /// # Errors
    /// `denied` for a request to the model, which cannot decline.
    pub fn declined_answer(&self) -> Result<Map<String, Value>, Fault> {
        match (self.kind, &self.asker) {
            (QuestionKind::Sampling, Some(asker)) => Err(asking::declined_fault(asker)),
            _ => Ok(object(json!({"action": "decline"}))),
        }
    }

    pub fn params(&self) -> &Map<String, Value> {
        &self.params
    }

    /// Checks an answer. Removes the content unless a form was accepted.
    fn check_answer(&self, mut answer: Map<String, Value>) -> Result<Map<String, Value>, Fault> {
        let unfit = |reason: String| {
            Fault::invalid(format!("the client's answer does not match the question: {reason}"))
                .hint("Call the tool again and answer in the requested form.")
        };
        let size = json::encoded_len(&answer);
        if self.kind == QuestionKind::Sampling {
            let fits = size <= MAX_SAMPLING_BYTES && answer.contains_key("content");
            return if fits { Ok(answer) } else { Err(unfit("its content is missing or too long".into())) };
        }
        if size > MAX_ANSWER_BYTES {
            return Err(unfit(format!("it has {size} bytes; the limit is {MAX_ANSWER_BYTES}")));
        }
        match answer.get("action").and_then(Value::as_str) {
            Some("accept") if self.kind == QuestionKind::Form => {
                let content = answer.entry("content").or_insert_with(|| json!({}));
                let form = self.params.get("requestedSchema").cloned().unwrap_or_default();
                Schema::new(Arc::new(object(form)))
                    .check(content, "field")
                    .map_err(|reason| unfit(reason.into()))?;
            }
            Some("accept" | "decline" | "cancel") => {
                answer.remove("content");
            }
            _ => return Err(unfit("`action` must be accept, decline or cancel".into())),
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

/// Returns the asker for the start of a sentence.
fn sentence_subject(asker: &SourceId) -> String {
    let (kind, name) = match asker {
        SourceId::Gate(name) => ("Gate", name),
        SourceId::Server(name) => ("Server", name),
    };
    format!("{kind} '{name}'")
}

#[cfg(test)]
mod tests;
