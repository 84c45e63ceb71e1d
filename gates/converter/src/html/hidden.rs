//! Elements whose text is not part of a page.

use html5gum::StartTag;

use super::is_block;

/// Elements without an end tag.
pub(super) const VOID: [&[u8]; 14] = [
    b"area", b"base", b"br", b"col", b"embed", b"hr", b"img", b"input", b"link", b"meta", b"param",
    b"source", b"track", b"wbr",
];

/// Elements whose end tag may be left out.
const IMPLIED_END: [&[u8]; 9] = [b"p", b"li", b"dd", b"dt", b"td", b"th", b"tr", b"option", b"tbody"];

/// An open element whose text is dropped.
pub(super) struct HiddenElement {
    name: Vec<u8>,
    /// Open elements of this name.
    depth: usize,
}

impl HiddenElement {
    /// Returns the element that a tag opens, if it is hidden.
    pub(super) fn from_tag(tag: &StartTag<()>) -> Option<Self> {
        let name: &[u8] = &tag.name;
        if VOID.contains(&name) {
            return None;
        }
        let attribute =
            |name: &[u8]| tag.attributes.get(name).map(|value| String::from_utf8_lossy(&value.value));
        // Readers of books show a note when its number is tapped.
        let is_note = attribute(b"epub:type").is_some_and(|kind| kind.contains("note"));
        let is_hidden = !is_note && attribute(b"hidden").is_some_and(|value| &*value != "until-found")
            || attribute(b"style").is_some_and(|style| {
                let style: String = style.to_ascii_lowercase().split_ascii_whitespace().collect();
                style.contains("display:none")
            });
        let hides = is_hidden || matches!(name, b"script" | b"style" | b"template");
        hides.then(|| Self { name: name.to_vec(), depth: 1 })
    }

    /// Notes a tag within the element. Returns whether the element ends before it.
    pub(super) fn ends_before(&mut self, name: &[u8]) -> bool {
        if name == self.name && !IMPLIED_END.contains(&name) {
            self.depth += 1;
        }
        self.is_implied_end(name)
    }

    /// Notes an end tag within the element. Returns whether it ends the element.
    pub(super) fn ends_with(&mut self, name: &[u8]) -> bool {
        if name == self.name {
            self.depth -= 1;
            return self.depth == 0;
        }
        self.is_implied_end(name)
    }

    /// Returns whether a tag ends an element without an end tag. It may end it too early, which shows more text.
    fn is_implied_end(&self, name: &[u8]) -> bool {
        IMPLIED_END.contains(&&*self.name)
            && (is_block(name) || matches!(name, b"table" | b"tr" | b"ul" | b"ol" | b"dl" | b"select"))
    }
}
