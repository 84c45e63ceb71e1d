//! Converts HTML to Markdown-like text. Streams the tags without building a tree, so deep nesting costs no extra
//! memory.

mod hidden;
mod table;
mod xhtml;

use html5gum::{DefaultEmitter, EndTag, StartTag, Token, Tokenizer};

use crate::markdown::{fenced, linked};
use hidden::HiddenElement;
use table::TableState;

const MAX_INDENT: usize = 6;

const SOFT_HYPHEN: &str = "\u{ad}";

/// Longer link targets hold data and are dropped.
const MAX_LINK: usize = 300;

pub(crate) fn markdown(html: &str) -> String {
    let html = &*xhtml::as_html(html);
    let mut emitter = DefaultEmitter::default();
    emitter.naively_switch_states(true);
    let mut page = HtmlConverter::default();
    for Ok(token) in Tokenizer::new_with_emitter(html, emitter) {
        match token {
            Token::StartTag(tag) => page.open(&tag),
            Token::EndTag(EndTag { name, .. }) => page.close(&name),
            Token::String(text) => page.push_text(&String::from_utf8_lossy(&text.value)),
            _ => {}
        }
    }
    page.finish()
}

#[derive(Default)]
struct HtmlConverter {
    out: String,
    /// True if a space is pending before the next text.
    space: bool,
    hidden: Option<HiddenElement>,
    /// Open lists, with the next number of an ordered list.
    lists: Vec<Option<u32>>,
    /// Output offset of the open preformatted text.
    preformatted: Option<usize>,
    /// Output offset and target of the open link.
    link: Option<(usize, String)>,
    table: TableState,
}

impl HtmlConverter {
    fn open(&mut self, tag: &StartTag<()>) {
        let name: &[u8] = &tag.name;
        if let Some(hidden) = &mut self.hidden {
            if !hidden.ends_before(name) {
                return;
            }
            self.hidden = None;
        }
        self.hidden = HiddenElement::from_tag(tag);
        if self.hidden.is_some() {
            return;
        }
        match name {
            // Other tags in preformatted text do not affect the structure.
            b"br" if self.preformatted.is_some() => self.out.push('\n'),
            _ if self.preformatted.is_some() => {}
            b"title" => self.block(),
            b"h1" | b"h2" | b"h3" | b"h4" | b"h5" | b"h6" => {
                self.leave_table();
                self.block();
                let level = usize::from(name[1] - b'0');
                self.out.extend(std::iter::repeat_n('#', level));
                self.space = true;
            }
            b"pre" => {
                self.leave_table();
                self.block();
                self.preformatted = Some(self.out.len());
            }
            b"br" => self.line(),
            b"ul" => self.list(None),
            b"ol" => self.list(Some(number(tag, b"start").unwrap_or(1))),
            b"li" => self.item(number(tag, b"value")),
            b"sup" => self.push_mark("^"),
            b"sub" => self.push_mark("_"),
            b"s" | b"del" | b"strike" => self.push_mark("~~"),
            b"code" | b"kbd" | b"samp" | b"tt" => self.push_mark("`"),
            b"a" => self.anchor(tag),
            b"img" => {
                if let Some(text) = tag.attributes.get(b"alt".as_slice()) {
                    self.push_text(&String::from_utf8_lossy(&text.value));
                }
            }
            b"table" => {
                self.block();
                self.table.depth += 1;
                if self.table.depth == 1 {
                    (self.table.rows, self.table.cells) = (0, 0);
                }
            }
            b"tr" if self.table.depth() == 1 => {
                // An end tag may be left out.
                self.end_row();
                self.line();
            }
            b"td" | b"th" if self.table.depth() == 1 => {
                self.out.push_str(if self.table.cells == 0 { "| " } else { " | " });
                self.space = false;
                self.table.cells += 1;
            }
            b"td" | b"th" | b"tr" if self.table.depth() > 1 => self.space = true,
            b"td" | b"th" => self.block(),
            _ if is_block(name) => self.block(),
            _ => {}
        }
    }

    fn close(&mut self, name: &[u8]) {
        if let Some(hidden) = &mut self.hidden {
            if hidden.ends_with(name) {
                self.hidden = None;
            }
            return;
        }
        match name {
            b"pre" => self.end_preformatted(),
            _ if self.preformatted.is_some() => {}
            b"ul" | b"ol" => {
                self.lists.pop();
                if self.lists.is_empty() { self.block() } else { self.line() }
            }
            b"code" | b"kbd" | b"samp" | b"tt" => {
                self.space = false;
                self.push_mark("`");
            }
            b"s" | b"del" | b"strike" => {
                self.space = false;
                self.push_mark("~~");
            }
            b"a" => self.end_anchor(),
            b"table" => {
                if self.table.depth() == 1 {
                    self.end_row();
                }
                self.table.depth = self.table.depth.saturating_sub(1);
                self.table.is_layout &= self.table.depth > 0;
                self.block();
            }
            b"tr" if self.table.depth() == 1 => self.end_row(),
            _ if is_block(name) || name.len() == 2 && name[0] == b'h' && name[1].is_ascii_digit() => {
                self.block()
            }
            _ => {}
        }
    }

