//! Byte ranges of the parts of a page: front matter, heading, header table, sections and tags. `parse` and `edit` share
//! these offsets, so they cannot disagree.

use std::ops::Range;

use super::{
    verbatim::front_matter,
    verbatim::{Verbatim, next_line},
};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WikiSection {
    pub(crate) title: String,
    pub(crate) level: usize,
    /// Heading line, including its line ending.
    pub(crate) heading: Range<usize>,
    /// Text up to the next heading of any level.
    pub(crate) body: Range<usize>,
}

/// A tag `[[name::value]]` outside of quoted text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WikiTag {
    pub(crate) name: String,
    pub(crate) value: String,
    /// Whole tag, including the brackets.
    pub(crate) range: Range<usize>,
}

#[derive(Debug)]
pub(crate) struct PageLayout {
    /// Text of the heading. `None` if the page does not start with a heading.
    pub(crate) title: Option<String>,
    /// End of the heading line; else end of the front matter or the byte order mark; else 0.
    pub(crate) heading_end: usize,
    /// Header table, including its last line ending.
    pub(crate) table: Option<Range<usize>>,
    pub(crate) sections: Vec<WikiSection>,
    pub(crate) tags: Vec<WikiTag>,
}

impl PageLayout {
    /// Finds the parts of a page. Never fails.
    pub(crate) fn parse(text: &str) -> Self {
        let verbatim = Verbatim::find(text);
        let (title, heading_end) = heading(text);
        let sections = sections(text, heading_end, &verbatim);
        let tags = tags(text, &verbatim);
        let header_end = sections.first().map_or(text.len(), |section| section.heading.start);
        let table = header_table(text, heading_end..header_end, &tags, &verbatim);
        Self { title, heading_end, table, sections, tags }
    }

    pub(crate) fn body_start(&self) -> usize {
        self.table.as_ref().map_or(self.heading_end, |table| table.end)
    }

    pub(crate) fn overview(&self) -> Option<&WikiSection> {
        let named = |name: &str| self.sections.iter().find(|s| s.title.eq_ignore_ascii_case(name));
        named("Overview").or_else(|| named("Definition"))
    }

    /// Returns the range of a section's body, including its subsections.
    pub(crate) fn section_with_children(&self, name: &str, end_of_text: usize) -> Option<Range<usize>> {
        let index = self.sections.iter().position(|s| s.title.eq_ignore_ascii_case(name))?;
        let section = &self.sections[index];
        let next = self.sections[index + 1..].iter().find(|other| other.level <= section.level);
        Some(section.body.start..next.map_or(end_of_text, |other| other.heading.start))
    }

    pub(crate) fn tags_named(&self, name: &str) -> impl Iterator<Item = &WikiTag> {
        self.tags.iter().filter(move |tag| tag.name == name)
    }
}

fn heading(text: &str) -> (Option<String>, usize) {
    let start = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let start = front_matter(text, start).unwrap_or(start);
    let mut at = start;
    while at < text.len() {
        let end = next_line(text, at);
        let line = text[at..end].trim();
        if line.is_empty() {
            at = end;
            continue;
        }
        let markdown = line.strip_prefix('#').filter(|rest| !rest.starts_with('#')).map(without_closing);
        let title = markdown.or_else(|| section_title(line).filter(|(level, _)| *level == 1).map(|(_, t)| t));
        let under = text[end..next_line(text, end)].trim_end();
        if title.is_none() && under.len() >= 3 && under.bytes().all(|byte| byte == b'=') {
            return (Some(line.to_owned()), next_line(text, end));
        }
        return match title {
            Some(title) => (Some(title.to_owned()), end),
            None => (None, start),
        };
    }
    (None, start)
}

/// Returns the title of `# Title #`.
fn without_closing(title: &str) -> &str {
    let title = title.trim();
    title.trim_end_matches('#').strip_suffix([' ', '\t']).map_or(title, str::trim_end)
}

/// Returns level and text of a `== heading ==`.
fn section_title(line: &str) -> Option<(usize, &str)> {
    let line = line.trim_end();
    let opening = line.len() - line.trim_start_matches('=').len();
    let closing = line.len() - line.trim_end_matches('=').len();
    let level = opening.min(closing).min(6);
    if level == 0 || opening == line.len() {
        return None;
    }
    let title = line[level..line.len() - level].trim();
    (!title.is_empty()).then_some((level, title))
}

fn sections(text: &str, from: usize, verbatim: &Verbatim) -> Vec<WikiSection> {
    let mut sections: Vec<WikiSection> = Vec::new();
    let mut at = from;
    while at < text.len() {
        let end = next_line(text, at);
        if text[at..].starts_with('=')
            && let Some((level, title)) = section_title(&text[at..end])
            && !verbatim.covers(at)
        {
            if let Some(last) = sections.last_mut() {
                last.body.end = at;
            }
            sections.push(WikiSection {
                title: title.to_owned(),
                level,
                heading: at..end,
                body: end..text.len(),
            });
        }
        at = end;
    }
    sections
}

