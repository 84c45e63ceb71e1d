//! Measures folder trees created by guests, without recursion or full paths, because either can exceed limits of the
//! system.

use std::{
    ffi::CString,
    fs::File,
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    path::Path,
};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat, fstat, open, openat, statat};

pub(crate) const MAX_DEPTH: usize = 64;

/// Opens folders for reading, without following links.
const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC).union(OFlags::NOFOLLOW);

/// Content of a folder, including all levels below.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TreeSize {
    /// Apparent sizes of files; holes count as if filled.
    pub(crate) bytes: u64,
    pub(crate) entries: usize,
    pub(crate) depth: usize,
}

/// Device and inode of a folder.
type FolderIdentity = (u64, u64);

#[allow(clippy::useless_conversion, reason = "the types of both differ between systems")]
fn identity(stat: &Stat) -> FolderIdentity {
    (u64::try_from(stat.st_dev).unwrap_or_default(), u64::try_from(stat.st_ino).unwrap_or_default())
}

/// Measures the folder at a path, up to more than `most` entries, without following links. Blocks.
pub(crate) fn count(path: &Path, most: usize) -> io::Result<TreeSize> {
    // Follow a link here: presets.toml names this path.
    let root = open(path, FOLDER.difference(OFlags::NOFOLLOW), Mode::empty())?;
    count_open(root, most)
}

pub(crate) fn count_in(folder: &File, most: usize) -> io::Result<TreeSize> {
    count_open(openat(folder, c".", FOLDER, Mode::empty())?, most)
}

fn count_open(root: OwnedFd, most: usize) -> io::Result<TreeSize> {
    let mut tree = TreeSize::default();
    // Only one folder is open at a time: children open by name, parents through `..`.
    let mut levels = vec![(identity(&fstat(&root)?), read_folder(root.as_fd(), &mut tree, most)?)];
    let mut here = root;
    while tree.entries <= most {
        let depth = levels.len();
        let Some((_, below)) = levels.last_mut() else { break };
        if let Some(name) = below.pop() {
            let Some(folder) = ignore_missing(openat(&here, &name, FOLDER, Mode::empty()))? else { continue };
            let of_it = identity(&fstat(&folder)?);
            let names = read_folder(folder.as_fd(), &mut tree, most)?;
            tree.depth = tree.depth.max(depth);
            levels.push((of_it, names));
            here = folder;
            continue;
        }
        levels.pop();
        let Some((above, _)) = levels.last() else { break };
        here = openat(&here, c"..", FOLDER, Mode::empty())?;
        if identity(&fstat(&here)?) != *above {
            return Err(io::Error::other("folders were moved while they were counted"));
        }
    }
    Ok(tree)
}

/// Adds the entries of a folder and returns the names of its subfolders.
fn read_folder(folder: BorrowedFd<'_>, tree: &mut TreeSize, most: usize) -> io::Result<Vec<CString>> {
    let mut folders = Vec::new();
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        if [c".", c".."].contains(&name) {
            continue;
        }
        tree.entries += 1;
        if tree.entries > most {
            break;
        }
        let Some(stat) = ignore_missing(statat(folder, name, AtFlags::SYMLINK_NOFOLLOW))? else { continue };
        if FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
            folders.push(name.to_owned());
        } else {
            tree.bytes = tree.bytes.saturating_add(u64::try_from(stat.st_size).unwrap_or(0));
        }
    }
    Ok(folders)
}

/// Returns `None` if another call just removed or replaced the entry.
fn ignore_missing<T>(found: Result<T, rustix::io::Errno>) -> io::Result<Option<T>> {
    use rustix::io::Errno;
    match found {
        Ok(found) => Ok(Some(found)),
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Returns the levels between a folder and the nearest of `roots`: 0 if it is one of them, more than [`MAX_DEPTH`] if
/// all are farther away. Blocks.
pub(crate) fn depth(folder: &File, roots: &[std::path::PathBuf]) -> io::Result<usize> {
    let roots: Vec<FolderIdentity> =
        roots.iter().filter_map(|root| rustix::fs::stat(root).ok()).map(|stat| identity(&stat)).collect();
    let mut here = openat(folder, c".", FOLDER, Mode::empty())?;
    for depth in 0..=MAX_DEPTH {
        if roots.contains(&identity(&fstat(&here)?)) {
            return Ok(depth);
        }
        here = openat(&here, c"..", FOLDER, Mode::empty())?;
    }
    Ok(MAX_DEPTH + 1)
}

/// Returns the bytes of a folder's listing. Stops above `most`. Blocks.
pub(crate) fn listing(folder: &File, most: usize) -> io::Result<usize> {
    /// Bytes of an entry in addition to its name.
    const ENTRY: usize = 96;
    let mut bytes = 0;
    for entry in Dir::read_from(folder)? {
        bytes += ENTRY + entry?.file_name().count_bytes();
        if bytes > most {
            break;
        }
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::{ffi::CStr, fs};

    use super::*;

    fn nest(at: &Path, name: &CStr, depth: usize) {
        let mut here = open(at, FOLDER, Mode::empty()).expect("a folder");
        for _ in 0..depth {
            rustix::fs::mkdirat(&here, name, Mode::RWXU).expect("made");
            here = openat(&here, name, FOLDER, Mode::empty()).expect("opened");
        }
    }

    #[test]
    fn a_tree_deeper_than_any_path_is_counted() {
        let place = tempfile::tempdir().expect("a folder");
        fs::write(place.path().join("file"), [0; 100]).expect("written");
        let name = CString::new("d".repeat(200)).expect("a name");
        nest(place.path(), &name, 100);
        fs::create_dir(place.path().join("other")).expect("made");
        let tree = count(place.path(), 10_000).expect("counted");
        assert_eq!(tree, TreeSize { bytes: 100, entries: 102, depth: 100 });
        let some = count(place.path(), 50).expect("counted as far as needed");
        assert!(some.entries > 50 && some.depth <= 51);
    }

    #[test]
    fn depth_is_told_from_below() {
        let place = tempfile::tempdir().expect("a folder");
        nest(place.path(), c"d", 70);
        let roots = [place.path().to_path_buf()];
        let at = |depth: usize| {
            let path = (0..depth).fold(place.path().to_path_buf(), |path, _| path.join("d"));
            super::depth(&File::open(path).expect("a folder"), &roots).expect("told")
        };
        assert_eq!((at(0), at(3), at(64), at(70)), (0, 3, 64, MAX_DEPTH + 1));
    }

    #[test]
    fn a_listing_is_weighed_as_far_as_needed() {
        let place = tempfile::tempdir().expect("a folder");
        for n in 0..50 {
            fs::write(place.path().join(format!("file-{n:02}")), "").expect("written");
        }
        let folder = File::open(place.path()).expect("a folder");
        let whole = listing(&folder, usize::MAX).expect("weighed");
        assert!((50 * 100..52 * 110).contains(&whole), "{whole}");
        assert!(listing(&folder, 1_000).expect("weighed") < 1_300);
    }
}
