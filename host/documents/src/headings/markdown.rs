//! Headings of Markdown, by CommonMark.

use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use super::Heading;
use crate::front_matter::FrontMatter;

/// A longer title is a paragraph above a rule.
const MAX_TITLE_BYTES: usize = 300;

/// Finds the headings, those in HTML too. The title in the front matter counts if the text has no heading of the first level.
pub(super) fn headings(text: &str) -> Vec<Heading> {
    if text.lines().any(|line| containers(line) > MAX_CONTAINERS) {
        return Vec::new();
    }
    let front = FrontMatter::from_text(text);
    let start = front.as_ref().map_or(0, |front| front.end);
    let mut lines = LineNumbers { text, at: 0, line: 0 };
    let mut headings = Vec::new();
    let mut open: Option<(usize, HeadingLevel, String)> = None;
    let mut page: Option<(usize, usize)> = None;
    for (event, range) in
        Parser::new_ext(&text[start..], Options::ENABLE_HEADING_ATTRIBUTES).into_offset_iter()
    {
        let at = start + range.start;
        match event {
            Event::Start(Tag::Heading { level, .. }) => open = Some((at, level, String::new())),
            Event::End(TagEnd::Heading(_)) => {
                let Some((at, level, title)) = open.take() else { continue };
                if title.len() <= MAX_TITLE_BYTES && !is_module_line(text, at) {
                    headings.extend(Heading::new(lines.line_of(at), level as usize, &title));
                }
            }
            Event::Text(part) | Event::Code(part) => {
                if let Some((_, _, title)) = &mut open {
                    title.push_str(&part);
                }
            }
            Event::SoftBreak | Event::HardBreak => {
                if let Some((_, _, title)) = &mut open {
                    title.push(' ');
                }
            }
            Event::Start(Tag::HtmlBlock) => page = Some((at, start + range.end)),
            Event::End(TagEnd::HtmlBlock) => {
                if let Some((at, end)) = page.take() {
                    headings.extend(html_heading(&text[at..end], lines.line_of(at)));
                }
            }
            _ => {}
        }
    }
    if let Some(title) = front.and_then(|front| front.title)
        && headings.iter().all(|heading| heading.level > 1)
    {
        headings.splice(0..0, Heading::new(0, 1, &title));
    }
    headings
}

/// Lists and quotes within each other. For more, the parser takes time by the square of their number.
const MAX_CONTAINERS: usize = 100;

/// Returns the number of marks of lists and quotes at the start of a line.
fn containers(line: &str) -> usize {
    let mut rest = line.trim_start();
    // A rule is no list.
    if ['-', '*', '+'].into_iter().any(|mark| rest.chars().all(|c| c == mark || c.is_whitespace())) {
        return 0;
    }
    let mut count = 0;
    while let Some(after) = rest.strip_prefix(['-', '*', '+', '>']).or_else(|| {
        rest.trim_start_matches(|c: char| c.is_ascii_digit())
            .strip_prefix(['.', ')'])
            .filter(|_| rest.starts_with(|c: char| c.is_ascii_digit()))
    }) {
        count += 1;
        rest = after.trim_start();
    }
    count
}

/// Returns the first heading of a block of HTML.
fn html_heading(block: &str, line: usize) -> Option<Heading> {
    let begins = |at: &usize| block.as_bytes().get(at + 2).is_some_and(|level| (b'1'..=b'6').contains(level));
    let at = block.match_indices("<h").map(|(at, _)| at).find(begins)?;
    let level = usize::from(block.as_bytes()[at + 2] - b'0');
    let content = block[at..].split("</h").next()?;
    Heading::new(line + block[..at].matches('\n').count(), level, &without_tags(content))
}

/// Returns the text of HTML without its tags, with the descriptions of pictures.
fn without_tags(html: &str) -> String {
    let mut text = String::new();
    for part in html.split_inclusive('>') {
        let (before, tag) = part.split_once('<').unwrap_or((part, ""));
        text.push_str(before);
        let described = tag.split_once("alt=\"").and_then(|(_, rest)| rest.split('"').next());
        text.push_str(described.unwrap_or_default());
    }
    text.replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&nbsp;", " ")
        .replace("&quot;", "\"")
        .replace("&amp;", "&")
}

/// Returns whether a line belongs to an `import` or `export` of MDX, which ends at a blank line.
fn is_module_line(text: &str, at: usize) -> bool {
    const MAX_LINES: usize = 50;
    let before = text[..at].lines().rev().take(MAX_LINES);
    let block = before.take_while(|line| !line.trim().is_empty());
    block.last().is_some_and(|first| {
        ["import ", "export const ", "export default ", "export function "]
            .iter()
            .any(|word| first.starts_with(word))
    })
}

/// Converts byte offsets, which must not decrease, into line numbers from 0.
struct LineNumbers<'a> {
    text: &'a str,
    at: usize,
    line: usize,
}

impl LineNumbers<'_> {
    fn line_of(&mut self, at: usize) -> usize {
        if let Some(passed) = self.text.get(self.at..at) {
            self.line += passed.matches('\n').count();
            self.at = at;
        }
        self.line
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::headings::tests::render;

    #[test]
    fn headings_are_those_of_commonmark() {
        for (text, expected) in [
            (
                "# One #\n\nSetext\n=\n\n```sh\n# no heading\n```\n~~~~ md\n```\n# nor this\n~~~~\n## Two\n#hashtag\n| a |\n",
                vec!["0:1 One", "2:1 Setext", "12:2 Two"],
            ),
            (
                "text\n\n    # code\n\n<!--\n# comment\n-->\n\n- ```\n  # item\n  ```\n\n> ## Quoted\n",
                vec!["12:2 Quoted"],
            ),
            (
                "## [Linked `code`](x) {#id}\n\n<div>\n<h1 align=center>Of <b>HTML</b></h1>\n</div>\n",
                vec!["0:2 Linked code", "3:1 Of HTML"],
            ),
            ("---\ntitle: \"Of it\"\n# no\n---\n\n## Sub\n", vec!["0:1 Of it", "5:2 Sub"]),
            ("+++\ntitle = 'X'\n\n# no\n+++\n# Own\n", vec!["5:1 Own"]),
            ("import A from 'a'\n\nexport const b = `\n# no\n`\n\n# Yes\n", vec!["6:1 Yes"]),
        ] {
            assert_eq!(render(headings(text)), expected, "{text}");
        }
    }

    #[test]
    fn hostile_text_takes_linear_time() {
        for part in ["<h", "# ", "[", "> ", "<div>\n", "import a\n# b\n", "- ", "`", "*_"] {
            assert!(headings(&part.repeat(50_000)).len() <= 50_000);
        }
        assert!(headings(&("- ".repeat(500_000) + "```\n" + &"\n".repeat(500_000))).is_empty());
    }
}
