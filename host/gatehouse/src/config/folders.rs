//! `[gates.<name>.folders]`, validated: the directories that a gate can see.

use std::{collections::BTreeMap, path::Path};

use gatehouse_core::names::quoted;
use gatehouse_sandbox::GuestFolder;
use toml::Spanned;

use super::{ConfigError, error::ConfigText, raw};

/// Validates the directories of one gate, sorted by guest path.
///
/// Paths are relative to `base`; private directories are in `state`, the data directory.
pub(super) fn validate(
    text: &ConfigText,
    base: &Path,
    state: &Path,
    gate: &str,
    raw: BTreeMap<Spanned<String>, raw::RawGateFolder>,
) -> Result<Vec<GuestFolder>, ConfigError> {
    let mut folders: Vec<GuestFolder> = Vec::new();
    for (name, folder) in raw {
        let bad = |why: String| text.error_at(name.span(), why);
        let guest = name.get_ref().as_str();
        let Some(parts) = parts(guest) else {
            return Err(bad(format!(
                "invalid folder name '{}'; write for example \"/data\": names of A-Z a-z 0-9 _ - ., each after a /",
                quoted(guest, 80)
            )));
        };
        // A gate that can write to the outer directory could replace the inner one.
        if let Some(other) = folders.iter().find(|other| nested(&other.guest, guest)) {
            return Err(bad(format!("'{guest}' and '{}' overlap: one is inside the other", other.guest)));
        }
        let (host, private) = match (folder.path, folder.private) {
            (Some(path), false) => (base.join(path), false),
            // The gate's name is already validated, so the path cannot escape.
            (None, true) => {
                (parts.iter().fold(state.join("gates").join(gate), |path, part| path.join(part)), true)
            }
            _ => return Err(bad(format!("'{guest}' needs either path = \"…\" or private = true"))),
        };
        folders.push(GuestFolder { guest: guest.to_owned(), host, private });
    }
    Ok(folders)
}

/// Splits `/a/b` into names. `None` if the path is relative or a name is not plain.
fn parts(guest: &str) -> Option<Vec<&str>> {
    let parts: Vec<&str> = guest.strip_prefix('/')?.split('/').collect();
    let plain = |part: &&str| {
        !part.is_empty()
            && !part.starts_with('.')
            && part.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c))
    };
    (guest.len() <= 256 && parts.iter().all(plain)).then_some(parts)
}

fn nested(a: &str, b: &str) -> bool {
    let inside =
        |inner: &str, outer: &str| inner.strip_prefix(outer).is_some_and(|rest| rest.starts_with('/'));
    inside(a, b) || inside(b, a)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_absolute_names_are_folders() {
        assert_eq!(parts("/data/v1.2"), Some(vec!["data", "v1.2"]));
        for bad in ["", "/", "data", "/a//b", "/a/", "/..", "/a/../b", "/.git", "/a b", "/ä", "/a\0"] {
            assert_eq!(parts(bad), None, "{bad:?}");
        }
        assert!(nested("/a/b", "/a") && nested("/a", "/a/b") && !nested("/ab", "/a") && !nested("/a", "/b"));
    }
}
