//! Headings of prose and definitions of code.

use gatehouse_text::split_list;

use crate::{clean::one_line, kinds::FileKind};

const MAX_TITLE: usize = 120;

const MAX_HEADINGS: usize = 5_000;

/// Heading of prose, or the line that defines an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Heading {
    /// From 0.
    pub(crate) line: usize,
    /// From 1, the outermost.
    pub(crate) level: u8,
    pub(crate) title: String,
}

impl Heading {
    /// Returns `None` if the title is empty after cleaning.
    fn new(line: usize, level: usize, title: &str) -> Option<Self> {
        let title = one_line(title, MAX_TITLE);
        let level = u8::try_from(level.clamp(1, 12)).unwrap_or(12);
        (!title.is_empty()).then_some(Self { line, level, title })
    }
}

pub(crate) fn headings(kind: FileKind, lines: &[&str]) -> Vec<Heading> {
    let mut found = match kind {
        FileKind::Markdown | FileKind::Html | FileKind::Notebook | FileKind::Docx | FileKind::Plain => {
            markdown(lines)
        }
        FileKind::Rst => rst(lines),
        FileKind::AsciiDoc => asciidoc(lines),
        FileKind::Source => definitions(lines),
        FileKind::Data => Vec::new(),
    };
    found.truncate(MAX_HEADINGS);
    found
}

/// Returns the character and length of the code fence on a line.
pub(crate) fn fence(line: &str) -> Option<(char, usize)> {
    let start = line.trim_start_matches(' ');
    let mark = start.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let length = start.chars().take_while(|c| *c == mark).count();
    // A line with a closing mark is inline code.
    let inline = mark == '`' && start[length..].contains('`');
    (length >= 3 && !inline).then_some((mark, length))
}

pub(crate) fn closes(line: &str, (mark, length): (char, usize)) -> bool {
    let text = line.trim();
    text.chars().count() >= length && text.chars().all(|c| c == mark)
}

/// Finds `# Title`, and titles underlined with `=` or `-`.
fn markdown(lines: &[&str]) -> Vec<Heading> {
    let mut found = Vec::new();
    let mut open = None;
    for (index, line) in lines.iter().enumerate() {
        if let Some(marker) = open {
            if closes(line, marker) {
                open = None;
            }
            continue;
        }
        open = fence(line);
        if open.is_some() {
            continue;
        }
        let text = line.trim_end();
        let level = text.bytes().take_while(|byte| *byte == b'#').count();
        if (1..=6).contains(&level) && text[level..].starts_with([' ', '\t']) {
            found.extend(Heading::new(index, level, text[level..].trim().trim_end_matches('#')));
        } else if let Some(level) = underline(text)
            && let Some(title) = index.checked_sub(1).and_then(|before| lines.get(before))
            && is_title(title)
            && index.checked_sub(2).is_none_or(|before| lines[before].trim().is_empty())
        {
            found.extend(Heading::new(index - 1, level, title));
        }
    }
    found
}

fn underline(text: &str) -> Option<usize> {
    let all = |mark: u8| text.len() >= 3 && text.bytes().all(|byte| byte == mark);
    if all(b'=') { Some(1) } else { all(b'-').then_some(2) }
}

fn is_title(line: &str) -> bool {
    let text = line.trim();
    !text.is_empty() && text.len() <= 300 && !line.starts_with(['|', '#', '>', '\t', '-', '*', '='])
}

/// Finds titles with an underline and possibly an overline. Each style gets the next level when it first appears.
fn rst(lines: &[&str]) -> Vec<Heading> {
    let mut found = Vec::new();
    let mut styles: Vec<(char, bool)> = Vec::new();
    for index in 1..lines.len() {
        let (Some(mark), title) = (adornment(lines[index]), lines[index - 1].trim_end()) else { continue };
        let length = lines[index].trim_end().len();
        if title.trim().is_empty() || adornment(title).is_some() || length < title.trim().chars().count() {
            continue;
        }
        let above = index.checked_sub(2).map(|above| lines[above]);
        let over = above.and_then(adornment) == Some(mark);
        // Text directly below other text is a table or a paragraph.
        if !over && (title.starts_with(' ') || above.is_some_and(|above| !above.trim().is_empty())) {
            continue;
        }
        let style = (mark, over);
        let level = styles.iter().position(|known| *known == style).unwrap_or_else(|| {
            styles.push(style);
            styles.len() - 1
        });
        found.extend(Heading::new(index - 1, level + 1, title));
    }
    found
}

fn adornment(line: &str) -> Option<char> {
    let text = line.trim_end();
    let mark = text.chars().next().filter(|c| "=-`:.'\"~^_*+#<>".contains(*c))?;
    (text.len() >= 3 && text.chars().all(|c| c == mark)).then_some(mark)
}

/// Finds `= Title` to `====== Title`, outside of listings.
fn asciidoc(lines: &[&str]) -> Vec<Heading> {
    let mut found = Vec::new();
    let mut listing = None;
    for (index, line) in lines.iter().enumerate() {
        let text = line.trim_end();
        if listing.is_some_and(|open| open == text) {
            listing = None;
            continue;
        }
        if listing.is_none() && matches!(text, "----" | "...." | "////" | "++++" | "```") {
            listing = Some(text);
        }
        let level = text.bytes().take_while(|byte| *byte == b'=').count();
        if listing.is_none() && (1..=6).contains(&level) && text[level..].starts_with(' ') {
            found.extend(Heading::new(index, level, &text[level..]));
        }
    }
    found
}

