//! Name suggestions for error hints.

/// Returns the candidate most similar to `name`, or `None` without a similar one.
pub(crate) fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let scored = candidates.into_iter().map(|c| (strsim::jaro_winkler(name, c), c));
    scored.filter(|(score, _)| *score > 0.7).max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, c)| c)
}

/// Formats names as `'a', 'b', 'c'`.
pub(crate) fn list<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    names.into_iter().map(|n| format!("'{n}'")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_is_near_or_none() {
        assert_eq!(nearest("topk", ["include_content", "top_k"]), Some("top_k"));
        assert_eq!(nearest("zebra", ["include_content", "top_k"]), None);
        assert_eq!(nearest("x", []), None);
    }
}
