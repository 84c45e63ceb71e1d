//! Formats text from callers and pages: as one line of a reply, or quoted, so that a page with `## [2] …` or `---` cannot
//! forge a hit.

/// Replaces control characters and runs of white space with single spaces, and shortens the text to `max` characters.
pub fn one_line(text: &str, max: usize) -> String {
    let clean: String =
        text.chars().map(|c| if c.is_control() || is_separator(c) { ' ' } else { c }).collect();
    shorten(&clean.split_whitespace().collect::<Vec<_>>().join(" "), max)
}

/// Returns at most `max` characters, cut at a word if one is near, with `…` if anything was cut.
pub fn shorten(text: &str, max: usize) -> String {
    let head = head(text, max);
    if head.len() == text.len() {
        return text.to_owned();
    }
    format!("{}…", at_word(head).trim_end())
}

/// Wraps the text in a code span with enough backticks for those in the text.
pub fn code(text: &str) -> String {
    let longest = longest_backticks(text);
    let fence = "`".repeat(longest + 1);
    let pad = if longest > 0 { " " } else { "" };
    format!("{fence}{pad}{text}{pad}{fence}")
}

/// Returns the first `max` characters.
pub fn head(text: &str, max: usize) -> &str {
    text.char_indices().nth(max).map_or(text, |(end, _)| &text[..end])
}

/// Cuts the text at its last white space, unless that loses more than a third (a URL, a language without spaces).
pub(crate) fn at_word(text: &str) -> &str {
    match text.rfind(char::is_whitespace) {
        Some(end) if end * 3 >= text.len() * 2 => &text[..end],
        _ => text,
    }
}

/// Line and paragraph separators, and marks that change the text direction.
fn is_separator(c: char) -> bool {
    matches!(c, '\u{2028}' | '\u{2029}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Wraps the text in a fence that is longer than any run of backticks in it. Leaves the text unchanged except for
/// newlines at its ends.
pub fn fenced(text: &str) -> String {
    let fence = "`".repeat(longest_backticks(text).max(2) + 1);
    format!("{fence}\n{}\n{fence}\n", text.trim_matches('\n'))
}

/// Prefixes each line with `> `. Characters that some readers treat as line breaks become spaces.
pub(crate) fn quoted(text: &str) -> String {
    let line = |line: &str| {
        let clean: String = line.chars().map(|c| if ends_line(c) { ' ' } else { c }).collect();
        format!("> {}", clean.trim_end()).trim_end().to_owned() + "\n"
    };
    text.trim().lines().map(line).collect()
}

fn ends_line(c: char) -> bool {
    (c.is_control() && c != '\t') || matches!(c, '\u{2028}' | '\u{2029}')
}

fn longest_backticks(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_one_line() {
        assert_eq!(one_line("a\n# b\t\u{7}c \u{2028}d", 99), "a # b c d");
        assert_eq!(one_line("  ", 9), "");
        let long = one_line(&"word ".repeat(100), 200);
        assert!(long.chars().count() <= 201 && long.ends_with("word…"), "{long}");
    }

    #[test]
    fn a_word_longer_than_the_line_is_cut() {
        assert_eq!(shorten(&"ü".repeat(30), 10), format!("{}…", "ü".repeat(10)));
        assert_eq!(shorten("a bbbbbbbbbbbbbbb", 10), "a bbbbbbbb…");
        assert_eq!(shorten("exactly", 7), "exactly");
    }

    #[test]
    fn code_survives_backticks() {
        assert_eq!(code("a"), "`a`");
        assert_eq!(code("a`b"), "`` a`b ``");
    }

    #[test]
    fn nothing_in_a_text_ends_its_fence() {
        for text in ["a", "```\na\n```", "`````` x", "\n\na\n"] {
            let fenced = fenced(text);
            let fence = fenced.lines().next().unwrap().to_owned();
            assert_eq!(fenced.lines().filter(|line| *line == fence).count(), 2, "{fenced}");
            assert!(fenced.contains(text.trim_matches('\n')));
        }
        assert_eq!(fenced("a"), "```\na\n```\n");
    }

    #[test]
    fn every_line_of_quoted_prose_is_marked() {
        assert_eq!(quoted("a\n\n## [2] b\r\n---\u{2028}# c\u{85}\n"), "> a\n>\n> ## [2] b\n> --- # c\n");
    }
}
