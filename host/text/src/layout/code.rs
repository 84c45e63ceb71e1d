//! Detects source code and the lines that define something.

use crate::split_list;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum CodeLine {
    /// A definition with this indentation in bytes.
    Definition(usize),
    /// A comment or an attribute.
    Comment,
    Other,
}

const MODIFIERS: [&str; 20] = split_list(
    "pub|async|unsafe|const|static|export|default|public|private|protected|internal|abstract|final|\
    override|inline|virtual|sealed|partial|extern|open",
);

const DEFINITION_KEYWORDS: [&str; 20] = split_list(
    "fn|struct|enum|trait|impl|mod|union|macro_rules!|def|class|interface|function|func|type|namespace|\
    module|object|record|sub|fun",
);

const MAX_SAMPLED_LINES: usize = 2_000;

const MIN_DEFINITIONS: usize = 2;

const MAX_LINE_BYTES: usize = 400;

/// Words after a keyword in prose: `class of`, `type is`.
const PROSE_WORDS: [&str; 16] = [
    "of", "the", "a", "an", "is", "are", "in", "to", "for", "that", "which", "and", "or", "with", "can",
    "may",
];

/// First words of statements in languages that do not end them with punctuation.
const STATEMENTS: [&str; 8] = ["import", "from", "return", "raise", "yield", "pass", "break", "continue"];

/// Minimum lines of a script without definitions.
const MIN_SCRIPT_LINES: usize = 8;

/// Returns whether a text is source code: most lines look like code, and some define something.
pub(crate) fn is_code(text: &str) -> bool {
    CodeCounts::from_text(text).are_code()
}

/// Returns whether `#` starts comments instead of headings: in code, and in scripts and settings without definitions.
pub(super) fn has_comments(text: &str) -> bool {
    let counts = CodeCounts::from_text(text);
    let script = counts.code * 5 >= counts.lines * 4 && counts.assignments * 5 >= counts.lines * 2;
    counts.are_code() || (counts.lines >= MIN_SCRIPT_LINES && script)
}

struct CodeCounts {
    lines: usize,
    code: usize,
    definitions: usize,
    /// Lines that assign or import.
    assignments: usize,
}

impl CodeCounts {
    fn are_code(&self) -> bool {
        self.definitions >= MIN_DEFINITIONS && self.code * 5 >= self.lines * 3
    }

    fn from_text(text: &str) -> Self {
        let (mut lines, mut code, mut definitions, mut assignments) = (0, 0, 0, 0);
        let mut docstring = None;
        for line in text.lines().filter(|line| !line.trim().is_empty()).take(MAX_SAMPLED_LINES) {
            // Docstrings are prose, and `# ` also starts headings, so neither counts.
            if in_docstring(line, &mut docstring) || line.trim_start().starts_with("# ") {
                continue;
            }
            lines += 1;
            match self::line(line) {
                CodeLine::Definition(_) => {
                    definitions += 1;
                    code += 1;
                }
                CodeLine::Comment => code += 1,
                CodeLine::Other => {
                    assignments += usize::from(assigns(line.trim()));
                    code += usize::from(is_statement(line.trim()));
                }
            }
        }
        Self { lines, code, definitions, assignments }
    }
}

fn is_statement(line: &str) -> bool {
    line.ends_with([';', '{', '}', ')', '(', ':', ']', '[']) || assigns(line)
}

fn assigns(line: &str) -> bool {
    let first = line.split(' ').next().unwrap_or_default();
    line.contains(" = ") || STATEMENTS.contains(&first)
}

/// Returns whether a line is part of a Python docstring or a string of several lines, and keeps the quotes that will
/// close it in `open`.
fn in_docstring(line: &str, open: &mut Option<&'static str>) -> bool {
    let content = line.trim();
    let is_odd = |quotes: &str| content.matches(quotes).count() % 2 == 1;
    if let Some(quotes) = *open {
        *open = open.filter(|_| !is_odd(quotes));
        return true;
    }
    let first = |quotes: &&str| content.find(quotes).unwrap_or(usize::MAX);
    let quotes = ["\"\"\"", "'''"].into_iter().min_by_key(first).filter(|_| !content.starts_with('#'));
    *open = quotes.filter(|quotes| is_odd(quotes));
    // Other lines, such as `SQL = """`, are code up to the quotes.
    quotes.is_some_and(|quotes| content.starts_with(quotes))
}

pub(super) fn line(line: &str) -> CodeLine {
    let content = line.trim_start();
    if line.len() > MAX_LINE_BYTES {
        return CodeLine::Other;
    }
    if ["//", "/*", "* ", "*/", "#", "@", "--", "\"\"\""].iter().any(|mark| content.starts_with(mark))
        || content.trim_end() == "*"
    {
        return CodeLine::Comment;
    }
    match definition(line) {
        Some(found) => CodeLine::Definition(found.indent),
        None => CodeLine::Other,
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct KeywordDefinition<'a> {
    /// `fn`, `class` …
    pub(crate) keyword: &'a str,
    pub(crate) name: &'a str,
    pub(crate) indent: usize,
}

pub(crate) fn definition(line: &str) -> Option<KeywordDefinition<'_>> {
    if line.len() > MAX_LINE_BYTES {
        return None;
    }
    let content = line.trim_start();
    let mut words = content.split([' ', '\t', '(', '<']).filter(|word| !word.is_empty());
    let keyword = words.by_ref().take(6).find(|word| {
        let modifier = word.trim_end_matches(')');
        !MODIFIERS.contains(&modifier) && !matches!(modifier, "crate" | "super" | "in" | "\"C\"")
    })?;
    let named =
        words.next().filter(|word| word.starts_with(|c: char| c.is_alphabetic() || matches!(c, '_' | '\'')));
    let name = named.filter(|_| DEFINITION_KEYWORDS.contains(&keyword))?;
    // `type of the value` is prose, and a function of that name is not.
    let after = content[name.as_ptr() as usize - content.as_ptr() as usize + name.len()..].chars().next();
    if PROSE_WORDS.contains(&name) && after.is_none_or(char::is_whitespace) {
        return None;
    }
    let name = name.trim_end_matches(|c: char| c.is_ascii_punctuation() && c != '_');
    let end = name.find(['{', ':', ';', '=', ',']).unwrap_or(name.len());
    Some(KeywordDefinition { keyword, name: &name[..end], indent: line.len() - content.len() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_after_a_string_of_several_lines_count() {
        let text = "import x\n\nSQL = \"\"\"\nselect class of things\nand words\n\"\"\"\n\ndef a():\n    \"\"\"One line.\"\"\"\n    return f('''x''')\n\ndef b():\n    # Not \"\"\" this\n    return 2\n";
        let counts = CodeCounts::from_text(text);
        assert_eq!((counts.lines, counts.definitions, counts.are_code()), (6, 2, true));
    }
}
