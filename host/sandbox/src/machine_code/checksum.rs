//! Checksums of machine code files. wasmtime only validates the header, and damaged code would run outside every check
//! of the sandbox.

use std::{
    fs::File,
    io::{self, Read as _},
    path::Path,
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
    let Some(mut left) = file.metadata()?.len().checked_sub(SIZE as u64) else { return Ok(false) };
    let mut hasher = hasher(digest);
    let mut piece = [0; 64 << 10];
    while left > 0 {
        let wanted = piece.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        file.read_exact(&mut piece[..wanted])?;
        hasher.update(&piece[..wanted]);
        left -= wanted as u64;
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

#[cfg(test)]
mod tests {
    use std::fs;

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
}
