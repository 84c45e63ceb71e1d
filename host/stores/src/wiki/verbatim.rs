//! Finds YAML front matter, which is not page content, and quoted parts of a page that have no meaning as markup:
//! fenced and inline code, elements such as `<syntaxhighlight>`, and comments. An unclosed part is not quoted, so that a stray
//! fence cannot hide links.
//!
//! Runs in linear time.

use std::ops::Range;

const ELEMENTS: [&str; 5] = ["syntaxhighlight", "source", "nowiki", "pre", "code"];

/// Longer fences are treated as this long, which bounds the number of searches for a closing fence.
const MAX_FENCE: usize = 8;

/// Quoted ranges, sorted and disjoint.
#[derive(Debug, Default)]
pub(crate) struct Verbatim(Vec<Range<usize>>);

impl Verbatim {
    pub(crate) fn find(text: &str) -> Self {
        VerbatimScanner::new(text).run()
    }

    pub(crate) fn covers(&self, at: usize) -> bool {
        let after = self.0.partition_point(|range| range.start <= at);
        after > 0 && at < self.0[after - 1].end
    }
}

struct VerbatimScanner<'a> {
    text: &'a str,
    /// ASCII-lowercase copy of `text`, with the same byte offsets.
    lower: String,
    /// Elements, and last the comment, without an end after the current position.
    unclosed: [bool; ELEMENTS.len() + 1],
    /// Fences without an end after the current position, by character and length.
    unclosed_fences: [[bool; MAX_FENCE + 1]; 2],
}

impl<'a> VerbatimScanner<'a> {
    fn new(text: &'a str) -> Self {
        Self {
            text,
            lower: text.to_ascii_lowercase(),
            unclosed: [false; ELEMENTS.len() + 1],
            unclosed_fences: [[false; MAX_FENCE + 1]; 2],
        }
    }

    fn run(mut self) -> Verbatim {
        let mut ranges = Vec::new();
        let mut line = 0;
        while line < self.text.len() {
            if let Some(end) = self.fence(line) {
                ranges.push(line..end);
                line = end;
                continue;
            }
            let mut at = line;
            let mut line_end = next_line(self.text, line);
            while let Some(offset) = self.text[at..line_end].find(['<', '`']) {
                let start = at + offset;
                if self.text[start..].starts_with('`') {
                    let (code, end) = inline_code(&self.text[..line_end], start);
                    ranges.extend(code.then_some(start..end));
                    at = end;
                } else if let Some(end) = self.element(start) {
                    ranges.push(start..end);
                    at = end;
                    if end > line_end {
                        line_end = next_line(self.text, end);
                    }
                } else {
                    at = start + 1;
                }
            }
            line = line_end;
        }
        Verbatim(ranges)
    }

    /// Returns the end of the fenced block that opens at `line`.
    fn fence(&mut self, line: usize) -> Option<usize> {
        let end = next_line(self.text, line);
        let (mark, length, rest) = fence_of(&self.text[line..end])?;
        if mark == '`' && rest.contains('`') {
            return None;
        }
        let length = length.min(MAX_FENCE);
        let unclosed = &mut self.unclosed_fences[usize::from(mark == '~')][length];
        if *unclosed {
            return None;
        }
        let mut at = end;
        while at < self.text.len() {
            let end = next_line(self.text, at);
            if let Some((other, count, rest)) = fence_of(&self.text[at..end])
                && other == mark
                && count >= length
                && rest.trim().is_empty()
            {
                return Some(end);
            }
            at = end;
        }
        *unclosed = true;
        None
    }

    /// Returns the end of the element or comment that opens at `start`, which must be a `<`.
    fn element(&mut self, start: usize) -> Option<usize> {
        let rest = &self.lower[start + 1..];
        if rest.starts_with("!--") {
            return self.close(ELEMENTS.len(), start + 4, "-->");
        }
        let (index, name) = ELEMENTS.iter().enumerate().find(|(_, name)| rest.starts_with(**name))?;
        let attributes = &rest[name.len()..];
        if !attributes.starts_with(|c: char| c == '>' || c.is_ascii_whitespace()) {
            return None;
        }
        // An opening tag must end on its line and before the next tag, so that `<pre ` alone does not search the page.
        let head = attributes.find(['>', '\n', '<']).filter(|at| attributes[*at..].starts_with('>'))?;
        if attributes[..head].ends_with('/') {
            return None;
        }
        self.close(index, start + 1 + name.len() + head, &format!("</{name}>"))
    }

    fn close(&mut self, index: usize, from: usize, end: &str) -> Option<usize> {
        if self.unclosed[index] {
            return None;
        }
        let position = self.lower[from..].find(end);
        self.unclosed[index] = position.is_none();
        position.map(|at| from + at + end.len())
    }
}

