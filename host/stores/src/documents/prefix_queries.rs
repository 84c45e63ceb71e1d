//! Words of a question as beginnings of longer words, for a question whose whole words no document has.
//!
//! The indexes hold English stems, and stem what they are asked for. A beginning can be longer than the stem of its word
//! ("configurat" and "configuration"), and its own stem can differ from it ("encry" becomes "encri"). So one beginning is
//! asked for in several forms.

use gatehouse_core::search::SearchQuery;

/// Shorter beginnings are in too many words.
const MIN_LETTERS: usize = 3;

/// Endings that complete a beginning which is longer than the stem.
const ENDINGS: [&str; 8] = ["e", "ed", "es", "ing", "ion", "er", "s", "ss"];

/// The forms in which an index is asked for one beginning; any of them answers.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct PrefixQuery {
    /// What a stem begins with.
    pub(crate) prefix: String,
    /// Whole words.
    pub(crate) words: Vec<String>,
}

/// The words of a question as beginnings, in lower case; letters and digits alone.
pub(crate) fn prefix_queries(query: &SearchQuery) -> Vec<PrefixQuery> {
    query.words.iter().chain(&query.joined).filter_map(|word| prefix_query(word)).collect()
}

fn prefix_query(word: &str) -> Option<PrefixQuery> {
    let word: String = word.chars().flat_map(char::to_lowercase).filter(|c| c.is_alphanumeric()).collect();
    if word.chars().count() < MIN_LETTERS {
        return None;
    }
    // Stemmers change or drop these two letters.
    let shorter = word.strip_suffix(['y', 'e']).filter(|shorter| shorter.chars().count() >= MIN_LETTERS);
    let prefix = shorter.unwrap_or(&word).to_owned();
    let words = ENDINGS.iter().map(|ending| format!("{word}{ending}")).collect();
    Some(PrefixQuery { prefix, words })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_beginning_is_asked_for_by_what_survives_a_stemmer() {
        let of = |text: &str| prefix_queries(&SearchQuery::new(text));
        assert_eq!(of("Encry")[0].prefix, "encr");
        assert_eq!(of("benchm")[0].prefix, "benchm");
        assert!(of("configurat")[0].words.contains(&"configuration".to_owned()));
        assert_eq!(of("be"), []);
        for form in of("it's \"x*y\" NEAR(abc) gpt-4o").iter().flat_map(|b| b.words.iter().chain([&b.prefix]))
        {
            assert!(form.chars().all(char::is_alphanumeric), "{form}");
        }
    }
}
