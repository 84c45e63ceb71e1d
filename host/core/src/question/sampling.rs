//! Questions to the client's model. The model is told whose words it reads, and sees nothing of the conversation around
//! the call.

use serde_json::{Map, Value};

use super::{ClientQuestion, MAX_SAMPLING_BYTES, QuestionKind, sentence_subject};
use crate::{hidden_chars, json as bounds, outcome::Fault, tool::SourceId};

impl ClientQuestion {
    /// What `sampling/createMessage` carries, in the words of a gate or server.
    pub fn sampling(asker: &SourceId, mut params: Map<String, Value>) -> Result<Self, Fault> {
        params.remove("_meta");
        let size = bounds::encoded_len(&params);
        if size > MAX_SAMPLING_BYTES {
            return Err(Fault::exhausted(format!(
                "{} may ask the client's model {MAX_SAMPLING_BYTES} bytes; this is {size}.",
                sentence_subject(asker)
            )));
        }
        hidden_chars::strip_values(&mut params);
        if let Some(name) = hidden_chars::find_in_schema(&params) {
            let (asker, name) = (sentence_subject(asker), name.escape_unicode());
            return Err(Fault::invalid(format!(
                "{asker} asks the client's model with characters hidden in '{name}'."
            )));
        }
        // Parts of the conversation are for the user to show, not for a server to ask for.
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
