//! The system requirements of a binary, read from the binary.

use anyhow::{Context, Result};
use object::{
    elf::FileHeader64,
    endian::Endianness,
    read::elf::{FileHeader, SectionHeader},
};

pub(crate) type GlibcVersion = (u32, u32);

/// Returns the newest glibc version that a Linux binary requires. It runs with that version or a later one.
///
/// # Errors
/// If the bytes are not a 64-bit ELF file, or require no glibc, as a binary linked against another C library.
pub(crate) fn glibc(binary: &[u8]) -> Result<GlibcVersion> {
    let header = FileHeader64::<Endianness>::parse(binary).context("the binary is not a 64-bit ELF file")?;
    let endian = header.endian()?;
    let sections = header.sections(endian, binary)?;
    let mut newest = None;
    for section in sections.iter() {
        let Some((mut needs, names)) = section.gnu_verneed(endian, binary)? else { continue };
        let names = sections.strings(endian, binary, names)?;
        while let Some((_, mut versions)) = needs.next()? {
            while let Some(version) = versions.next()? {
                newest = newest.max(parse(version.name(endian, names)?));
            }
        }
    }
    newest.context("the binary requires no glibc version; it may be linked against another C library")
}

/// Parses `GLIBC_2.34`. Of `GLIBC_2.2.5`, reads only the first two numbers.
fn parse(name: &[u8]) -> Option<GlibcVersion> {
    let mut numbers = std::str::from_utf8(name).ok()?.strip_prefix("GLIBC_")?.split('.');
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_versions_are_read_by_number() {
        assert_eq!(parse(b"GLIBC_2.34"), Some((2, 34)));
        assert_eq!(parse(b"GLIBC_2.2.5"), Some((2, 2)));
        assert_eq!(parse(b"GLIBC_PRIVATE"), None);
        assert_eq!(parse(b"GCC_3.0"), None);
    }

    #[test]
    fn what_is_no_binary_is_refused() {
        assert!(glibc(b"#!/bin/sh\n").is_err());
        assert!(glibc(b"\x7fELF").is_err());
    }
}
