//! What of a document is embedded.

use super::terms::humps;

/// Letters of the long text that are embedded: what a page begins with says what it is about, and a vector of
/// everything says nothing in particular.
const BEGINNING: usize = 2_000;

/// The text that stands for a document: its name with identifiers split, its short text, its subjects and how
/// its long text begins. Bounded by the lengths of name, short text and subjects plus 2,000 letters. A change of
/// this recipe is a change of [`RECIPE`].
pub fn embedded_text(name: &str, short: &str, subjects: &[String], long: &str) -> String {
    let mut text = split_name(name);
    for part in [short, &subjects.join(", "), beginning(long)] {
        let part = part.trim();
        if !part.is_empty() {
            text.push_str(".\n");
            text.push_str(part);
        }
    }
    text
}

/// The number of the recipe: vectors of another one are made anew.
pub const RECIPE: u32 = 1;

/// A name as words: `UnslothGRPOTrainer_config` becomes `Unsloth GRPO Trainer config`.
pub fn split_name(name: &str) -> String {
    let words = name.split(|c: char| c == '_' || c.is_whitespace()).filter(|word| !word.is_empty());
    words.map(|word| humps(word).join(" ")).collect::<Vec<_>>().join(" ")
}

fn beginning(text: &str) -> &str {
    text.char_indices().nth(BEGINNING).map_or(text, |(end, _)| &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_words() {
        assert_eq!(split_name("UnslothGRPOTrainer_config"), "Unsloth GRPO Trainer config");
        assert_eq!(split_name("get_peft_model"), "get peft model");
        assert_eq!(split_name("__"), "");
    }

    #[test]
    fn a_document_is_its_name_its_short_text_and_its_beginning() {
        let text = embedded_text("A_b", "Short.", &["x".into(), "y".into()], &"é".repeat(5_000));
        assert!(text.starts_with("A b.\nShort..\nx, y.\né"), "{text}");
        assert_eq!(text.chars().filter(|c| *c == 'é').count(), BEGINNING);
        assert_eq!(embedded_text("A", "", &[], " "), "A");
    }
}
