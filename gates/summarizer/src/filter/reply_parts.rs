//! Splits a reply into its text, its data, and the rest.

use gatehouse_sdk::{
    Content, Fault, Reply,
    replies::{DataOrigin, ReplyData, ReplyView},
};

pub(super) struct ReplyParts {
    /// The text as it was sent.
    pub(super) text: String,
    pub(super) data: Option<ReplyData>,
    /// Structured data to store next to the text. `None` if the text holds it.
    pub(super) structured: Option<String>,
    /// The text that data of one string is.
    string: Option<String>,
    /// Blocks that stay in the reply: images, audio and links, and short notes after a large text.
    pub(super) rest: Vec<Content>,
}

impl ReplyParts {
    pub(super) fn from_reply(reply: Reply) -> Result<Self, Fault> {
        let (mut texts, mut rest): (Vec<Content>, Vec<Content>) =
            reply.content.into_iter().partition(|block| block.as_text().is_some());
        let structured = reply.structured;
        if structured.is_none() && has_notes(&texts) {
            let notes = texts.split_off(1);
            rest = notes.into_iter().chain(rest).collect();
        }
        // Moves a long text instead of copying it, because a gate has little memory.
        let texts = texts.into_iter().map(|block| match block {
            Content::Text(text) => text,
            other => other.as_text().unwrap_or_default().to_owned(),
        });
        let view = ReplyView::new(texts.collect(), structured.as_deref())?;
        let of_structured = |data: &ReplyData| data.origin == DataOrigin::Structured;
        let structured = structured.filter(|_| view.data.as_ref().is_some_and(of_structured));
        Ok(Self { rest, structured, ..Self::from_view(view) })
    }

    /// Replaces the text and the data by those of another text.
    pub(super) fn replace_text(&mut self, text: String) -> Result<(), Fault> {
        let rest = std::mem::take(&mut self.rest);
        *self = Self { rest, ..Self::from_view(ReplyView::new(vec![text], None)?) };
        Ok(())
    }

    fn from_view(view: ReplyView) -> Self {
        let ReplyView { text, data, .. } = view;
        let string = data.as_ref().and_then(|data| serde_json::from_str(&data.json).ok());
        Self { text, data, structured: None, string, rest: Vec::new() }
    }

    /// Returns what a digest reads: the data, or the text if there is none.
    pub(super) fn digested(&self) -> &str {
        match (&self.string, &self.data) {
            (Some(string), _) => string,
            (None, Some(data)) => &data.json,
            (None, None) => &self.text,
        }
    }

    /// Returns the size that decides whether the reply is large.
    pub(super) fn bytes(&self) -> usize {
        self.text.len().max(self.digested().len())
    }

    /// Returns text that the digest does not read.
    pub(super) fn beside(&self) -> &str {
        self.data.as_ref().map_or("", |data| &data.beside)
    }

    /// Returns what can be encoded again without loss. `None` if something else would be lost.
    pub(super) fn compactable(&self) -> Option<&str> {
        match &self.data {
            None => Some(&self.text),
            Some(data) if data.pointer.is_some() => None,
            Some(data) => match data.origin {
                DataOrigin::Text => Some(&self.text),
                DataOrigin::Structured if self.beside() == self.text.trim() => Some(&data.json),
                _ => None,
            },
        }
    }

    /// Returns the text to store: the text as it was sent, or the data if there is no text.
    pub(super) fn stored_text(&self) -> &str {
        match &self.structured {
            Some(structured) if self.text.trim().is_empty() => structured,
            _ => &self.text,
        }
    }

    /// Returns the data to store next to the text.
    pub(super) fn stored_data(&self) -> Option<&str> {
        self.structured.as_deref().filter(|_| !self.text.trim().is_empty())
    }

    pub(super) fn mime_type(&self) -> &'static str {
        let json = serde_json::from_str::<serde::de::IgnoredAny>(self.stored_text()).is_ok();
        if json { "application/json" } else { "text/plain" }
    }
}

/// Maximum total bytes of short texts that stay unchanged, such as a script's call counts.
const MAX_NOTES: usize = 2_048;

/// Whether the texts after the first one are short notes, and the first is much larger.
fn has_notes(texts: &[Content]) -> bool {
    let [Content::Text(first), notes @ ..] = texts else { return false };
    let bytes = notes.iter().filter_map(Content::as_text).map(str::len).sum::<usize>();
    bytes <= MAX_NOTES && first.len() >= 4 * bytes
}

#[cfg(test)]
mod tests {
    use gatehouse_sdk::Media;
    use serde_json::json;

    use super::*;
    use crate::tests::host;

    fn parts(reply: Reply) -> ReplyParts {
        host().run(|| ReplyParts::from_reply(reply)).expect("parts")
    }

    #[test]
    fn a_text_is_stored_as_it_is_and_other_data_next_to_it() {
        let same = parts(Reply::markdown("[1,  2]").structured(&json!([1, 2])).unwrap());
        assert_eq!((same.stored_text(), same.stored_data()), ("[1,  2]", None));
        assert_eq!((same.mime_type(), same.compactable()), ("application/json", Some("[1,  2]")));
        let other = parts(Reply::markdown("two").structured(&json!({"n": 2})).unwrap());
        assert_eq!((other.stored_text(), other.stored_data()), ("two", Some("{\"n\":2}")));
        assert_eq!((other.mime_type(), other.digested(), other.beside()), ("text/plain", "{\"n\":2}", "two"));
        assert_eq!(other.compactable(), Some("{\"n\":2}"));
        let data =
            Reply { content: vec![], structured: Some("{\"n\": 2}".into()), is_error: false, meta: None };
        let data = parts(data);
        assert_eq!((data.stored_text(), data.stored_data()), ("{\"n\": 2}", None));
        assert_eq!(data.mime_type(), "application/json");
    }

    #[test]
    fn a_json_string_is_digested_as_its_text() {
        let string = parts(Reply::markdown("\"one\\ntwo\""));
        assert_eq!((string.digested(), string.stored_text()), ("one\ntwo", "\"one\\ntwo\""));
    }

    #[test]
    fn images_stay_and_texts_are_joined_in_order() {
        let image = Content::Image(Media { data: vec![1, 2], mime_type: "image/png".into() });
        let reply = Reply::markdown("a").with(image.clone()).with(Content::Text("b".into()));
        let parts = parts(reply);
        assert_eq!((parts.stored_text(), &parts.rest), ("a\n\nb", &vec![image]));
    }

    #[test]
    fn short_notes_after_a_large_text_stay_in_the_reply() {
        let (json, note) = (format!("[{}0]", "1,".repeat(500)), Content::Text("1 call in 1 batch".into()));
        let parts = parts(Reply::markdown(json.clone()).with(note.clone()));
        assert_eq!((parts.stored_text(), parts.mime_type()), (json.as_str(), "application/json"));
        assert_eq!(parts.rest, [note]);
    }
}
