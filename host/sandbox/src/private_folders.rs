//! Folders that belong to this user alone: what the host maps and runs, and what it believes without looking
//! again, comes from nowhere else.

use std::{fs, io, os::unix::fs::MetadataExt, path::Path};

/// Makes a folder that only this user can read and write. One that others could write to is emptied of
/// machine code first, for nobody knows who put it there; one of somebody else is an error.
pub(crate) fn create(folder: &Path) -> io::Result<()> {
    gatehouse_files::make_private(folder)?;
    if is_private(folder) {
        return Ok(());
    }
    for entry in
        fs::read_dir(folder)?.flatten().filter(|e| e.path().extension().is_some_and(|x| x == "cwasm"))
    {
        fs::remove_file(entry.path())?;
    }
    fs::set_permissions(folder, std::os::unix::fs::PermissionsExt::from_mode(0o700))?;
    if is_private(folder) { Ok(()) } else { Err(io::Error::other("the folder belongs to another user")) }
}

/// Whether the folder is ours and nobody else can write into it.
pub(crate) fn is_private(folder: &Path) -> bool {
    let me = rustix::process::geteuid().as_raw();
    fs::metadata(folder).is_ok_and(|meta| meta.mode() & 0o077 == 0 && meta.uid() == me)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_folder_that_was_open_to_others_is_emptied_before_it_is_used() {
        let parent = tempfile::tempdir().expect("a folder");
        let folder = parent.path().join("machine-code");
        fs::create_dir(&folder).expect("made");
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).expect("opened");
        fs::write(folder.join("planted.cwasm"), b"not ours").expect("planted");
        assert!(!is_private(&folder));
        create(&folder).expect("ours now");
        assert!(is_private(&folder) && !folder.join("planted.cwasm").exists());
    }

    #[test]
    fn a_folder_of_somebody_else_is_not_ours() {
        let parent = tempfile::tempdir().expect("a folder");
        let folder = parent.path().join("machine-code");
        create(&folder).expect("made");
        assert!(is_private(&folder));
        // Only the system's administrator can give a folder away.
        if std::os::unix::fs::chown(&folder, Some(12_345), None).is_ok() {
            assert!(!is_private(&folder));
        }
    }
}