const MODIFIERS: [&str; 25] = split_list(
    "pub|export|default|public|private|protected|internal|static|final|abstract|async|unsafe|const|extern|\
    override|virtual|inline|sealed|data|open|declare|partial|suspend|local|case",
);

const DEFINITION_KEYWORDS: [&str; 27] = split_list(
    "fn|def|class|struct|enum|trait|impl|interface|func|function|fun|type|module|mod|namespace|object|\
    protocol|extension|macro_rules!|record|union|sub|defmodule|defp|message|service|resource",
);

/// Returns the lines that define an item, by patterns that work for most languages, with a level by indentation.
fn definitions(lines: &[&str]) -> Vec<Heading> {
    let found = lines.iter().enumerate().filter_map(|(index, line)| {
        // Skip very long lines.
        let text = Some(line.trim()).filter(|text| text.len() <= 400)?;
        let title = definition(text)?;
        Heading::new(index, depth(line) + 1, title)
    });
    found.collect()
}

/// A tab or up to four spaces is one level.
fn depth(line: &str) -> usize {
    let spaces: usize =
        line.chars().take_while(|c| c.is_whitespace()).map(|c| if c == '\t' { 4 } else { 1 }).sum();
    spaces.div_ceil(4)
}

fn definition(text: &str) -> Option<&str> {
    if text.starts_with(['/', '#', '*', '"', '\'', '<', '{', '}', '(']) {
        return sql(text);
    }
    let mut rest = text;
    loop {
        let (word, after) = rest.split_once(' ')?;
        // `pub(crate)`, `impl<T>`, `function*`, `func (receiver)`.
        let bare = word.split(['(', '<', '*']).next().unwrap_or(word);
        if DEFINITION_KEYWORDS.contains(&bare) {
            let named = after
                .trim_start()
                .starts_with(|c: char| c.is_alphabetic() || matches!(c, '_' | '$' | '(' | '<' | '&'));
            return named.then(|| signature(text));
        }
        if !MODIFIERS.contains(&bare) && !word.starts_with('"') {
            return sql(text);
        }
        rest = after.trim_start();
    }
}

fn sql(text: &str) -> Option<&str> {
    let create = text.get(..7).is_some_and(|start| start.eq_ignore_ascii_case("create "));
    create.then(|| signature(text))
}

/// Cuts off the body, the value, or arguments that continue on the next line.
fn signature(text: &str) -> &str {
    let end = text.find(['{', '=']).unwrap_or(text.len());
    text[..end].trim_end().trim_end_matches([':', '(', ',', ';']).trim_end()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn render(found: Vec<Heading>) -> Vec<String> {
        found.into_iter().map(|one| format!("{}:{} {}", one.line, one.level, one.title)).collect()
    }

    fn lines(text: &str) -> Vec<&str> {
        text.lines().collect()
    }

    #[test]
    fn markdown_headings_are_atx_and_setext_outside_fences() {
        let text = "# One #\n\nSetext\n===\n\n```sh\n# no heading\n```\n~~~~\n```\n# nor this\n~~~~\n## Two\n#hashtag\n| a |\n---\n";
        assert_eq!(render(markdown(&lines(text))), ["0:1 One", "2:1 Setext", "12:2 Two"]);
    }

    #[test]
    fn rst_titles_have_the_level_of_their_style() {
        let text = "=====\nTitle\n=====\n\nPart\n====\n\ntext\n\nInner\n-----\n\nOther\n=====\n\n=== ===\na   b\n=== ===\n";
        assert_eq!(render(rst(&lines(text))), ["1:1 Title", "4:2 Part", "9:3 Inner", "12:2 Other"]);
    }

    #[test]
    fn asciidoc_titles_are_not_listings() {
        let text = "= Title\n\n----\n== code\n----\n== Part\ntext\n=== Inner\n";
        assert_eq!(render(asciidoc(&lines(text))), ["0:1 Title", "5:2 Part", "7:3 Inner"]);
    }

    #[test]
    fn definitions_of_common_languages_are_found() {
        for (line, title) in [
            (
                "pub(crate) async fn read(path: &Path) -> u8 {",
                Some("pub(crate) async fn read(path: &Path) -> u8"),
            ),
            ("impl<T> Display for X<T> {", Some("impl<T> Display for X<T>")),
            ("def main(argv):", Some("def main(argv)")),
            ("class Tree(Node):", Some("class Tree(Node)")),
            ("func (s *Server) Serve() error {", Some("func (s *Server) Serve() error")),
            ("export default function run() {", Some("export default function run()")),
            ("public static final class Inner {", Some("public static final class Inner")),
            ("CREATE TABLE pages (", Some("CREATE TABLE pages")),
            ("let function = 5;", None),
            ("type == 5", None),
            ("// fn old() {", None),
            ("return fn call", None),
        ] {
            assert_eq!(definition(line), title, "{line}");
        }
    }

    #[test]
    fn indentation_sets_the_heading_level() {
        let found = definitions(&["class A:", "    def b(self):", "  def c(self)", "x = 1"]);
        let told: Vec<_> = found.iter().map(|one| (one.line, one.level, one.title.as_str())).collect();
        assert_eq!(told, [(0, 1, "class A"), (1, 2, "def b(self)"), (2, 2, "def c(self)")]);
    }
}
