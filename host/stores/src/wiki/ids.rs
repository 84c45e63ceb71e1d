//! How pages are named: `Type/Name`, and which spellings mean the same page.
//!
//! Refuses names that could be read as a path. Never looks at a disk or a database.

use gatehouse_core::{
    outcome::Fault,
    ports::knowledge::{PageLink, PageType},
};

/// Longest name of a page, in characters.
pub(crate) const MAX_NAME: usize = 200;

/// The form in which ids, titles and link targets are compared: `_` is a space, case is kept.
pub(crate) fn key(text: &str) -> String {
    text.trim().replace('_', " ")
}

/// The form in which domains are compared: as [`key`], case ignored.
pub(crate) fn domain_key(text: &str) -> String {
    key(text).to_lowercase()
}

/// The id of the page with this type and name, as it is stored.
pub(crate) fn join(page_type: PageType, name: &str) -> String {
    format!("{page_type}/{}", name.trim())
}

/// Splits `Type/Name` or `Type:Name` as people write it; none where the text is something else.
pub(crate) fn split_loose(text: &str) -> Option<(PageType, &str)> {
    let (kind, name) = text.split_once(['/', ':'])?;
    let name = name.trim();
    let page_type = kind.trim().parse().ok()?;
    (!name.is_empty()).then_some((page_type, name))
}

/// Splits the id of a page that is to be changed; anything that could be a path is refused.
pub(crate) fn split_strict(id: &str) -> Result<(PageType, &str), Fault> {
    let refuse = |why: &str| {
        Fault::invalid(format!("'{}' is not a page id: {why}", shorten(id)))
            .hint("A page id is Type/Name, for example Principle/Model_Loading.")
    };
    let (kind, name) = id.split_once('/').ok_or_else(|| refuse("there is no '/' in it"))?;
    let page_type: PageType = kind.parse().map_err(|_| refuse("it does not start with a page type"))?;
    if name.trim().is_empty() {
        return Err(refuse("there is no name behind the type"));
    }
    if name.contains(['/', '\\']) {
        return Err(refuse("there is more than one separator in it"));
    }
    if name.trim() == "." || name.trim() == ".." || name.chars().any(char::is_control) {
        return Err(refuse("its name is not a page's name"));
    }
    if name.chars().count() > MAX_NAME {
        return Err(refuse("its name is longer than 200 characters"));
    }
    Ok((page_type, name))
}

/// The links without repetitions, in a form in which two lists compare equal when they mean the same.
pub(crate) fn link_set(links: &[PageLink]) -> std::collections::BTreeSet<(String, String)> {
    links.iter().map(|link| (link.edge.clone(), key(&link.target))).collect()
}

/// The text, cut to a length that fits into a message.
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
