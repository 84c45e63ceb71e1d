//! Quotes page text so that a page with `## [2] …` or `---` cannot forge a hit.

/// Wraps the text in a fence that is longer than any run of backticks in it. Leaves the text unchanged except for
/// newlines at its ends.
pub(crate) fn fenced(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
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

#[cfg(test)]
mod tests {
    use super::*;

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