    fn push_text(&mut self, text: &str) {
        if self.hidden.is_some() {
            return;
        }
        if self.preformatted.is_some() {
            self.out.push_str(&text.replace('\u{a0}', " "));
            return;
        }
        let text = text.replace(SOFT_HYPHEN, "");
        for (index, word) in text.split(|c: char| c.is_ascii_whitespace()).enumerate() {
            self.space |= index > 0;
            if word.is_empty() {
                continue;
            }
            self.push_space();
            if self.table.depth() > 0 && word.contains('|') {
                self.out.push_str(&word.replace('|', "\\|"));
            } else {
                self.out.push_str(word);
            }
        }
    }

    /// Writes the pending space, unless at the start of a line.
    fn push_space(&mut self) {
        if std::mem::take(&mut self.space) && !self.out.is_empty() && !self.out.ends_with(['\n', ' ']) {
            self.out.push(' ');
        }
    }

    fn push_mark(&mut self, mark: &str) {
        self.push_space();
        self.out.push_str(mark);
    }

    /// Ends the paragraph. A table cell stays on one line.
    fn block(&mut self) {
        self.line();
        let empty = self.out.is_empty() || self.out.ends_with("\n\n");
        if self.table.depth() == 0 && !empty && self.lists.is_empty() {
            self.out.push('\n');
        }
    }

    fn line(&mut self) {
        let depth = self.table.depth();
        self.space = depth > 0 && self.table.cells > 0;
        let in_row = depth > 1 || depth == 1 && self.table.cells > 0;
        let fresh = self.out.is_empty() || self.out.ends_with('\n') || self.out.ends_with("- ");
        if !in_row && !fresh {
            self.out.push('\n');
        }
    }

    fn list(&mut self, counter: Option<u32>) {
        if self.lists.is_empty() {
            self.block()
        } else {
            self.line()
        }
        self.lists.push(counter);
    }

    fn item(&mut self, value: Option<u32>) {
        self.line();
        if self.table.depth() == 0 {
            let indent = self.lists.len().saturating_sub(1).min(MAX_INDENT);
            self.out.extend(std::iter::repeat_n("  ", indent));
        }
        self.push_space();
        match self.lists.last_mut() {
            Some(Some(next)) => {
                let number = value.unwrap_or(*next);
                *next = number.saturating_add(1);
                self.out.push_str(&format!("{number}. "));
            }
            _ => self.out.push_str("- "),
        }
        self.space = false;
    }

    fn anchor(&mut self, tag: &StartTag<()>) {
        self.end_anchor();
        let Some(target) = tag.attributes.get(b"href".as_slice()) else { return };
        let target = String::from_utf8_lossy(&target.value);
        let leads = !target.is_empty() && !target.starts_with(['#', ' ']) && target.len() <= MAX_LINK;
        let address = !target.contains(|c: char| c.is_control() || matches!(c, '<' | '>'));
        if leads && address && !target.to_ascii_lowercase().starts_with("javascript:") {
            self.push_space();
            self.link = Some((self.out.len(), target.trim_end().to_owned()));
        }
    }

    fn end_anchor(&mut self) {
        let Some((start, target)) = self.link.take() else { return };
        let text = self.out.split_off(start);
        // A link around headings and paragraphs, as cards have it, keeps them.
        let is_block = text.starts_with('#') || text.contains("\n\n");
        if text.trim().is_empty() {
            self.out.push_str(&text);
        } else if is_block {
            self.out.push_str(&format!("{}\n{target}\n", text.trim_end()));
        } else {
            self.out.push_str(&linked(&text, &target));
        }
    }

    fn end_preformatted(&mut self) {
        let Some(start) = self.preformatted.take() else { return };
        let code = self.out.split_off(start);
        let code = code.strip_prefix('\n').unwrap_or(&code);
        // Line numbers beside the code.
        let is_gutter =
            self.table.is_layout && code.split_whitespace().all(|line| line.parse::<u32>().is_ok());
        if !code.trim().is_empty() && !is_gutter {
            self.out.push_str(&fenced(code, ""));
        }
        self.block();
    }

    fn finish(mut self) -> String {
        self.end_preformatted();
        self.end_anchor();
        let text = self.out.trim();
        if text.is_empty() { String::new() } else { format!("{text}\n") }
    }
}

/// Returns the number in an attribute.
fn number(tag: &StartTag<()>, attribute: &[u8]) -> Option<u32> {
    String::from_utf8_lossy(&tag.attributes.get(attribute)?.value).trim().parse().ok()
}

const BLOCK_ELEMENTS: &str = "address article aside blockquote body caption dd details div dl dt fieldset figcaption figure \
    footer form head header hr html li main nav option p section summary tbody thead title";

fn is_block(name: &[u8]) -> bool {
    BLOCK_ELEMENTS.split(' ').any(|block| block.as_bytes() == name)
}

#[cfg(test)]
mod tests;
