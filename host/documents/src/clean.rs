//! What a document says, made fit to be quoted: characters that nobody sees are gone, and it is one line.

use gatehouse_core::hidden_chars;

/// The text as one line of at most `limit` characters; the rest is an ellipsis.
pub(crate) fn one_line(text: &str, limit: usize) -> String {
    // A title of a megabyte is not worth cleaning whole: each character is four bytes at most.
    let mut head = prefix(text, limit.saturating_mul(8)).to_owned();
    hidden_chars::strip_text(&mut head);
    let mut line = String::with_capacity(head.len());
    for word in head.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    if line.chars().nth(limit).is_some() {
        line = line.chars().take(limit.saturating_sub(1)).collect::<String>() + "…";
    }
    line
}

/// At most so many bytes from the beginning, in whole characters.
pub(crate) fn prefix(text: &str, limit: usize) -> &str {
    let mut end = limit.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_quoted_is_one_visible_line() {
        assert_eq!(one_line(" a\n\n# b\u{202e}\tc\u{0}", 80), "a # b c");
        assert_eq!(one_line(&"ü".repeat(500), 5), "üüüü…");
        assert_eq!(prefix("aü", 2), "a");
    }
}
