//! Finding the name that somebody meant.

/// Below this similarity (Jaro-Winkler, 0 to 1) a suggestion confuses more than it helps.
const SIMILAR: f64 = 0.75;

/// The candidate that comes nearest to `wrong`, if any comes near; the first one wins a tie.
pub fn nearest<'a>(wrong: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Hostile names can be a megabyte long, and the comparison is quadratic.
    let wrong: String = wrong.chars().take(128).flat_map(char::to_lowercase).collect();
    let mut best: Option<(f64, &str)> = None;
    for candidate in candidates {
        let score = strsim::jaro_winkler(&wrong, &candidate.to_lowercase());
        if score >= SIMILAR && best.is_none_or(|(top, _)| score > top) {
            best = Some((score, candidate));
        }
    }
    best.map(|(_, name)| name)
}

/// ` Did you mean 'x'?` or nothing, to be appended to a sentence.
pub fn did_you_mean<'a>(wrong: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    nearest(wrong, candidates).map(|name| format!(" Did you mean '{name}'?")).unwrap_or_default()
}

/// `text` made fit to be quoted in a message: control characters shown as spaces, at most `limit`
/// characters, the rest an ellipsis.
pub fn quoted(text: &str, limit: usize) -> String {
    let mut shown: String = text.chars().take(limit).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().nth(limit).is_some() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suggests_only_what_comes_near() {
        let tools = ["kg_index", "search_knowledge", "get_wiki_page"];
        assert_eq!(nearest("serch_knowledge", tools), Some("search_knowledge"));
        assert_eq!(nearest("KG_INDEX", tools), Some("kg_index"));
        assert_eq!(nearest("zzz", tools), None);
        assert_eq!(did_you_mean("get_page", ["get_wiki_page"]), " Did you mean 'get_wiki_page'?");
    }

    #[test]
    fn quotes_hostile_text_shortly() {
        assert_eq!(quoted("a\nb\0c", 10), "a b c");
        assert_eq!(quoted(&"x".repeat(1_000_000), 3), "xxx…");
    }
}
