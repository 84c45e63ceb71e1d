//! Reads the paths that a checkout tracks from its index, versions 2 to 4
//! (<https://git-scm.com/docs/index-format>).

use std::{
    fs::{self, File},
    io::Read as _,
    path::Path,
};

const MAX_BYTES: u64 = 128 << 20;

/// As on Linux. The paths of version 4 can be far longer than the bytes of their entries.
const MAX_PATH_BYTES: usize = 4096;

const MAX_TOTAL_BYTES: usize = 256 << 20;

/// Bytes of an entry before its object name.
const STAT_BYTES: usize = 40;

const MODE_OFFSET: usize = 24;

const IS_EXTENDED: u16 = 0x4000;

/// Returns the tracked regular files, in the order of the index. Empty without an index. The error is a reason.
pub(crate) fn tracked_files(git: &Path, object_bytes: usize) -> Result<Vec<Vec<u8>>, &'static str> {
    let path = git.join("index");
    let Ok(metadata) = fs::metadata(&path) else { return Ok(Vec::new()) };
    // Opening a pipe would block.
    if !metadata.is_file() || metadata.len() > MAX_BYTES {
        return Err("is not a file of at most 128 MB");
    }
    let file = File::open(&path).map_err(|_| "cannot be read")?;
    let mut bytes = Vec::new();
    file.take(MAX_BYTES).read_to_end(&mut bytes).map_err(|_| "cannot be read")?;
    IndexReader { bytes: &bytes, at: 0 }
        .files(object_bytes)
        .ok_or("is damaged, or has a form that is not supported")
}

struct IndexReader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> IndexReader<'a> {
    /// Reads all entries. `None` if the index is truncated, or refers to another one for its entries.
    fn files(mut self, object_bytes: usize) -> Option<Vec<Vec<u8>>> {
        if self.take(4)? != b"DIRC" {
            return None;
        }
        let version = self.number()?;
        let count = self.number()?;
        if !(2..=4).contains(&version) {
            return None;
        }
        let (mut files, mut path, mut total) = (Vec::new(), Vec::new(), 0);
        for _ in 0..count {
            let start = self.at;
            let mode = self.take(STAT_BYTES)?.get(MODE_OFFSET..MODE_OFFSET + 4)?.try_into().ok()?;
            self.take(object_bytes)?;
            let flags = u16::from_be_bytes(self.take(2)?.try_into().ok()?);
            if flags & IS_EXTENDED != 0 && version > 2 {
                self.take(2)?;
            }
            if version == 4 {
                let removed = self.offset()?;
                path.truncate(path.len().checked_sub(removed)?);
            } else {
                path.clear();
            }
            path.extend_from_slice(self.until_nul()?);
            if version < 4 {
                // Entries end with 1 to 8 NULs, so that the next starts at a multiple of 8.
                self.at = start + (self.at - start).next_multiple_of(8);
            }
            total += path.len();
            if path.len() > MAX_PATH_BYTES || total > MAX_TOTAL_BYTES {
                return None;
            }
            let is_regular = u32::from_be_bytes(mode) & 0o170_000 == 0o100_000;
            if is_regular {
                files.push(path.clone());
            }
        }
        (!self.has_extension(object_bytes, b"link")).then_some(files)
    }

    /// Returns whether the extensions that follow have one. `link` names an index that shares entries with this one.
    fn has_extension(mut self, object_bytes: usize, name: &[u8]) -> bool {
        while self.bytes.len() - self.at.min(self.bytes.len()) > object_bytes {
            let Some((found, length)) = self.take(4).zip(self.number()) else { return false };
            if found == name {
                return true;
            }
            if self.take(length as usize).is_none() {
                return false;
            }
        }
        false
    }

    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let bytes = self.bytes.get(self.at..self.at.checked_add(count)?)?;
        self.at += count;
        Some(bytes)
    }

    fn number(&mut self) -> Option<u32> {
        Some(u32::from_be_bytes(self.take(4)?.try_into().ok()?))
    }

    fn until_nul(&mut self) -> Option<&'a [u8]> {
        let length = self.bytes.get(self.at..)?.iter().position(|byte| *byte == 0)?;
        let text = self.take(length)?;
        self.at += 1;
        Some(text)
    }

    /// Reads a number of 7 bits a byte, as offsets in packs.
    fn offset(&mut self) -> Option<usize> {
        let mut byte = self.take(1)?[0];
        let mut value = usize::from(byte & 0x7f);
        while byte & 0x80 != 0 {
            byte = self.take(1)?[0];
            value = value.checked_add(1)?.checked_mul(128)?.checked_add(usize::from(byte & 0x7f))?;
        }
        Some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index(version: u32, entries: &[(u32, &str)]) -> Vec<u8> {
        let mut bytes =
            [&b"DIRC"[..], &version.to_be_bytes(), &u32::try_from(entries.len()).unwrap().to_be_bytes()]
                .concat();
        let mut last = "";
        for (mode, path) in entries {
            let start = bytes.len();
            bytes.extend([0; MODE_OFFSET]);
            bytes.extend(mode.to_be_bytes());
            bytes.extend([0; STAT_BYTES - MODE_OFFSET - 4 + 20 + 2]);
            if version == 4 {
                let common = last.bytes().zip(path.bytes()).take_while(|(a, b)| a == b).count();
                bytes.push(u8::try_from(last.len() - common).unwrap());
                bytes.extend(&path.as_bytes()[common..]);
                bytes.push(0);
            } else {
                bytes.extend(path.as_bytes());
                bytes.push(0);
                bytes.resize(start + (bytes.len() - start).next_multiple_of(8), 0);
            }
            last = path;
        }
        bytes.extend([0; 20]);
        bytes
    }

    fn read(bytes: &[u8]) -> Result<Vec<String>, &'static str> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("index"), bytes).unwrap();
        let files = tracked_files(folder.path(), 20)?;
        Ok(files.into_iter().map(|path| String::from_utf8(path).unwrap()).collect())
    }

    #[test]
    fn each_version_gives_the_regular_files() {
        let entries = [
            (0o100_644, "a.md"),
            (0o120_000, "link"),
            (0o160_000, "module"),
            (0o100_755, "src/long/name.rs"),
            (0o100_644, "src/x"),
        ];
        for version in [2, 3, 4] {
            assert_eq!(
                read(&index(version, &entries)).unwrap(),
                ["a.md", "src/long/name.rs", "src/x"],
                "{version}"
            );
        }
    }

    #[test]
    fn damaged_and_hostile_indexes_are_refused() {
        let whole = index(2, &[(0o100_644, "a.md")]);
        for cut in 1..60 {
            assert!(read(&whole[..cut]).is_err(), "{cut}");
        }
        assert!(read(&index(5, &[])).is_err());
        let mut shared = index(2, &[]);
        shared.truncate(shared.len() - 20);
        shared.extend(*b"link\0\0\0\x14");
        shared.extend([0; 60]);
        assert!(read(&shared).is_err(), "a split index");
        let many = [&b"DIRC\0\0\0\x02\xff\xff\xff\xff"[..], &[0; 100]].concat();
        assert!(read(&many).is_err());
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(tracked_files(folder.path(), 20), Ok(Vec::new()));
        std::fs::create_dir(folder.path().join("index")).unwrap();
        assert!(tracked_files(folder.path(), 20).is_err());
    }
}