fn tags(text: &str, verbatim: &Verbatim) -> Vec<WikiTag> {
    let bytes = text.as_bytes();
    let mut tags = Vec::new();
    let mut at = 0;
    while let Some(offset) = text[at..].find("[[") {
        let start = at + offset;
        // "[[[x::y]]" contains a tag after its first bracket.
        at = start + 1;
        let name_start = start + 2;
        let name_end = bytes[name_start..]
            .iter()
            .position(|b| !(b.is_ascii_alphanumeric() || *b == b'_'))
            .map_or(text.len(), |length| name_start + length);
        if name_end == name_start || !text[name_end..].starts_with("::") {
            if name_end > name_start {
                at = name_end;
            }
            continue;
        }
        let value_start = name_end + 2;
        let (value_end, closed) = value_end(bytes, value_start);
        at = value_end;
        if closed && !verbatim.covers(start) {
            tags.push(WikiTag {
                name: text[name_start..name_end].to_owned(),
                value: text[value_start..value_end].trim().to_owned(),
                range: start..value_end + 2,
            });
        }
    }
    tags
}

/// Returns the end of a tag's value and whether `]]` follows. A value cannot span lines or contain a tag.
fn value_end(bytes: &[u8], from: usize) -> (usize, bool) {
    let mut at = from;
    while at < bytes.len() {
        match (bytes[at], bytes.get(at + 1)) {
            (b']', Some(b']')) => return (at, true),
            (b'[', Some(b'[')) | (b'\n', _) => return (at, false),
            _ => at += 1,
        }
    }
    (at, false)
}

/// Returns the first table before the sections that looks like a page header.
fn header_table(
    text: &str,
    within: Range<usize>,
    tags: &[WikiTag],
    verbatim: &Verbatim,
) -> Option<Range<usize>> {
    let (mut at, mut open) = (within.start, Vec::new());
    while at < within.end {
        let end = next_line(text, at).min(within.end);
        let line = text[at..end].trim();
        if line.starts_with("{|") && !verbatim.covers(at) {
            open.push(at);
        } else if line.starts_with("|}") && !verbatim.covers(at) {
            let start = open.pop();
            if let Some(start) = start.filter(|start| open.is_empty() && is_header(text, *start..end, tags)) {
                return Some(start..end);
            }
        }
        at = end;
    }
    None
}

fn is_header(text: &str, table: Range<usize>, tags: &[WikiTag]) -> bool {
    let first = tags.partition_point(|tag| tag.range.start < table.start);
    let tagged = tags[first..]
        .iter()
        .take_while(|tag| tag.range.start < table.end)
        .any(|tag| matches!(tag.name.as_str(), "source" | "domain" | "last_updated"));
    tagged
        || text[table]
            .lines()
            .filter_map(|line| line.trim().strip_prefix('!'))
            .any(|title| matches!(title.trim(), "Knowledge Sources" | "Domains" | "Last Updated"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_laid_out() {
        let text = "\u{feff}# Principle: X\n\n{|\n! Domains\n| [[domain::A_b]]\n|}\n\n== Overview ==\nShort.\n=== More ===\nx\n";
        let layout = PageLayout::parse(text);
        assert_eq!(layout.title.as_deref(), Some("Principle: X"));
        assert_eq!(&text[layout.table.clone().unwrap()], "{|\n! Domains\n| [[domain::A_b]]\n|}\n");
        assert_eq!(&text[layout.overview().unwrap().body.clone()], "Short.\n");
        assert_eq!(layout.tags[0].value, "A_b");
        assert_eq!(
            &text[layout.section_with_children("overview", text.len()).unwrap()],
            "Short.\n=== More ===\nx\n"
        );
    }

    #[test]
    fn front_matter_comes_before_the_heading() {
        for (text, rest) in [
            ("---\ntitle: Front matter page\ntags:\n  - a\n---\n# Principle: X\nText.\n", "Text.\n"),
            ("\u{feff}--- \r\nkey: v\r\n# why\r\n...\r\n\r\n= X =\r\nText.\n", "Text.\n"),
            ("---\n---\n# X\n", ""),
        ] {
            let layout = PageLayout::parse(text);
            assert!(layout.title.is_some_and(|title| title.ends_with('X')), "{text}");
            assert_eq!(&text[layout.heading_end..], rest);
        }
        let untitled = "---\nkey: v\n---\nText.\n";
        assert_eq!(&untitled[PageLayout::parse(untitled).heading_end..], "Text.\n");
    }

    #[test]
    fn headings_and_tags_in_code_are_text() {
        let layout = PageLayout::parse("= X =\n```\n== No ==\n[[step::Principle:A]]\n```\n== Yes ==\n");
        assert_eq!(layout.sections.iter().map(|s| s.title.as_str()).collect::<Vec<_>>(), ["Yes"]);
        assert!(layout.tags.is_empty());
    }

    #[test]
    fn a_later_table_is_content() {
        assert_eq!(PageLayout::parse("# X\n{|\n| a\n|}\n").table, None);
        assert_eq!(PageLayout::parse("# X\n== Y ==\n{|\n| [[domain::a]]\n|}\n").table, None);
        assert_eq!(PageLayout::parse("# X\n{|\n| [[domain::a]]\n").table, None);
    }

    #[test]
    fn odd_brackets_are_read_in_linear_time() {
        assert_eq!(PageLayout::parse("[[[a::b]]").tags.len(), 1);
        assert_eq!(PageLayout::parse("[[a::b [[c::d]]").tags[0].name, "c");
        for piece in ["[[", "[[a::", "[[a", "]]", "{|\n", "=", "[[a::b\n"] {
            assert!(PageLayout::parse(&piece.repeat(500_000)).tags.is_empty());
        }
    }
}
