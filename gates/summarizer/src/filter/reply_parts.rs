//! Splits a reply into its text, its data, and the rest.

use gatehouse_sdk::{
    Content, Fault, Reply, ResourceLink,
    replies::{DataOrigin, ReplyData, ReplyView},
};

pub(super) struct ReplyParts {
    pub(super) view: ReplyView,
    /// True if there were several texts.
    several: bool,
    /// Structured data as it was sent.
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
        // The address of an embedded text stays, because its text goes.
        rest.extend(texts.iter().filter_map(link));
        // Moves a long text instead of copying it, because a gate has little memory.
        let texts = texts.into_iter().map(|block| match block {
            Content::Text(text) => text,
            other => other.as_text().unwrap_or_default().to_owned(),
        });
        Self::new(texts.collect(), structured, rest)
    }

    /// Replaces the text and the data by those of another text.
    pub(super) fn replace_text(&mut self, text: String) -> Result<(), Fault> {
        *self = Self::new(vec![text], None, std::mem::take(&mut self.rest))?;
        Ok(())
    }

    fn new(texts: Vec<String>, structured: Option<String>, rest: Vec<Content>) -> Result<Self, Fault> {
        let has_several_texts = texts.len() > 1;
        let view = ReplyView::new(texts, structured.as_deref())?;
        let string = view.data.as_ref().and_then(|data| serde_json::from_str(&data.json).ok());
        Ok(Self { view, several: has_several_texts, structured, string, rest })
    }

    /// Whether the text is much more than the structured data, such as a page next to its address and status.
    fn is_mostly_text(&self) -> bool {
        let of_structured = |data: &&ReplyData| data.origin == DataOrigin::Structured;
        let data = self.view.data.as_ref().filter(of_structured);
        data.is_some_and(|data| self.view.text.len() > 2 * data.json.len())
    }

    /// Returns what a digest reads: the data, or the text if there is none or if it is much longer.
    pub(super) fn digested(&self) -> &str {
        if self.is_mostly_text() {
            return &self.view.text;
        }
        match (&self.string, &self.view.data) {
            (Some(string), _) => string,
            (None, Some(data)) => &data.json,
            (None, None) => &self.view.text,
        }
    }

    /// Returns the size that decides whether the reply is large.
    pub(super) fn bytes(&self) -> usize {
        self.view.text.len().max(self.digested().len())
    }

    /// Returns text that the digest does not read.
    pub(super) fn beside(&self) -> &str {
        match &self.view.data {
            Some(data) if self.is_mostly_text() => &data.json,
            Some(data) => &data.beside,
            None => "",
        }
    }

    /// Returns what can be encoded again without loss. `None` if something else would be lost.
    pub(super) fn compactable(&self) -> Option<&str> {
        match &self.view.data {
            Some(data) if data.pointer.is_some() => None,
            Some(data) => match data.origin {
                // Several texts would lose their boundaries.
                DataOrigin::Text => Some(self.view.text.as_str()).filter(|_| !self.several),
                DataOrigin::Structured if !self.view.repeats && !self.is_mostly_text() => Some(&data.json),
                _ => None,
            },
            None => Some(self.view.text.as_str()).filter(|_| !self.several),
        }
    }

    /// Returns what a client without structured data would read first: the text, or the data if there is no text.
    pub(super) fn whole(&self) -> &str {
        match &self.structured {
            Some(structured) if self.view.text.trim().is_empty() => structured,
            _ => &self.view.text,
        }
    }
}

fn link(block: &Content) -> Option<Content> {
    let Content::Embedded(resource) = block else { return None };
    let (uri, mime_type) = (resource.uri.clone(), resource.mime_type.clone());
    let name = uri.rsplit('/').next().unwrap_or_default().to_owned();
    let size = block.as_text().map(|text| text.len() as u64);
    Some(Content::Link(ResourceLink { uri, name, title: None, description: None, mime_type, size }))
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
    fn what_is_digested_and_what_stays_beside_it() {
        let same = parts(Reply::markdown("[1,  2]").structured(&json!([1, 2])).unwrap());
        assert_eq!((same.digested(), same.compactable()), ("[1,  2]", Some("[1,  2]")));
        let other = parts(Reply::markdown("two").structured(&json!({"n": 2})).unwrap());
        assert_eq!((other.digested(), other.beside(), other.whole()), ("{\"n\":2}", "two", "two"));
        assert_eq!(other.compactable(), Some("{\"n\":2}"));
        let data =
            Reply { content: vec![], structured: Some("{\"n\": 2}".into()), is_error: false, meta: None };
        assert_eq!(parts(data).whole(), "{\"n\": 2}");
        let string = parts(Reply::markdown("\"one\\ntwo\""));
        assert_eq!((string.digested(), string.whole()), ("one\ntwo", "\"one\\ntwo\""));
    }

    #[test]
    fn images_stay_and_texts_are_joined_in_order() {
        let image = Content::Image(Media { data: vec![1, 2], mime_type: "image/png".into() });
        let reply = Reply::markdown("a").with(image.clone()).with(Content::Text("b".into()));
        let parts = parts(reply);
        assert_eq!((parts.whole(), &parts.rest), ("a\n\nb", &vec![image]));
    }

    #[test]
    fn short_notes_after_a_large_text_stay_in_the_reply() {
        let (json, note) = (format!("[{}0]", "1,".repeat(500)), Content::Text("1 call in 1 batch".into()));
        let parts = parts(Reply::markdown(json.clone()).with(note.clone()));
        assert_eq!(parts.whole(), json);
        assert_eq!(parts.rest, [note]);
    }
}
