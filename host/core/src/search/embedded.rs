//! Text that is embedded for a document.

use crate::names::split_identifier;

/// The start of a page states its subject; the vector of a whole page is too general. Of limits from 0 to 10,000, 600
/// to 1,000 did best on 84 questions. One vector per section did not improve results.
const MAX_LONG_CHARS: usize = 1_000;

const MAX_SHORT_CHARS: usize = 2_000;

const MAX_NAME_CHARS: usize = 300;

/// Version of [`embedded_text`]. A change causes all vectors to be recomputed.
pub const EMBEDDED_TEXT_VERSION: u32 = 1;

/// Builds the text to embed for a document, about 4,000 characters at most. Increment [`EMBEDDED_TEXT_VERSION`] if you
/// change this.
pub fn embedded_text(name: &str, short: &str, subjects: &[String], long: &str) -> String {
    let name = beginning(name, MAX_NAME_CHARS).replace('_', " ");
    let split_name = split_identifier(&name);
    let split_name = if split_name == name { "" } else { &split_name };
    let subjects = subjects.join(", ");
    let parts = [
        &name,
        split_name,
        beginning(short, MAX_SHORT_CHARS),
        beginning(&subjects, MAX_NAME_CHARS),
        beginning(long, MAX_LONG_CHARS),
    ];
    let parts = parts.into_iter().map(str::trim).filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join("\n")
}

fn beginning(text: &str, chars: usize) -> &str {
    text.char_indices().nth(chars).map_or(text, |(end, _)| &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn embedded_text_has_name_summary_subjects_and_beginning() {
        let text = embedded_text("GRPOTrainer_x", "Short.", &["x".into(), "y".into()], &"é".repeat(5_000));
        assert!(text.starts_with("GRPOTrainer x\nGRPO Trainer x\nShort.\nx, y\né"), "{text}");
        assert_eq!(text.chars().filter(|c| *c == 'é').count(), MAX_LONG_CHARS);
        assert_eq!(embedded_text("plain name", "", &[], " "), "plain name");
        let huge = "x".repeat(1_000_000);
        assert!(embedded_text(&huge, &huge, std::slice::from_ref(&huge), &huge).len() < 6_000);
    }
}
