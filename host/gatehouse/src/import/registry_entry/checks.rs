//! Checks of what an entry says, before it becomes a command.

use gatehouse_core::names::quoted;
use gatehouse_wire::mcp_registry::RegistryArgument;

use super::PlainError;

/// Checks that a value of the entry names no variable, which `presets.toml` would expand.
pub(super) fn check_literal(value: &str) -> Result<(), PlainError> {
    if value.contains("${") {
        bail!("its value '{}' would read the environment of this host", quoted(value, 100));
    }
    Ok(())
}

/// Returns the first `{name}` of a template, with the text before and after it.
pub(super) fn placeholder(text: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = text.split_once('{')?;
    let (name, after) = rest.split_once('}')?;
    Some((before, name, after))
}

pub(super) fn option_text(option: &RegistryArgument) -> String {
    let value = option.input.value.as_deref().or(option.input.default.as_deref()).unwrap_or_default();
    format!("{} {value}", option.input.name).trim().to_owned()
}

/// Whether an option of the program is one that Gatehouse sets anyway.
pub(super) fn is_harmless(kind: &str, option: &RegistryArgument) -> bool {
    let text = option_text(option);
    match kind {
        "npm" => matches!(&*text, "-y" | "--yes"),
        "oci" => matches!(&*text, "run" | "-i" | "--interactive" | "--rm"),
        _ => false,
    }
}

/// Checks that the name of a package can be nothing else, such as an option.
pub(super) fn check_identifier(identifier: &str, also: &str) -> Result<(), PlainError> {
    let is_start = |c: char| c.is_ascii_alphanumeric() || (c == '@' && also.contains('@'));
    let letter = |c: char| c.is_ascii_alphanumeric() || also.contains(c);
    let is_name =
        identifier.starts_with(is_start) && identifier.len() <= 214 && identifier.chars().all(letter);
    if !is_name || identifier.contains("..") {
        bail!("'{}' is not the name of a package", quoted(identifier, 100));
    }
    Ok(())
}

/// Checks that a version is exact: a range or a tag would run another program tomorrow.
pub(super) fn check_version(version: &str) -> Result<(), PlainError> {
    let letter = |c: char| c.is_ascii_alphanumeric() || ".+-".contains(c);
    let is_exact = version.starts_with(|c: char| c.is_ascii_digit())
        && version.len() <= 64
        && version.chars().all(letter)
        && !version.split('.').any(|part| matches!(part, "x" | "X" | ""));
    if !is_exact {
        bail!("'{}' is not an exact version", quoted(version, 64));
    }
    Ok(())
}

/// Returns an image with an exact tag or a digest.
pub(super) fn pinned_image(identifier: &str, version: &str) -> Result<String, PlainError> {
    if identifier.contains("@sha256:") {
        return Ok(identifier.to_owned());
    }
    let (_, last) = identifier.rsplit_once('/').unwrap_or(("", identifier));
    match last.split_once(':') {
        Some((_, tag)) => check_version(tag.trim_start_matches('v')).map(|()| identifier.to_owned()),
        None => check_version(version.trim_start_matches('v')).map(|()| format!("{identifier}:{version}")),
    }
}
