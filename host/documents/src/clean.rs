//! Prepares text and numbers for storage: cuts them to size, removes invisible characters and joins lines.

use gatehouse_core::hidden_chars;
use gatehouse_decode::prefix;

/// Returns the text as one line of at most `limit` characters, with an ellipsis if it is cut.
pub(crate) fn one_line(text: &str, limit: usize) -> String {
    // Cleaning a huge title completely would be slow.
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

/// Converts a number for a stored field. Numbers that do not fit become the largest.
pub(crate) fn saturating_u32(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_text_is_one_visible_line() {
        assert_eq!(one_line(" a\n\n# b\u{202e}\tc\u{0}", 80), "a # b c");
        assert_eq!(one_line(&"ü".repeat(500), 5), "üüüü…");
    }
}
