//! Rules for the names of servers and tags.

use gatehouse_core::names;
use toml::Spanned;

use crate::config::{ConfigError, error::ConfigText};

/// Maximum length of a server name. Exposed tool names contain it and are limited to 64 characters.
pub(crate) const MAX_SERVER_NAME: usize = 32;

const MAX_TAGS: usize = 16;

/// Returns whether `name` can name a server. Keeps the boundary in `server__tool` unambiguous.
pub(crate) fn is_server_name(name: &str) -> bool {
    let letters = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
    name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.len() <= MAX_SERVER_NAME
        && name.chars().all(letters)
        && !name.contains("__")
        && !name.ends_with('_')
}

pub(super) fn check_name(name: &str) -> Result<(), String> {
    if is_server_name(name) {
        return Ok(());
    }
    let shown = names::quoted(name, 64);
    Err(format!(
        "'{shown}' cannot be the name of a server: use at most {MAX_SERVER_NAME} of A-Z a-z 0-9 _ -, starting with a \
        letter or digit, not ending with _, and without __"
    ))
}

pub(super) fn unknown<'a>(name: &str, known: impl Iterator<Item = &'a String> + Clone) -> String {
    let near = names::did_you_mean(name, known.clone().map(String::as_str));
    let shown = names::quoted(name, 64);
    let known: Vec<&str> = known.map(String::as_str).collect();
    match known.as_slice() {
        [] => format!("there is no server '{shown}'; declare it under [servers.{shown}] in this file"),
        known => format!("there is no server '{shown}' in this file.{near} There are: {}.", known.join(", ")),
    }
}

/// Validates the tags. Returns them sorted, without duplicates.
pub(super) fn checked_tags(text: &ConfigText, tags: &[Spanned<String>]) -> Result<Vec<String>, ConfigError> {
    let letters = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    let word = |tag: &str| !tag.is_empty() && tag.len() <= 32 && tag.chars().all(letters);
    if let Some(bad) = tags.iter().find(|tag| !word(tag.get_ref())) {
        let shown = names::quoted(bad.get_ref(), 64);
        let why = format!("'{shown}' cannot be a tag: use 1 to 32 of A-Z a-z 0-9 _ - .");
        return Err(text.error_at(bad.span(), why));
    }
    if let Some(first) = tags.get(MAX_TAGS) {
        return Err(text.error_at(first.span(), format!("a server has at most {MAX_TAGS} tags")));
    }
    let mut tags: Vec<String> = tags.iter().map(|tag| tag.get_ref().clone()).collect();
    tags.sort();
    tags.dedup();
    Ok(tags)
}
