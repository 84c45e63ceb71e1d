//! Suggestions for misspelled names.

use crate::hidden_chars;

/// Minimum Jaro-Winkler similarity (0 to 1) of a useful suggestion.
const MIN_SIMILARITY: f64 = 0.75;

/// Returns the most similar candidate, the first one in a tie. `None` without a similar one.
pub fn nearest<'a>(wrong: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Hostile names can be megabytes long, and the comparison is quadratic.
    let start = |name: &str| -> String { name.chars().take(128).flat_map(char::to_lowercase).collect() };
    let wrong = start(wrong);
    let scored = candidates.into_iter().map(|name| (strsim::jaro_winkler(&wrong, &start(name)), name));
    let similar = scored.filter(|(score, _)| *score >= MIN_SIMILARITY);
    similar.min_by(|(a, _), (b, _)| b.total_cmp(a)).map(|(_, name)| name)
}

/// Returns ` Did you mean 'x'?`, to append to a sentence, or an empty string.
pub fn did_you_mean<'a>(wrong: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    nearest(wrong, candidates).map(|name| format!(" Did you mean '{name}'?")).unwrap_or_default()
}

/// Returns at most `limit` characters of `text`, with control and hidden characters as spaces and an ellipsis if cut.
pub fn quoted(text: &str, limit: usize) -> String {
    let visible = |c: char| if c.is_control() || hidden_chars::is_hidden(c) { ' ' } else { c };
    let mut display_text: String = text.chars().take(limit).map(visible).collect();
    if text.chars().nth(limit).is_some() {
        display_text.push('…');
    }
    display_text
}

/// Splits an identifier such as `getHTTPResponse2` or `get_http-response` into words with spaces. Keeps the case, drops
/// punctuation, and separates digits.
pub fn split_identifier(name: &str) -> String {
    let mut words = String::with_capacity(name.len() + name.len() / 4);
    let mut before = ' ';
    let mut rest = name.chars().peekable();
    while let Some(c) = rest.next() {
        if !c.is_alphanumeric() {
            before = ' ';
            continue;
        }
        let begins = starts_word(before, c, rest.peek().copied());
        let other_kind = before != ' ' && before.is_numeric() != c.is_numeric();
        if !words.is_empty() && (before == ' ' || begins || other_kind) {
            words.push(' ');
        }
        words.push(c);
        before = c;
    }
    words
}

/// Returns true if a letter starts a word in camel case. The last of several capitals belongs to the next word:
/// `HTTPResponse`.
pub(crate) fn starts_word(before: char, c: char, after: Option<char>) -> bool {
    c.is_uppercase()
        && (before.is_lowercase() || (before.is_uppercase() && after.is_some_and(char::is_lowercase)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_parted_into_words() {
        for (name, words) in [
            ("search_knowledge", "search knowledge"),
            ("getHTTPResponseCode", "get HTTP Response Code"),
            ("kg-index.v2", "kg index v 2"),
            ("sha256Sum", "sha 256 Sum"),
            ("__init__", "init"),
            ("Principle/LoRA fine-tuning", "Principle Lo RA fine tuning"),
            ("ÜberGröße", "Über Größe"),
            ("数据_index", "数据 index"),
            ("ABC", "ABC"),
            ("", ""),
            ("--", ""),
        ] {
            assert_eq!(split_identifier(name), words, "{name}");
        }
    }

    #[test]
    fn suggests_only_similar_names() {
        let tools = ["kg_index", "search_knowledge", "get_wiki_page"];
        assert_eq!(nearest("serch_knowledge", tools), Some("search_knowledge"));
        assert_eq!(nearest("KG_INDEX", tools), Some("kg_index"));
        assert_eq!(nearest("zzz", tools), None);
        assert_eq!(did_you_mean("get_page", ["get_wiki_page"]), " Did you mean 'get_wiki_page'?");
    }

    #[test]
    fn quotes_hostile_text_shortly() {
        assert_eq!(quoted("a\nb\0c", 10), "a b c");
        assert_eq!(quoted("gpj.\u{202e}exe\u{2066}\u{200b}é", 20), "gpj. exe  é");
        assert_eq!(quoted(&"x".repeat(1_000_000), 3), "xxx…");
    }
}
