//! Answers of the proxy gate's `request` tool: one JSON object with the tool's result in `result.data`. Only that part
//! is shortened, so the answer stays one JSON object.

use gatehouse_sdk::{Content, Fault, Reply};
use serde_json::{Map, Value};

use super::reply_parts::ReplyParts;

pub(super) struct AnswerEnvelope {
    members: Map<String, Value>,
    /// True if the data is text rather than other JSON.
    pub(super) is_text: bool,
}

impl AnswerEnvelope {
    /// Replaces the parts by those of the data of the result. `None` if the reply is not such an answer.
    pub(super) fn open(parts: &mut ReplyParts) -> Result<Option<Self>, Fault> {
        let Some((envelope, data)) = Self::read(parts) else { return Ok(None) };
        parts.replace_text(data)?;
        Ok(Some(envelope))
    }

    /// Returns the answer without its data, and the data as text.
    fn read(parts: &ReplyParts) -> Option<(Self, String)> {
        const MEMBERS: [&str; 4] = ["ok", "request", "result", "meta"];
        if !parts.view.text.starts_with("{\"ok\":true,\"request\":{") {
            return None;
        }
        let mut members: Map<String, Value> = serde_json::from_str(&parts.view.text).ok()?;
        if !members.keys().eq(MEMBERS) {
            return None;
        }
        let data = members.get_mut("result")?.as_object_mut()?.get_mut("data")?.take();
        let is_text = data.is_string();
        let data = match data {
            Value::String(text) => text,
            data => data.to_string(),
        };
        Some((Self { members, is_text }, data))
    }

    /// Inserts the short form as the data. Several texts become one object, with the rest as `digest`.
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
