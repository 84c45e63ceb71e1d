//! What of a document is embedded.

use crate::names::split_identifier;

/// Letters of the long text that are embedded: what a page begins with says what it is about, and a vector of
/// everything says nothing in particular. Of 0 to 10,000 letters, 600 to 1,000 found most on 84 questions; several
/// vectors for the parts of a page, the nearest of them counting, found no more.
const MAX_LONG_CHARS: usize = 1_000;

const MAX_SHORT_CHARS: usize = 2_000;

const MAX_NAME_CHARS: usize = 300;

/// The number of the recipe: vectors of another one are made anew.
pub const RECIPE: u32 = 1;

/// The text that stands for a document: its name, as it is and with identifiers parted, its short text, its
/// subjects and how its long text begins; at most some 4,000 letters. Whoever changes it raises [`RECIPE`].
pub fn embedded_text(name: &str, short: &str, subjects: &[String], long: &str) -> String {
    let name = beginning(name, MAX_NAME_CHARS).replace('_', " ");
    let parted = split_identifier(&name);
    let parted = if parted == name { "" } else { &parted };
    let subjects = subjects.join(", ");
    let mut text = String::new();
    for part in [
        &name,
        parted,
        beginning(short, MAX_SHORT_CHARS),
        beginning(&subjects, MAX_NAME_CHARS),
        beginning(long, MAX_LONG_CHARS),
    ] {
        let part = part.trim();
        if !part.is_empty() {
            if !text.is_empty() {
                text.push('\n');
            }
            text.push_str(part);
        }
    }
    text
}

fn beginning(text: &str, letters: usize) -> &str {
    text.char_indices().nth(letters).map_or(text, |(end, _)| &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_its_name_its_short_text_and_its_beginning() {
        let text = embedded_text("GRPOTrainer_x", "Short.", &["x".into(), "y".into()], &"é".repeat(5_000));
        assert!(text.starts_with("GRPOTrainer x\nGRPO Trainer x\nShort.\nx, y\né"), "{text}");
        assert_eq!(text.chars().filter(|c| *c == 'é').count(), MAX_LONG_CHARS);
        assert_eq!(embedded_text("plain name", "", &[], " "), "plain name");
        let huge = "x".repeat(1_000_000);
        assert!(embedded_text(&huge, &huge, std::slice::from_ref(&huge), &huge).len() < 6_000);
    }
}
