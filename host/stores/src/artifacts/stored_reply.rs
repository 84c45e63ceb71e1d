//! The text and the data of a stored reply.

use std::borrow::Cow;

use gatehouse_core::{outcome::Fault, reply_view::ReplyView};
use sha2::{Digest as _, Sha256};

use super::{RowReader, blocks::character, engine::PackedText, pointer};

impl PackedText {
    /// Compresses a text and its data, which follows it on a line of its own. Takes some milliseconds per megabyte.
    pub(super) fn from_text(text: &str, data: Option<&str>) -> Result<Self, Fault> {
        let Some(data) = data else { return Self::pack(text) };
        let separator = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        let stored = Self::pack(&format!("{text}{separator}{}", data.trim()))?;
        let (lines, characters) = (text.lines().count() as i64, text.chars().count() as i64);
        let digest = digest_with_data(&stored.digest, characters);
        Ok(Self { lines, characters, digest, ..stored })
    }

    /// Returns the text, and the data that was stored with it.
    pub(super) fn text_and_data(&self) -> Result<(String, Option<String>), Fault> {
        let mut text = self.full_text()?;
        let end = character(&text, self.characters);
        let data = Some(text.split_off(end)).filter(|data| !data.is_empty());
        Ok((text, data))
    }

    pub(super) fn view(&self) -> Result<ReplyView<'static>, Fault> {
        let (text, data) = self.text_and_data()?;
        let view = ReplyView::new(&[&text], data.as_deref()).into_owned();
        Ok(ReplyView { text: Cow::Borrowed(""), ..view })
    }
}

/// Returns the value at a pointer into the data, into the JSON that the data is a part of, or into the rows of the text.
pub(super) fn value_at(
    text: &str,
    data: Option<&str>,
    pointer: &str,
    row_reader: RowReader,
) -> Result<String, Fault> {
    let view = ReplyView::new(&[text], data);
    let lookup = view.data.as_ref().map(|data| (&data.json, pointer::find(&data.json, pointer)));
    let (json, place) = match (lookup, &view.whole) {
        (Some((json, Ok(place))), _) => (json, place),
        (lookup, Some(whole)) => match (pointer::find(whole, pointer), lookup) {
            (Ok(place), _) => (whole, place),
            (Err(_), Some((_, Err(fault)))) | (Err(fault), _) => return Err(fault),
        },
        (Some((_, Err(fault))), None) => return Err(fault),
        (None, None) => {
            let rows = row_reader(text).ok_or_else(|| pointer::not_json(text))?;
            return Ok(rows[pointer::find(&rows, pointer)?].to_owned());
        }
    };
    Ok(json[place].to_owned())
}

/// Returns the digest of a text of so many characters with data. It differs from that of the same bytes as one text.
pub(super) fn digest_with_data(digest: &[u8], characters: i64) -> Vec<u8> {
    Sha256::new().chain_update(digest).chain_update(characters.to_le_bytes()).finalize().to_vec()
}
