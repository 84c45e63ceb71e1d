//! Temporary files and directories, and cleanup after killed processes. The owner holds a lock on each, which the
//! system releases when the process ends.

use std::{
    fs::{self, File, OpenOptions, Permissions, TryLockError},
    io,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _},
    path::Path,
};

use tempfile::{Builder, NamedTempFile, TempDir, TempPath};

const PREFIX: &str = ".tmp-gatehouse-";

const LOCK: &str = "lock";

/// Private directory for unfinished work. Dropping it removes it. If the process is killed, the next [`sweep`] of the
/// parent does.
#[derive(Debug)]
pub struct ScratchFolder {
    // Declared first, so that it is removed before the lock is released.
    directory: TempDir,
    _lock: File,
}

impl ScratchFolder {
    pub fn new_in(parent: &Path) -> io::Result<Self> {
        loop {
            let private = Permissions::from_mode(0o700);
            let directory = Builder::new().prefix(PREFIX).permissions(private).tempdir_in(parent)?;
            let path = directory.path().join(LOCK);
            // A sweep can remove the directory before it is locked.
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                Ok(lock) if claim(&lock, &path) => return Ok(Self { directory, _lock: lock }),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
    }

    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Moves a finished file out of the directory. Returns `false` if `to` exists.
    pub fn place(&self, file: &Path, to: &Path) -> io::Result<bool> {
        match TempPath::try_from_path(file)?.persist_noclobber(to) {
            Ok(()) => Ok(true),
            Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(error.error),
        }
    }

    /// Moves the directory to its final path. The lock file stays in it.
    pub fn rename(self, to: &Path) -> io::Result<()> {
        fs::rename(self.directory.path(), to)?;
        let _renamed = self.directory.keep();
        Ok(())
    }
}

/// Creates a private file next to the one that it will replace.
pub(super) fn new_file(directory: &Path) -> io::Result<NamedTempFile> {
    loop {
        let file = Builder::new().prefix(PREFIX).tempfile_in(directory)?;
        if claim(file.as_file(), file.path()) {
            return Ok(file);
        }
    }
}

/// Locks a new file. Returns `false` if a [`sweep`] locked or removed the file first.
fn claim(file: &File, path: &Path) -> bool {
    match file.try_lock() {
        Ok(()) => path.symlink_metadata().is_ok(),
        Err(TryLockError::WouldBlock) => false,
        // If the file system does not support locks, sweeps remove nothing either.
        Err(TryLockError::Error(_)) => true,
    }
}

/// Removes this user's temporary files and directories of killed processes. Ignores errors.
pub fn sweep(directory: &Path) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        if entry.file_name().as_encoded_bytes().starts_with(PREFIX.as_bytes()) {
            let _ = remove_abandoned(&entry.path());
        }
    }
}

fn remove_abandoned(path: &Path) -> io::Result<()> {
    let metadata = fs::symlink_metadata(path)?;
    if metadata.uid() != rustix::process::geteuid().as_raw() {
        return Ok(());
    }
    if metadata.is_file() {
        let file = File::open(path)?;
        return if file.try_lock().is_ok() { fs::remove_file(path) } else { Ok(()) };
    }
    if !metadata.is_dir() {
        return Ok(());
    }
    match File::open(path.join(LOCK)) {
        Ok(lock) if lock.try_lock().is_ok() => fs::remove_dir_all(path),
        // Killed before the lock file was created, so the directory is empty.
        Err(error) if error.kind() == io::ErrorKind::NotFound => fs::remove_dir(path),
        locked => locked.map(drop),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn names(directory: &Path) -> Vec<String> {
        let entries = fs::read_dir(directory).expect("read").flatten();
        let mut names: Vec<_> = entries.map(|entry| entry.file_name().display().to_string()).collect();
        names.sort();
        names
    }

    #[test]
    fn sweep_removes_only_unlocked_entries() {
        let place = tempfile::tempdir().expect("a folder");
        let (abandoned, foreign) = (|name: &str| place.path().join(format!("{PREFIX}{name}")), "keep-me");
        fs::write(abandoned("file"), "of a killed process").expect("written");
        fs::create_dir_all(abandoned("folder").join("a/b")).expect("made");
        fs::write(abandoned("folder").join(LOCK), "").expect("written");
        fs::write(abandoned("folder").join("a/b/c"), "content").expect("written");
        fs::create_dir(abandoned("early")).expect("made");
        fs::write(place.path().join(foreign), "").expect("written");
        // A non-empty directory without a lock file is not ours. Links are never followed.
        fs::create_dir_all(abandoned("unlocked").join("x")).expect("made");
        symlink(place.path().join(foreign), abandoned("link")).expect("linked");
        let (file, directory) =
            (new_file(place.path()).expect("a file"), ScratchFolder::new_in(place.path()).expect("a folder"));
        fs::write(directory.path().join("work"), "unfinished").expect("written");
        sweep(place.path());
        let name = |path: &Path| path.file_name().unwrap_or_default().display().to_string();
        let mut left = [
            foreign.to_owned(),
            name(&abandoned("unlocked")),
            name(&abandoned("link")),
            name(file.path()),
            name(directory.path()),
        ];
        left.sort();
        assert_eq!(names(place.path()), left);
        assert_eq!(fs::read_to_string(directory.path().join("work")).expect("there"), "unfinished");
    }

    #[test]
    fn scratch_folder_is_private_and_removed_or_renamed() {
        let place = tempfile::tempdir().expect("a folder");
        let directory = ScratchFolder::new_in(place.path()).expect("a folder");
        let mode = fs::metadata(directory.path()).expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        fs::write(directory.path().join("work"), "done").expect("written");
        let named = place.path().join("named");
        directory.rename(&named).expect("renamed");
        assert_eq!(fs::read_to_string(named.join("work")).expect("there"), "done");
        let directory = ScratchFolder::new_in(place.path()).expect("a folder");
        let (file, to) = (directory.path().join("file"), place.path().join("placed"));
        for (text, placed) in [("first", true), ("second", false)] {
            fs::write(&file, text).expect("written");
            assert_eq!(directory.place(&file, &to).expect("a name"), placed);
        }
        drop(directory);
        assert_eq!(names(place.path()), ["named", "placed"]);
        assert_eq!(fs::read_to_string(to).expect("there"), "first");
    }
}
