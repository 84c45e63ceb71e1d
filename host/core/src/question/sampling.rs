//! Questions to the client's model (sampling). The system prompt names the asker, and no conversation context is
//! included.

use serde_json::{Map, Value};

use super::{ClientQuestion, MAX_SAMPLING_BYTES, QuestionKind, sentence_subject};
use crate::{hidden_chars, json as bounds, outcome::Fault, tool::SourceId};

impl ClientQuestion {
    /// Creates a `sampling/createMessage` request of a gate or server.
    pub fn sampling(asker: &SourceId, mut params: Map<String, Value>) -> Result<Self, Fault> {
        params.remove("_meta");
        let size = bounds::encoded_len(&params);
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
}
