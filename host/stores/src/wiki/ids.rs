//! Page ids of the form `Type/Name`, and their comparison. Rejects names that could be interpreted as paths.

use gatehouse_core::{
    outcome::Fault,
    ports::knowledge::{PageLink, PageType},
    search::composed,
};

pub(crate) const MAX_NAME: usize = 200;

/// Returns the comparison key of an id, a title or a link target: `_` equals a space, composed characters equal decomposed
/// ones, and case matters.
pub(crate) fn key(text: &str) -> String {
    composed(text.trim()).replace('_', " ")
}

/// Returns the comparison key of a domain: like [`key`], but without case.
pub(crate) fn domain_key(text: &str) -> String {
    key(text).to_lowercase()
}

pub(crate) fn join(page_type: PageType, name: &str) -> String {
    format!("{page_type}/{}", name.trim())
}

/// Splits `Type/Name`, `Types/Name` or `Type:Name` in user input. `None` if the text has another form.
pub(crate) fn split_loose(text: &str) -> Option<(PageType, &str)> {
    let (kind, name) = text.split_once(['/', ':'])?;
    let name = name.trim();
    let kind = kind.trim();
    let page_type = kind.parse().or_else(|_| kind.trim_end_matches(['s', 'S']).parse()).ok()?;
    (!name.is_empty()).then_some((page_type, name))
}

/// Splits the id of a page to change. Rejects everything that could be a path.
pub(crate) fn split_strict(id: &str) -> Result<(PageType, &str), Fault> {
    let refuse = |reason: &str| {
        Fault::invalid(format!("'{}' is not a page id: {reason}", shorten(id)))
            .hint("A page id is Type/Name, for example Principle/Model_Loading.")
    };
    let (kind, name) = id.split_once('/').ok_or_else(|| refuse("it does not contain '/'"))?;
    let page_type: PageType = kind.parse().map_err(|_| refuse("it does not start with a page type"))?;
    if name.trim().is_empty() {
        return Err(refuse("the name is missing"));
    }
    if name.contains(['/', '\\']) {
        return Err(refuse("it contains more than one separator"));
    }
    if name.trim() == "." || name.trim() == ".." || name.chars().any(char::is_control) {
        return Err(refuse("the name is invalid"));
    }
    if name.chars().count() > MAX_NAME {
        return Err(refuse("the name is longer than 200 characters"));
    }
    Ok((page_type, name))
}

/// Returns the distinct links in normalized form, so that equivalent lists compare equal.
pub(crate) fn link_set(links: &[PageLink]) -> std::collections::BTreeSet<(String, String)> {
    links.iter().map(|link| (link.edge.clone(), key(&link.target))).collect()
}

pub(crate) fn shorten(text: &str) -> String {
    const MAX_SHOWN_CHARS: usize = 80;
    if text.chars().count() <= MAX_SHOWN_CHARS {
        return text.to_owned();
    }
    text.chars().take(MAX_SHOWN_CHARS).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn underscore_and_space_are_the_same_and_case_is_not() {
        assert_eq!(key("Principle/Model_Loading"), key("Principle/Model Loading"));
        assert_ne!(key("Principle/model_loading"), key("Principle/Model_Loading"));
        assert_eq!(key("Principle/Cafe\u{301}"), key("Principle/Café"));
    }

    #[test]
    fn ids_that_could_be_paths_are_refused() {
        for id in [
            "../x",
            "/etc/passwd",
            "Principle/../../x",
            "Principle/a/b",
            "Principle/..",
            "Principle/a\\b",
            "X/y",
            "Principle",
            "Principle/",
            "Principle/a\nb",
        ] {
            assert!(split_strict(id).is_err(), "{id}");
        }
        assert_eq!(split_strict("Principle/A_b").unwrap(), (PageType::Principle, "A_b"));
    }

    #[test]
    fn both_spellings_of_a_link_are_read() {
        assert_eq!(split_loose("principle: X y"), Some((PageType::Principle, "X y")));
        assert_eq!(split_loose("Workflow/X"), Some((PageType::Workflow, "X")));
        assert_eq!(split_loose("https://example.org"), None);
    }
}
