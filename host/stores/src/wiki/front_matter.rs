//! Detects YAML front matter, which is not page content.

use super::verbatim::next_line;

/// Returns the end of the front matter at `from`: settings between two `---` lines. `None` if there is none; prose
/// between two horizontal rules does not count.
pub(super) fn front_matter(text: &str, from: usize) -> Option<usize> {
    let mut at = next_line(text, from);
    if text[from..at].trim_end() != "---" {
        return None;
    }
    let mut is_first = true;
    while at < text.len() {
        let end = next_line(text, at);
        let line = text[at..end].trim_end();
        match line {
            "---" | "..." => return Some(end),
            "" => {}
            // A `#` here is the heading of a page that starts with a rule.
            _ if is_first && !is_setting(line) => return None,
            _ => is_first = false,
        }
        at = end;
    }
    None
}

pub(super) fn has_front_matter(page: &[u8]) -> bool {
    let page = page.strip_prefix("\u{feff}".as_bytes()).unwrap_or(page);
    page.starts_with(b"---") && str::from_utf8(page).is_ok_and(|text| front_matter(text, 0).is_some())
}

/// Returns `true` if a line is `key: value` or `key:`.
fn is_setting(line: &str) -> bool {
    line.split_once(':').is_some_and(|(key, value)| {
        let plain = |c: char| c.is_alphanumeric() || "_-.\"' ".contains(c);
        !key.is_empty() && key.chars().all(plain) && (value.is_empty() || value.starts_with([' ', '\t']))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_between_two_lines_are_front_matter_and_prose_is_not() {
        for text in [
            "---\nIt is prose.\n---\n",
            "---\nkey: v\n",
            "----\nkey: v\n----\n",
            "---\nhttp://x\n---\n",
            "---\n# X\n---\n",
        ] {
            assert_eq!(front_matter(text, 0), None, "{text}");
            assert!(!has_front_matter(text.as_bytes()), "{text}");
        }
        for text in
            ["---\ntitle: x\n---\nrest", "---\n\n'a b': # why\n  - c\n...\nrest", "---\r\n---\r\nrest"]
        {
            assert_eq!(front_matter(text, 0).map(|end| &text[end..]), Some("rest"), "{text}");
            assert!(has_front_matter(format!("\u{feff}{text}").as_bytes()), "{text}");
        }
    }
}
