//! Checks of what an entry says, before it becomes a command.

use gatehouse_core::names::quoted;
use gatehouse_wire::mcp_registry::RegistryArgument;

use super::PlainError;
use crate::config::{credentials::is_variable, is_inherited};

/// Checks that a value of the entry names no variable, which `presets.toml` would expand.
pub(super) fn check_literal(value: &str) -> Result<(), PlainError> {
    if value.contains("${") {
        bail!("its value '{}' would read the environment of this host", quoted(value, 100));
    }
    Ok(())
}

/// Replaces each `{name}` of a text of the entry by its value. Values are not searched again.
pub(super) fn fill(template: &str, mut value: impl FnMut(&str) -> String) -> Result<String, PlainError> {
    check_literal(template)?;
    let (mut filled, mut rest) = (String::new(), template);
    while let Some((before, after)) = rest.split_once('{') {
        let Some((name, after)) = after.split_once('}') else { break };
        filled = filled + before + &value(name);
        rest = after;
    }
    Ok(filled + rest)
}

/// Checks that a variable is one of the server itself: others choose registries of packages, load code or change where
/// `npx`, `uvx` and `docker` connect.
pub(super) fn check_variable(name: &str) -> Result<(), PlainError> {
    const LOADERS: [&str; 15] = [
        "BASH_",
        "DOCKER_",
        "DYLD_",
        "GCONV_PATH",
        "GIT_CONFIG",
        "GIT_EXEC_PATH",
        "GIT_SSH",
        "JAVA_TOOL_OPTIONS",
        "LD_",
        "NODE_",
        "PERL",
        "PREFIX",
        "PYTHON",
        "RUBY",
        "XDG_",
    ];
    let display_name = quoted(name, 64);
    if !is_variable(name) {
        bail!("'{display_name}' is not the name of a variable");
    }
    let upper = name.to_ascii_uppercase();
    if is_inherited(&upper) || LOADERS.iter().any(|start| upper.starts_with(start)) {
        bail!(
            "it sets the variable {display_name}, which may change how its package is found or run; if that is what you \
            want, add it yourself: gatehouse servers add NAME -- COMMAND …"
        );
    }
    Ok(())
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
pub(super) fn check_identifier(kind: &str, identifier: &str, also: &str) -> Result<(), PlainError> {
    let is_start = |c: char| c.is_ascii_alphanumeric() || (c == '@' && also.contains('@'));
    let letter = |c: char| c.is_ascii_alphanumeric() || also.contains(c);
    let is_name =
        identifier.starts_with(is_start) && identifier.len() <= 214 && identifier.chars().all(letter);
    // npm reads `a/b` as a repository or a directory.
    let has_scope = identifier.starts_with('@') && identifier.matches('/').count() == 1;
    let is_path = kind == "npm" && identifier.contains('/') && !has_scope;
    if !is_name || is_path || identifier.contains("..") {
        bail!("'{}' is not the name of a package", quoted(identifier, 100));
    }
    Ok(())
}

/// Checks that a version is exact: a range or a tag would run another program tomorrow. To npm, `1.2` is a range, and as
/// tags of images such versions move. To PyPI, it is exact.
pub(super) fn check_version(kind: &str, version: &str) -> Result<(), PlainError> {
    let letter = |c: char| c.is_ascii_alphanumeric() || ".+-".contains(c);
    let is_exact = version.starts_with(|c: char| c.is_ascii_digit())
        && version.len() <= 64
        && version.chars().all(letter)
        && !version.split('.').any(|part| matches!(part, "x" | "X" | ""));
    let numbers = version.split(['-', '+']).next().unwrap_or_default().split('.');
    if !is_exact || (kind != "pypi" && numbers.count() < 3) {
        bail!("'{}' is not an exact version", quoted(version, 64));
    }
    Ok(())
}

/// Returns an image with an exact tag or a digest.
pub(super) fn pinned_image(identifier: &str, version: &str) -> Result<String, PlainError> {
    if let Some((_, digest)) = identifier.split_once("@sha256:") {
        if digest.len() != 64 || !digest.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            bail!("'{}' has no valid digest", quoted(identifier, 200));
        }
        return Ok(identifier.to_owned());
    }
    let (_, last) = identifier.rsplit_once('/').unwrap_or(("", identifier));
    match last.split_once(':') {
        Some((_, tag)) => check_version("oci", tag.trim_start_matches('v')).map(|()| identifier.to_owned()),
        None => {
            check_version("oci", version.trim_start_matches('v')).map(|()| format!("{identifier}:{version}"))
        }
    }
}
