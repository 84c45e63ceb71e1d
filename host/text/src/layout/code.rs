//! Detects source code and the lines that define something.

#[derive(Debug, PartialEq, Eq)]
pub(super) enum CodeLine {
    /// A definition with this indentation in bytes.
    Definition(usize),
    /// A comment or an attribute.
    Comment,
    Other,
}

const MODIFIERS: [&str; 20] = [
    "pub",
    "async",
    "unsafe",
    "const",
    "static",
    "export",
    "default",
    "public",
    "private",
    "protected",
    "internal",
    "abstract",
    "final",
    "override",
    "inline",
    "virtual",
    "sealed",
    "partial",
    "extern",
    "open",
];

const DEFINITION_KEYWORDS: [&str; 20] = [
    "fn",
    "struct",
    "enum",
    "trait",
    "impl",
    "mod",
    "union",
    "macro_rules!",
    "def",
    "class",
    "interface",
    "function",
    "func",
    "type",
    "namespace",
    "module",
    "object",
    "record",
    "sub",
    "fun",
];

const MAX_SAMPLED_LINES: usize = 2_000;

const MIN_DEFINITIONS: usize = 2;

const MAX_LINE_BYTES: usize = 400;

/// Returns whether a text is source code: most lines look like code, and some define something.
pub(crate) fn is_code(text: &str) -> bool {
    let (mut lines, mut code, mut definitions) = (0, 0, 0);
    for line in text.lines().filter(|line| !line.trim().is_empty()).take(MAX_SAMPLED_LINES) {
        lines += 1;
        match self::line(line) {
            CodeLine::Definition(_) => {
                definitions += 1;
                code += 1;
            }
            CodeLine::Comment if !line.trim_start().starts_with("# ") => code += 1,
            _ => code += usize::from(line.trim_end().ends_with([';', '{', '}', ')', '(', ':', ']', '['])),
        }
    }
    definitions >= MIN_DEFINITIONS && code * 5 >= lines * 3
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
    let name = name.trim_end_matches(|c: char| c.is_ascii_punctuation() && c != '_');
    let end = name.find(['{', ':', ';', '=', ',']).unwrap_or(name.len());
    Some(KeywordDefinition { keyword, name: &name[..end], indent: line.len() - content.len() })
}
