//! Parser for page text: sections that contain prose and code blocks.
//!
//! It drops the overview, which hits show separately, and headings without remaining content.

use crate::blocks::after_line;

pub(crate) struct PageBody<'a> {
    sections: Vec<BodySection<'a>>,
}

#[derive(Clone)]
struct BodySection<'a> {
    /// Heading line. Empty for the text before the first heading.
    heading: &'a str,
    /// 1 (outermost) to 6. 0 without a heading.
    level: usize,
    parts: Vec<BodyPart<'a>>,
}

#[derive(Clone, Copy)]
enum BodyPart<'a> {
    Prose(&'a str),
    Code(&'a str),
}

pub(crate) struct CodeBlock<'a> {
    pub(crate) heading: &'a str,
    pub(crate) text: &'a str,
}

pub(crate) fn without_overview(content: &str, overview: &str) -> String {
    let overview = overview.trim();
    if overview.is_empty() { content.to_owned() } else { content.replacen(overview, "", 1) }
}

impl<'a> PageBody<'a> {
    pub(crate) fn parse(text: &'a str) -> Self {
        let mut sections = vec![BodySection { heading: "", level: 0, parts: Vec::new() }];
        let (mut open, mut start, mut at) = (None, 0, 0);
        for line in text.split_inclusive('\n') {
            let (from, was_open) = (at, open.is_some());
            at += line.len();
            open = after_line(line, from, open);
            let heading = if was_open || open.is_some() { None } else { level(line) };
            let last = sections.len() - 1;
            let parts = &mut sections[last].parts;
            if let Some(level) = heading {
                push(parts, BodyPart::Prose(&text[start..from]));
                sections.push(BodySection { heading: line.trim_end(), level, parts: Vec::new() });
                start = at;
            } else if !was_open && open.is_some() {
                push(parts, BodyPart::Prose(&text[start..from]));
                start = from;
            } else if was_open && open.is_none() {
                push(parts, BodyPart::Code(&text[start..at]));
                start = at;
            }
        }
        let rest = &text[start..];
        let last = sections.len() - 1;
        push(
            &mut sections[last].parts,
            if open.is_some() { BodyPart::Code(rest) } else { BodyPart::Prose(rest) },
        );
        Self { sections: without_empty_sections(sections) }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.sections.is_empty()
    }

    pub(crate) fn code(&self) -> impl Iterator<Item = CodeBlock<'a>> {
        self.sections.iter().flat_map(|section| {
            section.parts.iter().filter_map(|part| match part {
                BodyPart::Code(text) => Some(CodeBlock { heading: section.heading, text }),
                BodyPart::Prose(_) => None,
            })
        })
    }

    /// Returns the page without code and the list of related pages, which hits show separately.
    pub(crate) fn prose(&self) -> Self {
        let is_list =
            |section: &BodySection<'_>| title(section.heading).eq_ignore_ascii_case("Related Pages");
        let mut under_list = None;
        let mut sections = Vec::new();
        for section in &self.sections {
            if under_list.is_some_and(|level| section.level <= level) {
                under_list = None;
            }
            if is_list(section) {
                under_list = Some(section.level);
            }
            if under_list.is_none() {
                let prose = section.parts.iter().filter(|part| matches!(part, BodyPart::Prose(_)));
                sections.push(BodySection { parts: prose.copied().collect(), ..section.clone() });
            }
        }
        Self { sections: without_empty_sections(sections) }
    }

    /// `code_first` moves chapters with code to the front.
    pub(crate) fn text(&self, code_first: bool) -> String {
        let chapters = self.chapters();
        let has_code = |chapter: &&[BodySection<'a>]| {
            chapter.iter().any(|section| section.parts.iter().any(|part| matches!(part, BodyPart::Code(_))))
        };
        let ordered: Vec<&[BodySection<'a>]> = if code_first {
            let (code, prose): (Vec<_>, Vec<_>) = chapters.into_iter().partition(has_code);
            code.into_iter().chain(prose).collect()
        } else {
            chapters
        };
        let sections = ordered.into_iter().flatten().map(BodySection::text);
        sections.collect::<Vec<_>>().join("\n\n")
    }

    /// A section of level 1 or 2 starts a chapter.
    fn chapters(&self) -> Vec<&[BodySection<'a>]> {
        self.sections.chunk_by(|_, next| next.level > 2).collect()
    }
}

