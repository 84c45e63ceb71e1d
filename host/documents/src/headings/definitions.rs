//! Definitions of code as headings.

use gatehouse_text::split_list;

use super::Heading;

const MODIFIERS: [&str; 25] = split_list(
    "pub|export|default|public|private|protected|internal|static|final|abstract|async|unsafe|const|extern|\
    override|virtual|inline|sealed|data|open|declare|partial|suspend|local|case",
);

const DEFINITION_KEYWORDS: [&str; 27] = split_list(
    "fn|def|class|struct|enum|trait|impl|interface|func|function|fun|type|module|mod|namespace|object|\
    protocol|extension|macro_rules!|record|union|sub|defmodule|defp|message|service|resource",
);

/// Returns the lines that define an item, by patterns that work for most languages, with a level by indentation.
pub(super) fn definitions(lines: &[&str]) -> Vec<Heading> {
    let headings = lines.iter().enumerate().filter_map(|(index, line)| {
        // Skip very long lines.
        let text = Some(line.trim()).filter(|text| text.len() <= 400)?;
        let title = definition(text)?;
        Heading::new(index, depth(line) + 1, title)
    });
    headings.collect()
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
        let outline: Vec<_> = found.iter().map(|one| (one.line, one.level, one.title.as_str())).collect();
        assert_eq!(outline, [(0, 1, "class A"), (1, 2, "def b(self)"), (2, 2, "def c(self)")]);
    }
}
