//! Checks of machine code files: checksums, because wasmtime only validates the header and damaged code would run outside
//! every check of the sandbox, and who can write the files of packages.

use std::{
    env,
    fs::{self, File},
    io::{self, Read as _},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use crc32fast::Hasher;

/// Bytes of the checksum: a little-endian CRC-32.
const SIZE: usize = 4;

/// Appends the checksum to machine code.
///
/// The checksum covers the component's digest, so code in a file named for another component fails the check.
pub(super) fn with_checksum(digest: &str, mut code: Vec<u8>) -> Vec<u8> {
    let mut hasher = hasher(digest);
    hasher.update(&code);
    code.extend(hasher.finalize().to_le_bytes());
    code
}

/// Returns `true` if the file ends with the checksum of the bytes before it.
///
/// Reads in pieces, which fills the page cache for the mapping that follows but not the heap.
pub(super) fn is_whole(digest: &str, path: &Path) -> io::Result<bool> {
    let mut file = File::open(path)?;
    let Some(mut remaining) = file.metadata()?.len().checked_sub(SIZE as u64) else { return Ok(false) };
    let mut hasher = hasher(digest);
    let mut piece = [0; 64 << 10];
    while remaining > 0 {
        let length = piece.len().min(usize::try_from(remaining).unwrap_or(usize::MAX));
        file.read_exact(&mut piece[..length])?;
        hasher.update(&piece[..length]);
        remaining -= length as u64;
    }
    let mut sum = [0; SIZE];
    file.read_exact(&mut sum)?;
    Ok(hasher.finalize() == u32::from_le_bytes(sum))
}

fn hasher(digest: &str) -> Hasher {
    let mut hasher = Hasher::new();
    hasher.update(digest.as_bytes());
    hasher
}

const FOLDER: &str = "machine-code";

pub(super) fn packaged_name(digest: &str) -> String {
    format!("{digest}.cwasm")
}

/// Returns existing folders in `machine-code` next to the program and in `../lib/gatehouse` that only users who can
/// write the program can write.
pub(super) fn packaged_folders() -> Vec<PathBuf> {
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
    use std::{fs, os::unix::fs::PermissionsExt};

    use super::*;

    #[test]
    fn every_flipped_bit_and_every_cut_is_noticed() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("code");
        let whole = with_checksum("abc", (0..=200).collect());
        fs::write(&path, &whole).expect("written");
        assert!(is_whole("abc", &path).expect("read"));
        assert!(!is_whole("abd", &path).expect("read"), "the code of another component");
        for bit in 0..whole.len() * 8 {
            let mut damaged = whole.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            fs::write(&path, damaged).expect("written");
            assert!(!is_whole("abc", &path).expect("read"), "bit {bit}");
        }
        for length in 0..whole.len() {
            fs::write(&path, &whole[..length]).expect("written");
            assert!(!is_whole("abc", &path).expect("read"), "{length} bytes");
        }
    }

    #[test]
    fn files_larger_than_a_piece_are_read_to_their_end() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("code");
        let mut whole = with_checksum("abc", vec![7; 200_000]);
        fs::write(&path, &whole).expect("written");
        assert!(is_whole("abc", &path).expect("read"));
        whole[199_999] ^= 1;
        fs::write(&path, &whole).expect("written");
        assert!(!is_whole("abc", &path).expect("read"));
    }

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