impl BodySection<'_> {
    fn text(&self) -> String {
        let parts = self.parts.iter().map(|part| match part {
            BodyPart::Prose(text) | BodyPart::Code(text) => *text,
        });
        let body = parts.collect::<String>();
        let body = body.trim_matches('\n').trim_end();
        if self.heading.is_empty() || body.is_empty() {
            return format!("{}{body}", self.heading);
        }
        format!("{}\n{body}", self.heading)
    }
}

fn push<'a>(parts: &mut Vec<BodyPart<'a>>, part: BodyPart<'a>) {
    let (BodyPart::Prose(text) | BodyPart::Code(text)) = part;
    if !text.trim().is_empty() {
        parts.push(part);
    }
}

/// Keeps sections with content and their parents.
fn without_empty_sections(sections: Vec<BodySection<'_>>) -> Vec<BodySection<'_>> {
    let mut remaining: Vec<BodySection<'_>> = Vec::new();
    for section in sections.into_iter().rev() {
        let of_overview =
            ["Overview", "Definition"].iter().any(|t| title(section.heading).eq_ignore_ascii_case(t));
        let parent = remaining.last().is_some_and(|next| next.level > section.level) && !of_overview;
        if !section.parts.is_empty() || (parent && section.level > 0) {
            remaining.push(section);
        }
    }
    remaining.reverse();
    remaining
}

/// Returns the level of a heading: 2 for `== X ==` and `## X`.
fn level(line: &str) -> Option<usize> {
    let line = line.trim_end();
    let run = |c| line.chars().take_while(|other| *other == c).count();
    let (equals, hashes) = (run('='), run('#'));
    if equals > 0 && equals < line.len() && line.ends_with('=') && !title(line).is_empty() {
        return Some(equals.min(6));
    }
    ((1..=6).contains(&hashes) && line[hashes..].starts_with(' ') && !title(line).is_empty())
        .then_some(hashes)
}

fn title(heading: &str) -> &str {
    heading.trim().trim_matches(['=', '#']).trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "== Overview ==\nShort.\n\n=== Description ===\nLong.\n\n== Code ==\n\n=== Call ===\n<pre>\n# no heading\nrun()\n</pre>\n\n== Notes ==\nLast.\n\n== Related Pages ==\n\n=== More ===\n* [[related::Principle:X]]";

    #[test]
    fn a_page_is_its_sections_again() {
        assert_eq!(PageBody::parse("a\n\n= B =\nc\n").text(false), "a\n\n= B =\nc");
        let code = "x\n```\n== No ==\n```\ny";
        assert_eq!(PageBody::parse(code).text(false), code);
        assert!(PageBody::parse(" \n\n").is_empty());
    }

    #[test]
    fn the_overview_goes_with_its_heading_and_parents_stay() {
        let text = without_overview(PAGE, "Short.");
        let text = PageBody::parse(&text).text(false);
        assert!(
            text.starts_with("=== Description ===\nLong.\n\n== Code ==\n\n=== Call ===\n<pre>\n"),
            "{text}"
        );
        assert_eq!(without_overview("a", ""), "a");
    }

    #[test]
    fn code_comes_first_with_its_chapter() {
        let text = PageBody::parse(PAGE).text(true);
        assert!(
            text.starts_with("== Code ==\n\n=== Call ===\n<pre>\n# no heading\nrun()\n</pre>\n\n=="),
            "{text}"
        );
        assert!(text.ends_with("* [[related::Principle:X]]"));
    }

    #[test]
    fn prose_has_neither_code_nor_links() {
        let body = PageBody::parse(PAGE);
        let prose = body.prose().text(false);
        assert!(!prose.contains("run()") && !prose.contains("Call") && !prose.contains("related"), "{prose}");
        assert!(prose.ends_with("== Notes ==\nLast."), "{prose}");
        let code: Vec<_> = body.code().map(|code| (code.heading, code.text)).collect();
        assert_eq!(code, [("=== Call ===", "<pre>\n# no heading\nrun()\n</pre>\n")]);
    }

    #[test]
    fn a_block_that_is_never_closed_is_code_to_its_end() {
        let body = PageBody::parse("a\n```\nb\n== c ==\n");
        assert_eq!(body.code().next().unwrap().text, "```\nb\n== c ==\n");
    }
}
