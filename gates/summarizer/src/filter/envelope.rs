//! The answer of the tool `request` of the gate proxy: one JSON object whose `result.data` is what the tool said. Only that
//! is shortened, so that the answer stays one JSON object.

use gatehouse_sdk::{Content, Reply};
use serde_json::{Map, Value};

use super::reply_parts::ReplyParts;

/// An answer without the data of its result.
pub(super) struct AnswerEnvelope {
    members: Map<String, Value>,
    /// Whether the data is text, and not other JSON.
    pub(super) is_text: bool,
}

impl AnswerEnvelope {
    /// Takes the data of the result out of what there is to read, if that is such an answer.
    pub(super) fn open(seen: &mut ReplyParts) -> Option<Self> {
        const MEMBERS: [&str; 4] = ["ok", "request", "result", "meta"];
        if seen.whole.is_some() || !seen.text.starts_with("{\"ok\":true,\"request\":{") {
            return None;
        }
        let mut members: Map<String, Value> = serde_json::from_str(&seen.text).ok()?;
        if !members.keys().eq(MEMBERS) {
            return None;
        }
        let data = members.get_mut("result")?.as_object_mut()?.get_mut("data")?.take();
        let is_text = data.is_string();
        seen.text = match data {
            Value::String(text) => text,
            data => data.to_string(),
        };
        Some(Self { members, is_text })
    }

    /// Puts a short form in the place of the data. A form of several texts is one object: that of its first line, with the
    /// rest as `digest`.
    pub(super) fn close(mut self, reply: Reply) -> Reply {
        let (texts, rest): (Vec<Content>, Vec<Content>) =
            reply.content.into_iter().partition(|block| matches!(block, Content::Text(_)));
        let mut texts = texts.into_iter().filter_map(|block| match block {
            Content::Text(text) => Some(text),
            _ => None,
        });
        let first = texts.next().unwrap_or_default();
        let digest = texts.collect::<Vec<_>>().join("\n");
        let data = match serde_json::from_str(&first) {
            Ok(Value::Object(mut head)) if head.contains_key("note") => {
                if !digest.is_empty() {
                    head.insert("digest".into(), digest.into());
                }
                Value::Object(head)
            }
            _ => first.into(),
        };
        if let Some(result) = self.members.get_mut("result").and_then(Value::as_object_mut) {
            result.insert("data".into(), data);
        }
        let text = Value::Object(self.members).to_string();
        Reply { content: std::iter::once(Content::Text(text)).chain(rest).collect(), ..reply }
    }
}
