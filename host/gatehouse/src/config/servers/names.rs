//! What servers and their tags may be called.

use gatehouse_core::names;
use toml::Spanned;

use crate::config::{ConfigError, error::ConfigText};

/// The most characters of a server's name: tools carry it before their own, within 64.
pub(crate) const MAX_SERVER_NAME: usize = 32;

/// The most tags of one server.
const MAX_TAGS: usize = 16;

/// Whether a server may be called so: where its name ends in `server__tool` is never in doubt.
pub(crate) fn is_server_name(name: &str) -> bool {
    let letters = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
    name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.len() <= MAX_SERVER_NAME
        && name.chars().all(letters)
        && !name.contains("__")
        && !name.ends_with('_')
}

/// Says what is wrong with the name of a server.
pub(super) fn check_name(name: &str) -> Result<(), String> {
    if is_server_name(name) {
        return Ok(());
    }
    let shown = names::quoted(name, 64);
    Err(format!(
        "'{shown}' cannot be the name of a server: it has at most {MAX_SERVER_NAME} of A-Z a-z 0-9 _ -, begins with a letter \
         or a digit, does not end with _ and has no __ in it"
    ))
}

/// What to say of a server that is not declared.
pub(super) fn unknown<'a>(name: &str, known: impl Iterator<Item = &'a String> + Clone) -> String {
    let near = names::did_you_mean(name, known.clone().map(String::as_str));
    let shown = names::quoted(name, 64);
    let known: Vec<&str> = known.map(String::as_str).collect();
    match known.as_slice() {
        [] => format!("there is no server '{shown}'; declare it under [servers.{shown}] in this file"),
        known => format!("there is no server '{shown}' in this file.{near} There are: {}.", known.join(", ")),
    }
}

/// The tags, sorted, each once.
pub(super) fn checked_tags(text: &ConfigText, tags: &[Spanned<String>]) -> Result<Vec<String>, ConfigError> {
    let letters = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    let word = |tag: &str| !tag.is_empty() && tag.len() <= 32 && tag.chars().all(letters);
    if let Some(bad) = tags.iter().find(|tag| !word(tag.get_ref())) {
        let shown = names::quoted(bad.get_ref(), 64);
        let why = format!("'{shown}' cannot be a tag: one has 1 to 32 of A-Z a-z 0-9 _ - .");
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
