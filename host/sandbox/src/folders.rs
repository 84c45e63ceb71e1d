//! Folders that presets.toml maps into a gate, read-only or private and writable. WASI's preopens prevent paths, links
//! and renames from leaving them.

use std::{fs, path::PathBuf};

use gatehouse_core::outcome::Fault;
use serde::Serialize;

use crate::{
    limits::{SandboxLimits, format_bytes},
    wasi::tree,
};

/// Maximum files and folders in all private folders. Each call counts them.
pub(crate) const MAX_ENTRIES: usize = 10_000;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GuestFolder {
    /// Path inside the gate: absolute, of plain names.
    pub guest: String,
    pub host: PathBuf,
    /// True if the folder is the gate's own: created on first use and writable. Others are read-only.
    pub private: bool,
}

/// Creates missing private folders, checks that all can be opened and that quotas hold. Blocks.
pub(crate) fn prepare(gate: &str, folders: &[GuestFolder], limits: &SandboxLimits) -> Result<(), Fault> {
    let (mut bytes, mut entries) = (0_u64, 0);
    for folder in folders {
        let ready = match folder.private {
            true => gatehouse_files::make_private(&folder.host)
                .and_then(|()| tree::count(&folder.host, MAX_ENTRIES - entries)),
            false => fs::read_dir(&folder.host).map(|_| tree::TreeSize::default()),
        };
        let tree = ready.map_err(|error| missing(gate, folder, &error))?;
        (bytes, entries) = (bytes.saturating_add(tree.bytes), entries + tree.entries);
        if entries > MAX_ENTRIES {
            break;
        }
    }
    if bytes <= limits.folder && entries <= MAX_ENTRIES {
        return Ok(());
    }
    let (kept, most) = match entries > MAX_ENTRIES {
        true => (format!("more than {MAX_ENTRIES} files"), format!("{MAX_ENTRIES} files")),
        false => (format_bytes(bytes), format_bytes(limits.folder)),
    };
    let place = folders.iter().find(|folder| folder.private).map(|folder| folder.host.display().to_string());
    Err(Fault::exhausted(format!("gate '{gate}' stores {kept} in its private folders; its quota is {most}"))
        .hint(format!(
            "Delete files in {} that it no longer needs, or raise limits.folder under [gates.{gate}] in presets.toml.",
            place.unwrap_or_default()
        )))
}

pub(crate) fn missing(gate: &str, folder: &GuestFolder, error: &dyn std::fmt::Display) -> Fault {
    let GuestFolder { guest, host, .. } = folder;
    Fault::unavailable(format!("gate '{gate}' cannot open its folder '{guest}': {}: {error}", host.display()))
        .hint(format!("Create that folder, or change [gates.{gate}.folders] in presets.toml."))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn private(place: &tempfile::TempDir) -> GuestFolder {
        GuestFolder { guest: "/notes".into(), host: place.path().join("gates/x/notes"), private: true }
    }

    #[test]
    fn a_private_folder_is_made_and_held_to_its_quota() {
        let place = tempfile::tempdir().expect("a folder");
        let folder = private(&place);
        let limits = SandboxLimits::default().with_limit("folder", 4 << 10).expect("allowed");
        assert_eq!(prepare("x", std::slice::from_ref(&folder), &limits), Ok(()));
        fs::create_dir(folder.host.join("below")).expect("made");
        fs::write(folder.host.join("below/full"), [0; 4 << 10]).expect("written");
        assert_eq!(prepare("x", std::slice::from_ref(&folder), &limits), Ok(()), "full is not too full");
        fs::write(folder.host.join("more"), [0; 1]).expect("written");
        let fault = prepare("x", std::slice::from_ref(&folder), &limits).expect_err("too full");
        assert_eq!(fault.message, "gate 'x' stores 4097 bytes in its private folders; its quota is 4 KiB");
        assert!(fault.hint.is_some_and(|hint| hint.contains("limits.folder")));
    }

    #[cfg(unix)]
    #[test]
    fn a_link_counts_as_itself() {
        let place = tempfile::tempdir().expect("a folder");
        let folder = private(&place);
        fs::create_dir_all(&folder.host).expect("made");
        std::os::unix::fs::symlink("/", folder.host.join("everything")).expect("linked");
        assert_eq!(prepare("x", &[folder], &SandboxLimits::default()), Ok(()));
    }

    #[test]
    fn a_folder_that_is_not_there_is_named() {
        let folder = GuestFolder { guest: "/data".into(), host: "/nowhere/at/all".into(), private: false };
        let fault = prepare("x", &[folder], &SandboxLimits::default()).expect_err("missing");
        assert!(fault.message.starts_with("gate 'x' cannot open its folder '/data': /nowhere/at/all: "));
    }
}
