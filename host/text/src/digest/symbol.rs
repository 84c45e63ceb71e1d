//! Finds definitions and comments in lines of source code, for common languages.

use super::lines::shown;
use crate::layout::definition;

const MAX_NAME_CHARS: usize = 80;

const CONTROL_KEYWORDS: [&str; 16] = [
    "if", "for", "while", "switch", "catch", "return", "else", "elif", "match", "with", "assert", "sizeof",
    "throw", "new", "await", "defined",
];

pub(super) struct Symbol {
    /// `fn`, `class`, `function` …
    pub(super) keyword: String,
    pub(super) name: String,
    pub(super) indent: usize,
    /// True if the line suggests that it is public.
    pub(super) public: bool,
}

impl Symbol {
    pub(super) fn is_function(&self) -> bool {
        matches!(self.keyword.as_str(), "fn" | "def" | "function" | "func" | "fun" | "sub" | "method")
    }
}

/// Parses a definition: by keyword, as a method (`name(…) {`) or as a C function (`type name(…)`).
pub(super) fn parse(line: &str) -> Option<Symbol> {
    let content = line.trim_start();
    let indent = line.len() - content.len();
    let public = indent == 0 && !content.starts_with("static ")
        || content.starts_with("pub ")
        || content.starts_with("export ");
    let symbol = |keyword: &str, name: &str| {
        let public = public && !name.starts_with('_');
        Some(Symbol { keyword: keyword.to_owned(), name: shown(name, MAX_NAME_CHARS), indent, public })
    };
    if let Some(found) = definition(line) {
        let rest = content.split_once(found.keyword).map_or(content, |(_, rest)| rest);
        let name = match found.keyword {
            // The name of `impl<T> Trait for Type` is the whole header.
            "impl" => rest.split(['{', '\n']).next().unwrap_or(rest).trim(),
            // Generated C code has these as macros and casts.
            _ if content.ends_with(';')
                && matches!(found.keyword, "struct" | "enum" | "union")
                && !line.contains("pub") =>
            {
                return None;
            }
            _ => found.name,
        };
        return symbol(found.keyword, name).filter(|symbol| !symbol.name.is_empty());
    }
    let end = content.trim_end();
    let (head, after) = end.split_once('(')?;
    let head = head.trim_end();
    let name = head.rsplit(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '$' | '#'))).next()?;
    let before = head[..head.len() - name.len()].trim_end();
    let is_name = name.starts_with(|c: char| c.is_alphabetic() || matches!(c, '_' | '$' | '#'))
        && !CONTROL_KEYWORDS.contains(&name);
    if !is_name || head.contains(['=', '.', '"', '\'', ':']) || CONTROL_KEYWORDS.contains(&before) {
        return None;
    }
    let modifiers = |word: &str| {
        matches!(word, "async" | "static" | "get" | "set" | "*" | "public" | "private" | "protected")
    };
    if end.ends_with('{') && after.contains(')') && before.split_whitespace().all(modifiers) {
        return symbol("method", name);
    }
    // A type before an unindented name: a C function. A call has no type.
    let typed = indent == 0
        && before.ends_with(|c: char| c.is_alphanumeric() || matches!(c, '*' | '_'))
        && !end.starts_with('#');
    (typed && end.ends_with([';', '{', ')', ','])).then(|| symbol("function", name)).flatten()
}

#[derive(Default)]
pub(super) struct CommentTracker {
    /// End marker of the open comment.
    until: Option<&'static str>,
    string: bool,
}

impl CommentTracker {
    /// Returns the text of a comment line, `None` for other lines.
    pub(super) fn line<'a>(&mut self, line: &'a str) -> Option<&'a str> {
        let content = line.trim();
        if let Some(end) = self.until {
            if content.ends_with(end) {
                self.until = None;
            }
            let text = content.trim_end_matches(end).trim_start_matches('*').trim();
            return Some(text);
        }
        self.string = false;
        for (begin, end) in [("\"\"\"", "\"\"\""), ("'''", "'''"), ("/*", "*/"), ("r\"\"\"", "\"\"\"")] {
            let Some(rest) = content.strip_prefix(begin) else { continue };
            self.string = begin != "/*";
            if !rest.contains(end) {
                self.until = Some(end);
            }
            return Some(rest.trim_end_matches(end).trim_matches(['*', '!', ' ']));
        }
        for mark in ["///", "//!", "//"] {
            if let Some(rest) = content.strip_prefix(mark) {
                return Some(rest.trim());
            }
        }
        let hash = content.strip_prefix("# ").or((content == "#").then_some(""));
        let directive = ["include", "define", "if", "endif", "else", "pragma"];
        hash.filter(|rest| !directive.iter().any(|word| rest.starts_with(word))).map(str::trim)
    }

    /// Returns whether the last comment was a string, such as a Python docstring.
    pub(super) fn is_string(&self) -> bool {
        self.string
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(line: &str) -> Option<String> {
        parse(line).map(|symbol| format!("{} {}", symbol.keyword, symbol.name))
    }

    #[test]
    fn definitions_of_several_languages_are_named() {
        let cases = [
            ("pub(crate) fn is_code(text: &str) -> bool {", "fn is_code"),
            ("    pub const fn new() -> Self {", "fn new"),
            ("impl<T: Clone> Iterator for Thing<T> {", "impl <T: Clone> Iterator for Thing<T>"),
            ("class HelpFormatter(object):", "class HelpFormatter"),
            ("    def __init__(self,", "def __init__"),
            ("export default async function load (x) {", "function load"),
            ("  static async exec (args) {", "method exec"),
            ("ZEXTERN int ZEXPORT deflate(z_streamp strm, int flush);", "function deflate"),
            ("type Alias = u8;", "type Alias"),
        ];
        for (line, name) in cases {
            assert_eq!(named(line).as_deref(), Some(name), "{line}");
        }
        for line in [
            "  if (x) {",
            "foo(bar);",
            "return f(x);",
            "let x = f(y);",
            "  } else if (x) {",
            "#define F(x) y",
            "A sentence (with a bracket).",
        ] {
            assert_eq!(named(line), None, "{line}");
        }
    }

    #[test]
    fn comments_are_followed_over_lines() {
        let text = "/** Says\n * more */\ncode\n\"\"\"Doc\nstring\"\"\"\n# hash\n#include <x>\n/// rust\n";
        let mut comments = CommentTracker::default();
        let said: Vec<Option<&str>> = text.lines().map(|line| comments.line(line)).collect();
        assert_eq!(
            said,
            [Some("Says"), Some("more"), None, Some("Doc"), Some("string"), Some("hash"), None, Some("rust")]
        );
    }
}
