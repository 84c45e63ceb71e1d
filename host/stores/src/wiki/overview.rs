//! The overview of a page: the text under its own heading, else the first prose of the description or page.

use std::ops::Range;

use super::{
    layout::PageLayout,
    parse::plain,
    verbatim::front_matter,
    verbatim::{Verbatim, next_line},
};

/// Maximum characters of an overview that is taken from prose. Text under an overview heading is not cut.
const MAX_OVERVIEW_CHARS: usize = 1000;

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Overview {
    /// Empty if the page has no prose.
    pub(super) text: String,
    /// True if the text is under its own heading.
    pub(super) own: bool,
}

impl Overview {
    pub(super) fn from_layout(text: &str, layout: &PageLayout) -> Self {
        let own_text = layout.overview().map(|section| plain(&text[section.body.clone()]));
        if let Some(text) = own_text.filter(|text| !text.is_empty()) {
            return Self { text, own: true };
        }
        let verbatim = Verbatim::find(text);
        let prose = |range| first_prose(text, range, layout, &verbatim);
        let described = layout.section_with_children("Description", text.len()).and_then(prose);
        let paragraph = described.or_else(|| prose(layout.heading_end..text.len()));
        Self { text: paragraph.map(|text| bounded(&plain(&text))).unwrap_or_default(), own: false }
    }
}

/// Returns the first paragraph of prose: not a list, table, heading, code, or only tags.
fn first_prose(text: &str, range: Range<usize>, layout: &PageLayout, verbatim: &Verbatim) -> Option<String> {
    let first = range.end - text[range.clone()].trim_start().len();
    // In content from a caller, front matter follows the generated heading.
    let start = front_matter(text, first).filter(|end| *end <= range.end).unwrap_or(range.start);
    let (mut at, mut tables, mut paragraph) = (start, 0_usize, None::<Range<usize>>);
    while at < range.end {
        let end = next_line(text, at).min(range.end);
        let line = text[at..end].trim();
        let quoted = verbatim.covers(at);
        if line.starts_with("{|") && !quoted {
            tables += 1;
        }
        if tables == 0 && is_prose(line) && has_prose(text, at..end, layout, verbatim) {
            paragraph = Some(paragraph.map_or(at, |paragraph| paragraph.start)..end);
        } else if let Some(paragraph) = paragraph {
            return Some(text[paragraph].to_owned());
        }
        if line.starts_with("|}") && !quoted {
            tables = tables.saturating_sub(1);
        }
        at = end;
    }
    paragraph.map(|paragraph| text[paragraph].to_owned())
}

/// Returns `true` if a line does not start like a heading, list, table or rule.
fn is_prose(line: &str) -> bool {
    // A picture that is a link is a badge.
    let listed = ["- ", "+ ", "---", "[!["].iter().any(|mark| line.starts_with(mark));
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let numbered = rest.len() < line.len() && (rest.starts_with(". ") || rest.starts_with(") "));
    !line.starts_with(['=', '#', '*', ':', ';', '|', '!', '{', '>']) && !listed && !numbered
}

/// Returns `true` if a line contains a letter outside of code, comments and tags.
fn has_prose(text: &str, line: Range<usize>, layout: &PageLayout, verbatim: &Verbatim) -> bool {
    text[line.clone()].char_indices().any(|(offset, c)| {
        let at = line.start + offset;
        let before = layout.tags.partition_point(|tag| tag.range.start <= at);
        let in_tag = before > 0 && at < layout.tags[before - 1].range.end;
        c.is_alphabetic() && !in_tag && !verbatim.covers(at)
    })
}

fn bounded(text: &str) -> String {
    let Some((end, _)) = text.char_indices().nth(MAX_OVERVIEW_CHARS) else { return text.to_owned() };
    let cut = text[..end].rfind(char::is_whitespace).filter(|space| space * 2 > end).unwrap_or(end);
    format!("{}…", text[..cut].trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn overview(text: &str) -> (String, bool) {
        let Overview { text, own } = Overview::from_layout(text, &PageLayout::parse(text));
        (text, own)
    }

    #[test]
    fn a_heading_of_its_own_comes_first() {
        for text in [
            "# X\nIntro.\n== Overview ==\nOwn.\n== Description ==\nMore.\n",
            "# X\n== Definition ==\nOwn.\n",
            "= X =\n=== Overview ===\nOwn.\n",
        ] {
            assert_eq!(overview(text), ("Own.".into(), true), "{text}");
        }
    }

    #[test]
    fn then_the_first_prose_of_the_description() {
        for text in [
            "# X\nIntro.\n== Description ==\nIt is\nthis.\n\nMore.\n",
            "# X\nIntro.\n== Overview ==\n\n=== Description ===\n* a list\n\nIt is\nthis.\n",
            "# X\nIntro.\n== Description ==\n=== Part ===\n{|\n| cell\n|}\n```\ncode\n```\n[[step::Principle:A]]\nIt is\nthis.\n== Next ==\n",
        ] {
            assert_eq!(overview(text), ("It is\nthis.".into(), false), "{text}");
        }
    }

    #[test]
    fn then_the_first_paragraph_and_else_nothing() {
        let table = "{|\n! Domains\n| [[domain::A]]\n|}\n";
        for text in [
            format!("# X\n{table}\n== Usage ==\n1. a list\n\n`code` first, then words.\n\nMore."),
            format!("# X\n`code` first, then words.\n\n{table}\n== Description ==\n* a list\n"),
        ] {
            assert_eq!(overview(&text), ("`code` first, then words.".into(), false), "{text}");
        }
        for text in [
            "",
            "# X\n",
            "# X\n* a\n* b\n",
            "# X\n<pre>\nwords\n</pre>\n<!-- words -->\n[[domain::words]]\n42\n",
        ] {
            assert_eq!(overview(text), (String::new(), false), "{text}");
        }
    }

    #[test]
    fn front_matter_is_no_prose() {
        let matter = "---\ntitle: Front matter page\nauthor: me\n---\n";
        for text in [
            format!("{matter}# X\nIt is.\n"),
            format!("{matter}It is.\n"),
            format!("# X\n\n{matter}\nIt is.\n"),
        ] {
            assert_eq!(overview(&text), ("It is.".into(), false), "{text}");
        }
        assert_eq!(overview(&format!("{matter}# X\n== Overview ==\nOwn.\n")), ("Own.".into(), true));
        assert_eq!(overview(matter), (String::new(), false));
    }

    #[test]
    fn running_text_is_cut_at_a_word() {
        let (text, own) = overview(&format!("# X\n{}\n", "word ".repeat(1_000)));
        assert!(!own && text.chars().count() <= MAX_OVERVIEW_CHARS && text.ends_with("word…"), "{text}");
        let long = overview(&"é".repeat(100_000)).0;
        assert_eq!(long.chars().count(), MAX_OVERVIEW_CHARS + 1);
    }
}
