//! Folders that only this user can access, for code that the host runs and data that it trusts.

use std::{fs, io, os::unix::fs::MetadataExt, path::Path};

/// Creates a folder that only this user can access. Removes machine code from one that others could write. Fails if
/// another user owns it.
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
        // Only root can change a folder's owner.
        if std::os::unix::fs::chown(&folder, Some(12_345), None).is_ok() {
            assert!(!is_private(&folder));
        }
    }
}
