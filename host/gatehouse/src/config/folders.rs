//! `[gates.<name>.folders]`, checked: which folders of the machine a gate sees, and as what.

use std::{collections::BTreeMap, path::Path};

use gatehouse_core::names::quoted;
use gatehouse_sandbox::GuestFolder;
use toml::Spanned;

use super::{ConfigError, error::ConfigText, raw};

/// The folders of one gate, sorted by what the gate calls them. `base` is what paths are relative to,
/// `state` the data folder, where private folders are.
pub(super) fn checked(
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
                "'{}' is not what a gate can call a folder; write for example \"/data\": names of A-Z a-z 0-9 _ - ., each after a /",
                quoted(guest, 80)
            )));
        };
        // A gate that can write to the outer one could put another folder in the place of the inner one.
        if let Some(other) = folders.iter().find(|other| nested(&other.guest, guest)) {
            return Err(bad(format!("'{guest}' and '{}' lie in each other", other.guest)));
        }
        let (host, private) = match (folder.path, folder.private) {
            (Some(path), false) => (base.join(path), false),
            // The gate's name was checked before: it leads nowhere else.
            (None, true) => {
                (parts.iter().fold(state.join("gates").join(gate), |path, part| path.join(part)), true)
            }
            _ => return Err(bad(format!("'{guest}' needs either path = \"…\" or private = true"))),
        };
        folders.push(GuestFolder { guest: guest.to_owned(), host, private });
    }
    Ok(folders)
}

/// The names in `/a/b`, if they are plain ones.
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
