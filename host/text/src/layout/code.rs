//! Source code: whether a text is that, and which of its lines define something.

/// What a line of code is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// Something with a name begins, so far from the margin.
    Definition(usize),
    /// A comment or an attribute.
    Comment,
    Other,
}

/// Words that may stand before the one that defines.
const BEFORE: [&str; 20] = [
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

/// Words that define.
const DEFINES: [&str; 20] = [
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

/// Lines by which a text is judged.
const TRIED: usize = 2_000;

/// Definitions that source code has at least.
const LEAST: usize = 2;

/// Longer lines define nothing.
const LONGEST: usize = 400;

/// Whether a text is source code: most lines end or begin as code does, and some define something.
pub(crate) fn is_code(text: &str) -> bool {
    let (mut lines, mut code, mut definitions) = (0, 0, 0);
    for line in text.lines().filter(|line| !line.trim().is_empty()).take(TRIED) {
        lines += 1;
        match self::line(line) {
            Line::Definition(_) => {
                definitions += 1;
                code += 1;
            }
            Line::Comment if !line.trim_start().starts_with("# ") => code += 1,
            _ => code += usize::from(line.trim_end().ends_with([';', '{', '}', ')', '(', ':', ']', '['])),
        }
    }
    definitions >= LEAST && code * 5 >= lines * 3
}

pub(super) fn line(line: &str) -> Line {
    let content = line.trim_start();
    if line.len() > LONGEST {
        return Line::Other;
    }
    if ["//", "/*", "* ", "*/", "#", "@", "--", "\"\"\""].iter().any(|mark| content.starts_with(mark))
        || content.trim_end() == "*"
    {
        return Line::Comment;
    }
    match definition(line) {
        Some(found) => Line::Definition(found.indent),
        None => Line::Other,
    }
}

/// Something that a line defines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Definition<'a> {
    /// `fn`, `class` …
    pub(crate) keyword: &'a str,
    pub(crate) name: &'a str,
    /// Bytes before it.
    pub(crate) indent: usize,
}

/// What a line defines by a keyword.
pub(crate) fn definition(line: &str) -> Option<Definition<'_>> {
    if line.len() > LONGEST {
        return None;
    }
    let content = line.trim_start();
    let mut words = content.split([' ', '\t', '(', '<']).filter(|word| !word.is_empty());
    let keyword = words.by_ref().take(6).find(|word| {
        let modifier = word.trim_end_matches(')');
        !BEFORE.contains(&modifier) && !matches!(modifier, "crate" | "super" | "in" | "\"C\"")
    })?;
    let named =
        words.next().filter(|word| word.starts_with(|c: char| c.is_alphabetic() || matches!(c, '_' | '\'')));
    let name = named.filter(|_| DEFINES.contains(&keyword))?;
    let name = name.trim_end_matches(|c: char| c.is_ascii_punctuation() && c != '_');
    let end = name.find(['{', ':', ';', '=', ',']).unwrap_or(name.len());
    Some(Definition { keyword, name: &name[..end], indent: line.len() - content.len() })
}
