//! `replies`: the text and the data of replies. Always granted.

use gatehouse_core::reply_view as core;

use super::gatehouse::gate::{
    replies::{self as wit, Host},
    types::Fault,
};
use crate::{capability::models::MAX_RESULT, state::State};

impl Host for State {
    async fn view(
        &mut self,
        texts: Vec<String>,
        structured: Option<String>,
    ) -> Result<wit::ReplyView, Fault> {
        let bytes = texts.iter().map(String::len).sum::<usize>() + structured.as_ref().map_or(0, String::len);
        let work = move |_: &dyn gatehouse_core::ports::TextCompressor| {
            let blocks: Vec<&str> = texts.iter().map(String::as_str).collect();
            let view = core::ReplyView::new(&blocks, structured.as_deref());
            Ok(wit::ReplyView::from(view))
        };
        Ok(self.capabilities.text("reader of replies", (bytes, MAX_RESULT), 0, work).await?)
    }
}

enums! {
    core::DataOrigin => wit::DataOrigin { Structured, Text, Block, Island }
}

impl From<core::ReplyView<'_>> for wit::ReplyView {
    fn from(view: core::ReplyView<'_>) -> Self {
        let core::ReplyView { text, data, whole, repeats } = view;
        let data = data.map(|data| {
            let core::ReplyData { json, origin, pointer, beside } = data;
            let json = (*json != *text).then(|| json.into_owned());
            wit::ReplyData { json, origin: origin.into(), pointer, beside }
        });
        let text = match text {
            std::borrow::Cow::Borrowed(_) => None,
            std::borrow::Cow::Owned(joined) => Some(joined),
        };
        Self { text, data, whole: whole.map(std::borrow::Cow::into_owned), repeats }
    }
}
