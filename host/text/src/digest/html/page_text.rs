//! Reads the text of a page in one pass, with the line of the page for each line.

use super::{BLOCK_ELEMENTS, HIDDEN_ELEMENTS, after_element, decode_entities, tag};

/// The text of a page, with `#` for headings and `-` for list items.
pub(super) struct PageText {
    pub(super) text: String,
    /// Line of the page, from 1, on which each line of the text begins.
    pub(super) lines: Vec<usize>,
}

impl PageText {
    pub(super) fn from_html(html: &str) -> Self {
        let mut reader = PageReader {
            html,
            page: Self { text: String::with_capacity(html.len() / 2), lines: vec![1] },
            counted: 0,
            line: 1,
        };
        reader.read();
        reader.page
    }
}

struct PageReader<'a> {
    html: &'a str,
    page: PageText,
    /// Bytes of the page whose line ends are counted in `line`.
    counted: usize,
    line: usize,
}

impl PageReader<'_> {
    fn read(&mut self) {
        let mut rest = self.html;
        // Depth of `pre` elements, which preserve whitespace.
        let mut verbatim = 0_usize;
        while let Some(at) = rest.find('<') {
            self.push(self.html.len() - rest.len(), &rest[..at], verbatim > 0);
            rest = &rest[at..];
            if let Some(comment) = rest.strip_prefix("<!--") {
                rest = comment.split_once("-->").map_or("", |(_, after)| after);
                continue;
            }
            let from = self.html.len() - rest.len();
            let Some((name, closes, after)) = tag(rest) else {
                self.push(from, "<", verbatim > 0);
                rest = &rest[1..];
                continue;
            };
            rest = after;
            if !closes && HIDDEN_ELEMENTS.contains(&name.as_str()) {
                rest = after_element(rest, &name);
                continue;
            }
            match name.as_bytes() {
                [b'h', level @ b'1'..=b'6'] => {
                    self.end_line();
                    if !closes {
                        self.begin(from, &format!("{} ", "#".repeat(usize::from(level - b'0'))));
                    }
                }
                b"li" if !closes => {
                    self.end_line();
                    self.begin(from, "- ");
                }
                b"td" | b"th" if !closes => {
                    let mark = if self.page.text.ends_with('\n') { "" } else { " | " };
                    self.page.text.push_str(mark);
                }
                _ if BLOCK_ELEMENTS.contains(&name.as_str()) => {
                    self.end_line();
                    let text = &self.page.text;
                    if matches!(name.as_str(), "p" | "pre") && !text.is_empty() && !text.ends_with("\n\n") {
                        self.new_line();
                    }
                    if name == "pre" {
                        verbatim = if closes { verbatim.saturating_sub(1) } else { verbatim + 1 };
                    }
                }
                _ => {}
            }
        }
        self.push(self.html.len() - rest.len(), rest, verbatim > 0);
    }

    /// Adds text that begins at this byte of the page.
    fn push(&mut self, from: usize, text: &str, verbatim: bool) {
        let mut at = from;
        for piece in text.split_inclusive('\n') {
            let line = decode_entities(piece.strip_suffix('\n').filter(|_| verbatim).unwrap_or(piece));
            if line.contains(|c: char| !c.is_whitespace()) {
                self.begin(at + piece.len() - piece.trim_start().len(), "");
            }
            if verbatim {
                self.page.text.push_str(&line);
                if piece.ends_with('\n') {
                    self.new_line();
                }
            } else {
                push_words(&mut self.page.text, &line);
            }
            at += piece.len();
        }
    }

    /// Adds what begins a line, and remembers the line of the page if the text begins a line here, too.
    fn begin(&mut self, at: usize, mark: &str) {
        if self.page.text.is_empty() || self.page.text.ends_with('\n') {
            self.line += self.html.as_bytes()[self.counted..at].iter().filter(|byte| **byte == b'\n').count();
            self.counted = at;
            if let Some(last) = self.page.lines.last_mut() {
                *last = self.line;
            }
        }
        self.page.text.push_str(mark);
    }

    fn end_line(&mut self) {
        while self.page.text.ends_with(' ') {
            self.page.text.pop();
        }
        if !self.page.text.is_empty() && !self.page.text.ends_with('\n') {
            self.new_line();
        }
    }

    fn new_line(&mut self) {
        self.page.text.push('\n');
        self.page.lines.push(self.line);
    }
}

/// Adds text with single spaces.
fn push_words(out: &mut String, text: &str) {
    for c in text.chars() {
        if !c.is_whitespace() {
            out.push(c);
        } else if !out.ends_with([' ', '\n']) && !out.is_empty() {
            out.push(' ');
        }
    }
}
