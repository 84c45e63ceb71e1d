//! Splits a reply into the text to read, the text to store, and the rest.

use gatehouse_sdk::{Content, EmbeddedResource, Reply, ResourceBody};
use serde_json::{Value, json};

pub(super) struct ReplyParts {
    pub(super) text: String,
    /// Text to store if it differs: the whole reply as JSON.
    pub(super) full_json: Option<String>,
    /// Blocks that stay in the reply: images, audio and links, and short notes after a large text.
    pub(super) rest: Vec<Content>,
}

impl ReplyParts {
    pub(super) fn from_reply(reply: Reply) -> Self {
        let (mut texts, rest): (Vec<Content>, Vec<Content>) = reply.content.into_iter().partition(is_text);
        let structured = reply.structured;
        // Moves a long text instead of copying it, because a gate has little memory.
        if let [Content::Text(text)] = &mut texts[..]
            && structured.as_deref().is_none_or(|data| same_json(data, text))
        {
            return Self { text: std::mem::take(text), full_json: None, rest };
        }
        if structured.is_none()
            && notes_bytes(&texts).is_some_and(|notes| notes <= MAX_NOTES)
            && let Content::Text(text) = texts.remove(0)
        {
            return Self { text, full_json: None, rest: texts.into_iter().chain(rest).collect() };
        }
        if texts.is_empty() {
            return Self { text: structured.unwrap_or_default(), full_json: None, rest };
        }
        let text = texts.iter().map(read).collect::<Vec<_>>().join("\n");
        let full_json = Some(to_mcp(&texts, &rest, structured.as_deref()));
        Self { text, full_json, rest }
    }

    pub(super) fn stored_text(&self) -> &str {
        self.full_json.as_deref().unwrap_or(&self.text)
    }

    pub(super) fn mime_type(&self) -> &'static str {
        let json =
            self.full_json.is_some() || serde_json::from_str::<serde::de::IgnoredAny>(&self.text).is_ok();
        if json { "application/json" } else { "text/plain" }
    }
}

/// Maximum total bytes of short texts that stay unchanged, such as a script's call counts.
const MAX_NOTES: usize = 2_048;

/// Returns the bytes of the texts after the first. `None` if the first is not much larger.
fn notes_bytes(texts: &[Content]) -> Option<usize> {
    let [Content::Text(first), notes @ ..] = texts else { return None };
    let bytes = notes.iter().map(|note| read(note).len()).sum::<usize>();
    (first.len() >= 4 * bytes).then_some(bytes)
}

fn is_text(content: &Content) -> bool {
    let embedded =
        matches!(content, Content::Embedded(resource) if matches!(resource.body, ResourceBody::Text(_)));
    embedded || matches!(content, Content::Text(_))
}

fn read(content: &Content) -> &str {
    match content {
        Content::Text(text) => text,
        Content::Embedded(EmbeddedResource { body: ResourceBody::Text(text), .. }) => text,
        _ => "",
    }
}

/// Parsed JSON takes several times its length in memory; longer texts are compared as bytes.
const MAX_COMPARED_BYTES: usize = 1 << 20;

fn same_json(data: &str, text: &str) -> bool {
    if data.len().max(text.len()) > MAX_COMPARED_BYTES {
        return data == text;
    }
    match (serde_json::from_str::<Value>(data), serde_json::from_str::<Value>(text)) {
        (Ok(data), Ok(text)) => data == text,
        _ => false,
    }
}

/// Serializes a reply as MCP does, without the content of blocks that stay in the reply.
fn to_mcp(texts: &[Content], rest: &[Content], structured: Option<&str>) -> String {
    let blocks: Vec<Value> = texts.iter().chain(rest).map(block).collect();
    let blocks = Value::from(blocks);
    match structured {
        // Insert the text unchanged, because parsing could change numbers.
        Some(data) => format!("{{\"content\":{blocks},\"structuredContent\":{data}}}"),
        None => format!("{{\"content\":{blocks}}}"),
    }
}

fn block(content: &Content) -> Value {
    match content {
        Content::Text(text) => json!({"type": "text", "text": text}),
        Content::Embedded(resource) => {
            let mut inner = json!({"uri": resource.uri});
            if let Some(mime) = &resource.mime_type {
                inner["mimeType"] = mime.as_str().into();
            }
            match &resource.body {
                ResourceBody::Text(text) => inner["text"] = text.as_str().into(),
                ResourceBody::Blob(bytes) => inner["size"] = bytes.len().into(),
            }
            json!({"type": "resource", "resource": inner})
        }
        Content::Image(media) | Content::Audio(media) => {
            let kind = if matches!(content, Content::Image(_)) { "image" } else { "audio" };
            json!({"type": kind, "mimeType": media.mime_type, "size": media.data.len()})
        }
        Content::Link(link) => json!({"type": "resource_link", "uri": link.uri, "name": link.name}),
        Content::Other(json) => serde_json::from_str(json).unwrap_or_else(|_| json.as_str().into()),
    }
}

#[cfg(test)]
mod tests {
    use gatehouse_sdk::Media;

    use super::*;

    #[test]
    fn a_single_text_is_stored_unchanged_and_other_replies_as_json() {
        let one = ReplyParts::from_reply(Reply::markdown("[1,  2]").structured(&json!([1, 2])).unwrap());
        assert_eq!((one.stored_text(), one.mime_type()), ("[1,  2]", "application/json"));
        let other = ReplyParts::from_reply(Reply::markdown("two").structured(&json!({"n": 2})).unwrap());
        assert_eq!(other.text, "two");
        assert_eq!(
            other.stored_text(),
            r#"{"content":[{"type":"text","text":"two"}],"structuredContent":{"n":2}}"#
        );
        let data =
            Reply { content: vec![], structured: Some("{\"n\": 2}".into()), is_error: false, meta: None };
        assert_eq!(ReplyParts::from_reply(data).stored_text(), "{\"n\": 2}");
    }

    #[test]
    fn images_stay_and_texts_are_joined_in_order() {
        let image = Content::Image(Media { data: vec![1, 2], mime_type: "image/png".into() });
        let parts =
            ReplyParts::from_reply(Reply::markdown("a").with(image.clone()).with(Content::Text("b".into())));
        assert_eq!((parts.text.as_str(), &parts.rest), ("a\nb", &vec![image.clone()]));
        assert!(
            parts.stored_text().contains(r#"{"type":"image","mimeType":"image/png","size":2}"#),
            "{}",
            parts.stored_text()
        );
    }

    #[test]
    fn short_notes_after_a_large_text_stay_in_the_reply() {
        let (json, note) = (format!("[{}0]", "1,".repeat(500)), Content::Text("1 call in 1 batch".into()));
        let parts = ReplyParts::from_reply(Reply::markdown(json.clone()).with(note.clone()));
        assert_eq!((parts.stored_text(), parts.mime_type()), (json.as_str(), "application/json"));
        assert_eq!(parts.rest, [note]);
    }
}
