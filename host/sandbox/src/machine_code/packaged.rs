//! Machine code from packages, which saves the first start from compiling the standard gates. Compiled for any
//! processor of its architecture.

use std::{
    env, fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

const FOLDER: &str = "machine-code";

pub(super) fn name(digest: &str) -> String {
    format!("{digest}.cwasm")
}

/// Returns existing folders in `machine-code` next to the program and in `../lib/gatehouse` that only users who can
/// write the program can write.
pub(super) fn folders() -> Vec<PathBuf> {
    // The program in `~/.local/bin` may be a link into a package.
    let program = env::current_exe().and_then(|program| program.canonicalize());
    program.map(|program| beside(&program)).unwrap_or_default()
}

fn beside(program: &Path) -> Vec<PathBuf> {
    let Some(own) = program.parent() else { return Vec::new() };
    let folders = [own.join(FOLDER), own.join("../lib/gatehouse").join(FOLDER)];
    folders.into_iter().filter(|folder| is_trusted(folder, program)).collect()
}

/// Returns `true` if every user who can write `path` can write the program too, or is root.
pub(super) fn is_trusted(path: &Path, program: &Path) -> bool {
    let (Ok(path), Ok(program)) = (fs::symlink_metadata(path), fs::metadata(program)) else { return false };
    let writers = |meta: &fs::Metadata| meta.mode() & 0o022;
    let more = writers(&path) & !writers(&program);
    let other_group = writers(&path) & 0o020 != 0 && path.gid() != program.gid();
    (path.uid() == program.uid() || path.uid() == 0) && !path.is_symlink() && more == 0 && !other_group
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn folders_beside_the_program_are_trusted_as_the_program_is() {
        let place = tempfile::tempdir().expect("a folder");
        let program = place.path().join("bin/gatehouse");
        let mode = |path: &Path, mode| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("set");
        };
        for folder in ["bin/machine-code", "lib/gatehouse/machine-code"] {
            fs::create_dir_all(place.path().join(folder)).expect("made");
            mode(&place.path().join(folder), 0o755);
        }
        fs::write(&program, "").expect("written");
        mode(&program, 0o755);
        assert_eq!(beside(&program).len(), 2);
        mode(&place.path().join("bin/machine-code"), 0o775);
        assert_eq!(beside(&program).len(), 1, "a group can write it, and not the program");
        mode(&program, 0o775);
        assert_eq!(beside(&program).len(), 2);
        mode(&place.path().join("lib/gatehouse/machine-code"), 0o777);
        assert_eq!(beside(&program), [place.path().join("bin/machine-code")]);
        // Only root can change a folder's owner.
        if std::os::unix::fs::chown(place.path().join("bin/machine-code"), Some(12_345), None).is_ok() {
            assert!(beside(&program).is_empty());
        }
        fs::remove_dir(place.path().join("bin/machine-code")).expect("removed");
        std::os::unix::fs::symlink(place.path(), place.path().join("bin/machine-code")).expect("linked");
        assert!(beside(&program).is_empty(), "a link leads anywhere");
    }
}