/// Returns whether the backticks at `start` begin code that ends on this line, and the end of it or of the backticks.
fn inline_code(line: &str, start: usize) -> (bool, usize) {
    let run = |from: usize| line[from..].bytes().take_while(|byte| *byte == b'`').count();
    let opened = run(start);
    let mut at = start + opened;
    // Each longer run would be searched for to the end of the line.
    if opened > MAX_FENCE {
        return (false, at);
    }
    while let Some(offset) = line[at..].find('`') {
        let closed = run(at + offset);
        at += offset + closed;
        if closed == opened {
            return (true, at);
        }
    }
    (false, start + opened)
}

/// Returns character, length and rest of a line that starts with a fence.
fn fence_of(line: &str) -> Option<(char, usize, &str)> {
    let line = line.trim_start_matches([' ', '\t']);
    let mark = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let rest = line.trim_start_matches(mark);
    let length = line.len() - rest.len();
    (length >= 3).then_some((mark, length, rest))
}

pub(crate) fn next_line(text: &str, at: usize) -> usize {
    text[at..].find('\n').map_or(text.len(), |offset| at + offset + 1)
}

/// Returns the end of the front matter at `from`: settings between two `---` lines. `None` if there is none; prose
/// between two horizontal rules does not count.
pub(super) fn front_matter(text: &str, from: usize) -> Option<usize> {
    let mut at = next_line(text, from);
    if text[from..at].trim_end() != "---" {
        return None;
    }
    let mut is_first = true;
    while at < text.len() {
        let end = next_line(text, at);
        let line = text[at..end].trim_end();
        match line {
            "---" | "..." => return Some(end),
            "" => {}
            // A `#` here is the heading of a page that starts with a rule.
            _ if is_first && !is_setting(line) => return None,
            _ => is_first = false,
        }
        at = end;
    }
    None
}

pub(super) fn has_front_matter(page: &[u8]) -> bool {
    let page = page.strip_prefix("\u{feff}".as_bytes()).unwrap_or(page);
    page.starts_with(b"---") && str::from_utf8(page).is_ok_and(|text| front_matter(text, 0).is_some())
}

/// Returns `true` if a line is `key: value` or `key:`.
fn is_setting(line: &str) -> bool {
    line.split_once(':').is_some_and(|(key, value)| {
        let plain = |c: char| c.is_alphanumeric() || "_-.\"' ".contains(c);
        !key.is_empty() && key.chars().all(plain) && (value.is_empty() || value.starts_with([' ', '\t']))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quoted(text: &str) -> String {
        let verbatim = Verbatim::find(text);
        text.char_indices().filter(|(at, _)| verbatim.covers(*at)).map(|(_, c)| c).collect()
    }

    #[test]
    fn fences_and_elements_are_quoted() {
        assert_eq!(quoted("a\n```py\nx\n```\nb"), "```py\nx\n```\n");
        assert_eq!(quoted("a `b` ``c ` d`` <e"), "`b```c ` d``");
        assert_eq!(quoted("a <pre>x\n= y =</pre> b <!-- c --> d"), "<pre>x\n= y =</pre><!-- c -->");
        assert_eq!(
            quoted("<SyntaxHighlight lang=\"py\">\n```\n</syntaxhighlight>\n```"),
            "<SyntaxHighlight lang=\"py\">\n```\n</syntaxhighlight>"
        );
    }

    #[test]
    fn unclosed_parts_are_not_quoted() {
        assert_eq!(quoted("```\nx\n<pre>\n<!-- \n~~~~\n~~~\n<nowiki/>"), "");
        assert_eq!(quoted("<preface>x</preface> ``a` ```b"), "");
    }

    #[test]
    fn hostile_text_takes_linear_time() {
        for piece in
            ["<pre>", "<pre></pre>", "```\n", "<!--", "<code ", "~~~~~~~~~~~\n````\n", "<pre>\n```\n"]
        {
            assert!(!Verbatim::find(&piece.repeat(400_000)).covers(usize::MAX), "{piece}");
        }
    }

    #[test]
    fn settings_between_two_lines_are_front_matter_and_prose_is_not() {
        for text in [
            "---\nIt is prose.\n---\n",
            "---\nkey: v\n",
            "----\nkey: v\n----\n",
            "---\nhttp://x\n---\n",
            "---\n# X\n---\n",
        ] {
            assert_eq!(front_matter(text, 0), None, "{text}");
            assert!(!has_front_matter(text.as_bytes()), "{text}");
        }
        for text in
            ["---\ntitle: x\n---\nrest", "---\n\n'a b': # why\n  - c\n...\nrest", "---\r\n---\r\nrest"]
        {
            assert_eq!(front_matter(text, 0).map(|end| &text[end..]), Some("rest"), "{text}");
            assert!(has_front_matter(format!("\u{feff}{text}").as_bytes()), "{text}");
        }
    }
}
