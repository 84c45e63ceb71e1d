//! Prefix queries, for questions whose whole words no document contains.
//!
//! The indexes stem words and queries. A prefix can be longer than the stem of its word (`configurat` and
//! `configuration`), and its own stem can differ from it (`encry` becomes `encri`), so one prefix needs several query
//! forms.

use gatehouse_core::search::SearchQuery;

/// Shorter prefixes match too many words.
const MIN_LETTERS: usize = 3;

/// Endings that complete a prefix longer than the stem.
const ENDINGS: [&str; 8] = ["e", "ed", "es", "ing", "ion", "er", "s", "ss"];

/// Query forms of one prefix. A document matches if any form matches.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct PrefixQuery {
    pub(crate) prefix: String,
    /// Whole words, which the index stems.
    pub(crate) words: Vec<String>,
}

/// Returns the prefix queries of a question, in lowercase letters and digits.
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
    fn a_prefix_is_queried_by_its_stemmed_form() {
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
